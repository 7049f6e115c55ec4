"""Start a new session that gets a handoff document and nothing else of the old one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import msgspec

from compaction.prompts import live_prompt, output_budget
from compaction.summarizers.chain import SummarizerChain, recording_failed_attempt
from compaction.templates import HANDOFF, Source, find_template, with_session
from compaction.triggers import DEFAULT_RESERVE
from eventstore.checked import checked
from eventstore.errors import BadInputError, NotFoundError, VersionConflictError
from eventstore.node import PromptView
from eventstore.records import CustomMessage, Link, ModelChange, Record, SessionInfo, ThinkingLevelChange
from eventstore.writing import SessionWriter
from projections.context.build import context_at
from projections.context.cursor import Leaf, resolve_cursor
from projections.descriptions import first_request, title
from projections.overview import working_folder
from projections.settings import ModelSettings, harness_prompt

_TITLE: Final = "Handoff of "
"""Precedes the title of the first session that was handed off."""
_LONGEST_TITLE: Final = 120
"""Maximum characters of the new session's title."""


class HandoffResult(msgspec.Struct, frozen=True, kw_only=True):
    """The new session, its document, and the ids of its first events."""

    session: str
    document: str
    missing: list[str]
    events: list[str]


def hand_off(
    writer: SessionWriter,
    new: SessionWriter,
    chain: SummarizerChain,
    *,
    system: str = "",
    tools: bytes = b"",
    instructions: str = "",
    sources: Sequence[Source] = (),
    reserve: int = DEFAULT_RESERVE,
    leaf: Leaf = None,
) -> HandoffResult:
    """Have a handoff document written, and start a new session with it.

    The document is about the context at `leaf`; the old session stays unchanged. `system` is the harness's system
    prompt and `tools` its definitions, a JSON list; missing ones are taken from the log. The model may not call
    tools. The new session starts with a link to its parent, a title and the parent's folder, the model and thinking
    level in use, and the document as a visible message. Raises SummarizersFailedError, CancelledError, BadInputError
    for a session without messages, VersionConflictError if the new session exists. If it was created while the
    document was being written, an `attempt` in the old session keeps the document.
    """
    _check_is_new(new)
    with checked(writer.log) as snapshot:
        cursor = resolve_cursor(snapshot, writer.session, leaf=leaf)
        context = context_at(snapshot, cursor, readable=True)
        template = find_template(HANDOFF, with_session(sources, snapshot, cursor))
        about = title(snapshot, writer.session) or first_request(snapshot, writer.session)
        name = " ".join((_TITLE + (about or writer.session).removeprefix(_TITLE)).split())
        info = SessionInfo(
            name=name if len(name) <= _LONGEST_TITLE else name[: _LONGEST_TITLE - 1].rstrip() + "…",
            cwd=working_folder(snapshot, writer.session),
        )
        sent = PromptView(system=system, tools=tools).or_else(harness_prompt(snapshot, cursor))
    if not context.parts:
        raise BadInputError(f"session {writer.session!r}", "has no messages to hand off", "name another")
    prompt = live_prompt(
        template,
        context.parts,
        system=sent.system,
        max_tokens=output_budget(reserve),
        instructions=instructions,
        tools=sent.tools,
        forbids_tools=True,
    )
    with recording_failed_attempt(writer, HANDOFF):
        asked = chain.summarize(prompt)
    document = CustomMessage(
        custom_type=HANDOFF, content=asked.text, display=True, details={"requests": asked.requests}
    )
    records: list[Record] = [
        Link(relation="parent", session=writer.session, event=context.leaf or ""),
        info,
        *_in_use(context.settings),
        document,
    ]
    with recording_failed_attempt(writer, HANDOFF, answered=asked.requests):
        events = new.append(*records, parent=None, expected="new")
    return HandoffResult(session=new.session, document=asked.text, missing=asked.missing, events=events)


def _check_is_new(new: SessionWriter) -> None:
    """Raise VersionConflictError if the session exists, before any request is made."""
    with new.log.snapshot() as snapshot, suppress(NotFoundError):
        raise VersionConflictError(new.session, "new", snapshot.head(new.session).version)


def _in_use(settings: ModelSettings) -> list[Record]:
    """Return the records of a model and a thinking level, as far as they are set."""
    model, level, found = settings.model, settings.thinking_level, list[Record]()
    if model is not None and isinstance(model.provider, str) and isinstance(model.model_id, str):
        found.append(ModelChange(provider=model.provider, model_id=model.model_id))
    if isinstance(level, str) and level != ModelSettings().thinking_level:
        found.append(ThinkingLevelChange(thinking_level=level))
    return found
