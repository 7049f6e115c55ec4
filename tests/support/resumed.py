"""Write the context of a session as another harness's file, read that again, and compare."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from eventstore.files.importing import import_sessions
from eventstore.harnesses import format_of, harness
from eventstore.harnesses.codex.rollout_export import UNMARKED
from eventstore.harnesses.opencode.document_export import RENAMED, TAKEN
from eventstore.harnesses.opencode.sent import INTERRUPTED
from eventstore.harnesses.resumable import Resumable, ResumableMessage, Seal, name_of_block, seal_of
from eventstore.log import EventLog
from eventstore.memory import MemoryLog
from eventstore.views import Text, Thinking, ToolCall
from projections.context.cursor import resolve_cursor
from projections.resuming import resumable_at

Said = list[tuple[Any, ...]]
CLAUDE_CODE: Final = "claude-code"
CODEX: Final = "codex"
OPENCODE: Final = "opencode"
ABORTED: Final = "aborted"


class Again(NamedTuple):
    """A context, that of the file written from it, and what the writer says that the file lacks."""

    context: Resumable
    again: Resumable
    lost: Counter[str]
    form: str


def written_again(log: EventLog, session: str, form: str, file: Path) -> Again:
    """Write a session's context as a file of a harness, and read that."""
    context, _ = resumed(log, session)
    written = harness(form).written(context)
    assert written is not None
    file.write_bytes(b"".join(written.pieces))
    other = MemoryLog()
    (found,) = import_sessions(other, file)
    assert format_of(found.format).name == form
    assert not found.skipped
    assert not found.differs_from_harness
    return Again(context, resumed(other, found.id)[0], written.lost, form)


def resumed(log: EventLog, session: str) -> tuple[Resumable, Counter[str]]:
    """Return the context of a session, and what of the session it lacks."""
    with log.snapshot() as snapshot:
        return resumable_at(snapshot, resolve_cursor(snapshot, session))


def assert_same(found: Again) -> None:
    """Check that a file says what the context says, in its order, and lacks only what the writer names."""
    tell = partial(answered if found.form in (CODEX, OPENCODE) else said, form=found.form)
    before, after = tell(found.context), tell(found.again)
    rest = iter(before)
    assert [each for each in after if each not in rest] == []
    counts = Counter(kind for _, kind, *_ in before)
    counts.subtract(kind for _, kind, *_ in after)
    named: Counter[str] = Counter()
    for what, count in found.lost.items():
        if what in (UNMARKED, RENAMED):
            continue
        named[what.partition(" beside ")[0].partition(" without ")[0].partition(" of other ")[0]] += count
    assert {kind: count for kind, count in counts.items() if count} == named
    summary, again = found.context.summary, found.again.summary
    shown = (summary.text, summary.shown) if summary else (None,)
    assert (again and again.text.rstrip("\n")) in [each and each.rstrip("\n") for each in shown]


def said(context: Resumable, form: str = "") -> Said:
    """Return all that a context says, block by block; a result is one more.

    Claude Code parts a person's text from the next by a line end.
    """
    found: Said = []
    for message in context.messages:
        role, call = message.view.role, message.view.tool_call_id
        if role == "toolResult":
            found.append((role, "results", _id(call), message.view.is_error))
        for block, payload in message.blocks:
            kind = name_of_block(block)
            if isinstance(block, ToolCall):
                found.append((role, kind, _id(block.id), block.name, block.decoded))
            elif isinstance(block, Thinking):
                found.append((role, kind, block.text, block.signature))
            else:
                text = getattr(block, "text", payload.image)
                found.append(
                    (role, kind, text.rstrip("\n") if (form, role) == (CLAUDE_CODE, "user") else text)
                )
    return found


def answered(context: Resumable, form: str) -> Said:
    """Return what a context says, each result behind its call, as far as Codex or opencode can say it.

    They answer calls that have no result. Codex has no marks of failed ones, and takes no long ids; opencode has one
    text of each, another name for a tool, and of a sealed thought of the Responses API only the seal; for Chat
    Completions it needs none.
    """
    results = {each.view.tool_call_id: each for each in context.messages if each.view.role == "toolResult"}
    found: Said = []
    for message in context.messages:
        if message.view.role == "toolResult":
            continue
        for block, payload in message.blocks:
            if isinstance(block, ToolCall):
                name = block.id.partition("|")[0] if form == CODEX else _id(block.id)
                tool = f"{TAKEN}_call" if form == OPENCODE and block.name == TAKEN else block.name
                found.append(("assistant", "calls", name, tool, block.decoded))
                found += _result(results.get(block.id), name, form)
            elif isinstance(block, Thinking):
                if form == CODEX or seal_of(block) is not Seal.CHAT:
                    found.append(("assistant", "thoughts", block.text, _seal(block)))
            else:
                found.append((message.view.role, name_of_block(block), getattr(block, "text", payload.image)))
    return found


def _seal(block: Thinking) -> str:
    is_item = seal_of(block) is Seal.RESPONSES
    return str(json.loads(block.signature).get("encrypted_content")) if is_item else block.signature


def _result(result: ResumableMessage | None, name: str, form: str) -> Said:
    """Return what a result says, its texts as one; nothing for one that a harness makes up."""
    if result is None:
        return []
    text = "\n".join(block.text for block in result.view.blocks if isinstance(block, Text))
    if text in (ABORTED, INTERRUPTED):
        return []
    others = [each for each in result.blocks if not isinstance(each[0], Text)]
    mark = form != CODEX and result.view.is_error
    return [
        ("toolResult", "results", name, mark, text),
        *(("toolResult", name_of_block(block), payload.image) for block, payload in others),
    ]


def _id(name: str) -> str:
    """Return the id of a call, which some harnesses may not write as it is."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)
