"""The rules by which Codex builds a request from a path, as items of the Responses API."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from eventstore.event import Event
from eventstore.harnesses import format_of, node_of
from eventstore.harnesses.codex.response_item import sent_item
from eventstore.harnesses.codex.rollout_line import VERSION, Json, line_of, object_in, parts_of
from eventstore.harnesses.codex.rollout_meaning import replacement_of, shown_items, user_item
from eventstore.harnesses.encrypted import tokens_of_encrypted
from eventstore.imports import CONTEXT_LINK
from eventstore.javascript import stringify, utf8_length
from eventstore.log import Snapshot
from eventstore.paths import LazyEvent, SnapshotCache, event, upward
from eventstore.records import FORMAT, Link, TextReplacement, own_record
from eventstore.views import ToolCall
from projections.context.parts import Part
from projections.placements import substitute_text
from projections.rules.base import (
    TOOL_DEFINITIONS,
    Gap,
    Rules,
    Selection,
    continued_from,
    select_kept_run,
)

BASE_INSTRUCTIONS: Final = "edited base instructions"
CUT_OUTPUT: Final = "the middle of a long output, which Codex cuts when it sends it"
SEALED: Final = "encrypted thoughts"
_RETAINED: Final = 20_000
"""Tokens of users' newest texts that stay if a compaction names no history."""
_BYTES: Final = 4
"""Bytes that Codex takes for a token."""
_ALLOWANCE: Final = 12_000
"""Tokens of an output that every model is sent whole."""
_OUTPUTS: Final = {
    "function_call": "function_call_output",
    "local_shell_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "tool_search_call": "tool_search_output",
}
"""The type of a call's output."""
_ABORTED: Final = "aborted"


class _Item(msgspec.Struct, frozen=True, gc=False):
    """The fields of an item that pair calls with outputs."""

    type: str = ""
    call_id: str | None = None
    execution: str | None = None

    @property
    def answer(self) -> tuple[str, str] | None:
        """The output that the item is, or that it waits for; None for other items."""
        return None if self.call_id is None else (_OUTPUTS.get(self.type, self.type), self.call_id)


_decode: Final = msgspec.json.Decoder(_Item).decode


class CodexRules(Rules):
    """The rules of all releases of Codex."""

    name = "codex"
    format = VERSION
    kinds = frozenset({"message", "custom_message"})
    arranges = True
    unrecorded = (BASE_INSTRUCTIONS, TOOL_DEFINITIONS)

    def select(self, snapshot: Snapshot, leaf: LazyEvent) -> Selection:
        """Select the history of the newest compaction, and everything after it."""
        selected = select_kept_run(snapshot, leaf)
        compaction = selected.compaction
        if compaction is None:
            return msgspec.structs.replace(selected, prefix=continued_from(snapshot, leaf.session))
        if compaction.format != VERSION or _names_history(compaction):
            return selected
        kept = list(_retained(snapshot, compaction))
        return msgspec.structs.replace(
            selected,
            first=kept[-1].seq if kept else compaction.seq,
            kept=frozenset(entry.id for entry in kept),
            keeps_before=True,
        )

    def arrange(self, snapshot: Snapshot, leaf: LazyEvent, parts: Sequence[Part]) -> Sequence[Part]:
        """Give calls without an output one; leave out outputs without a call."""
        items = [_item(part.raw) for part in parts]
        called = {item.answer for item in items if item.type in _OUTPUTS}
        answered = {item.answer for item in items if item.type not in _OUTPUTS}
        pending = _pending(snapshot, leaf)
        found: list[Part] = []
        for part, item in zip(_cut_to_retained(snapshot, parts), items, strict=True):
            if item.type in _OUTPUTS:
                found.append(part)
                if item.answer not in answered and (part.session, part.seq) not in pending:
                    found += _aborted(part, item.answer)
            elif item.answer is None or item.answer in called or not _needs_call(item):
                found.append(part)
        return found

    def settled(self, snapshot: Snapshot, parts: Sequence[Part]) -> int:  # noqa: ARG002
        """Return the index of the newest answer, whose calls may still get outputs.

        It is that of an earlier call if its output came later.
        """
        place = at = len(parts)
        for role in ("toolResult", "assistant"):
            while place and parts[place - 1].role == role:
                place -= 1
        first: dict[tuple[str, str] | None, int] = {}
        answers = [_item(part.raw).answer for part in parts]
        for number, answer in enumerate(answers):
            first.setdefault(answer, number)
        while at > place:
            at -= 1
            if answers[at] is not None:
                place = min(place, first[answers[at]])
        return place

    def links(self, part: Part) -> frozenset[Hashable]:
        answer = _item(part.raw).answer
        return frozenset({answer} if answer else ())

    def begins_midway(self, snapshot: Snapshot, root: LazyEvent) -> bool:
        return _missing_base(snapshot, root.session) != ""

    def gaps(self, snapshot: Snapshot, entries: Iterable[LazyEvent]) -> Iterable[Gap]:
        """Yield histories that are encrypted or not here, and outputs that Codex cuts."""
        sealed = 0
        for number, entry in enumerate(entries):
            if number == 0 and (base := _missing_base(snapshot, entry.session)):
                yield Gap(what=f"history in rollout {base}, which the store lacks")
            if entry.format != VERSION:
                continue
            view = node_of(entry).compaction if entry.kind == "compaction" else None
            if view and view.native:
                items = map(object_in, shown_items(entry.kind, line_of(entry.body)))
                tokens = sum(tokens_of_encrypted(item) for item in items)
                what = f"history in a form that only {view.native} can read"
                yield Gap(what=what, event=entry.id, seq=entry.seq, tokens=tokens or None)
            sealed = 0 if entry.kind == "compaction" else sealed + _sealed(entry)
            if entry.role == "toolResult" and (cut := _cut(entry)) != 0:
                yield Gap(what=CUT_OUTPUT, event=entry.id, seq=entry.seq, tokens=cut)
        if sealed:
            yield Gap(what=SEALED, tokens=sealed)

    def show(self, entry: Event | LazyEvent, record: bytes) -> Sequence[bytes]:
        return shown_items(entry.kind, line_of(record))

    def rewrite(self, messages: Sequence[bytes], shown: Sequence[TextReplacement]) -> Sequence[bytes]:
        """Return items with content replaced; an item left without content is dropped."""
        is_gone = any(change.text == "" and change.block is None and not change.call for change in shown)
        return () if is_gone else [_rewritten(object_in(message), shown) for message in messages]

    def placeholder(self, text: str, time: int | None) -> bytes:  # noqa: ARG002
        return user_item(text)

    def document(self, messages: list[bytes | memoryview], settings: bytes) -> bytes:
        """Return a context as input items, as a request has it; refold's records, too."""
        items = [each for message in messages for each in _sent(bytes(message))]
        return b'{"input":[%b],%b' % (b",".join(items), settings[1:])


def _item(raw: bytes) -> _Item:
    try:
        return _decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        fields = object_in(raw)
        named = ((name, fields.get(name)) for name in _Item.__struct_fields__)
        return _Item(**{name: value for name, value in named if isinstance(value, str)})


def _needs_call(item: _Item) -> bool:
    """Return True for an output that is sent only behind its call."""
    return item.type in _OUTPUTS.values() and item.execution != "server"


def _aborted(call: Part, answer: tuple[str, str] | None) -> Iterator[Part]:
    """Yield the output that Codex makes up for a call that has none."""
    if answer is None:
        return
    type_, name = answer
    output: Json = {"type": type_, "call_id": name}
    if type_ == "tool_search_output":
        output |= {"status": "completed", "execution": "client", "tools": []}
    else:
        output |= {"output": _ABORTED}
    made = call.rewritten_as(_encode(output))
    # Its number among the parts of its event is one that no recorded item has.
    yield msgspec.structs.replace(made, place=-1 - call.place, by_person=False)


def _pending(snapshot: Snapshot, leaf: LazyEvent) -> set[tuple[str, int]]:
    """Return the entries of the answer that a path ends with, whose outputs may still come."""
    found = set[tuple[str, int]]()
    roles = {"toolResult", "assistant"}
    for entry in upward(snapshot, leaf.session, leaf.seq):
        if not entry.role and entry.is_own:
            continue
        if entry.role not in roles:
            break
        if entry.role == "assistant":
            roles = {"assistant"}
        found.add((entry.session, entry.seq))
    return found


_HISTORIES: Final = SnapshotCache[bool]()


def _names_history(compaction: LazyEvent) -> bool:
    """Return True if a compaction's record has the history that it leaves."""
    return _HISTORIES.get(compaction.digest, lambda: replacement_of(line_of(compaction.body)) is not None)


def _retained(snapshot: Snapshot, compaction: LazyEvent) -> Iterator[LazyEvent]:
    """Yield what users said above a compaction that names no history, newest first."""
    left = _RETAINED
    for entry in upward(snapshot, compaction.session, compaction.parent_seq):
        if left <= 0:
            return
        if entry.kind == "message" and entry.role == "user":
            yield entry
            left -= _tokens(_said(entry.message or entry.body))


def _cut_to_retained(snapshot: Snapshot, parts: Sequence[Part]) -> Sequence[Part]:
    """Cut the oldest text that stays above such a compaction to the tokens that are left."""
    end = next((n for n, part in enumerate(parts) if part.kind == "compaction" and part.format == VERSION), 0)
    if not end or _names_history(event(snapshot, parts[end].session, parts[end].seq)):
        return parts
    left, found = _RETAINED, list(parts)
    for place in range(end - 1, -1, -1):
        text = _said(parts[place].raw)
        if _tokens(text) > left:
            found[place] = parts[place].rewritten_as(user_item(_without_middle(text, left)))
        left = max(0, left - _tokens(text))
    return found


def _said(raw: bytes) -> str:
    texts = (part.get("text") for part in parts_of(object_in(raw).get("content")))
    return "".join(text for text in texts if isinstance(text, str))


def _tokens(text: str) -> int:
    return -(-utf8_length(text) // _BYTES)


def _without_middle(text: str, tokens: int) -> str:
    """Return a text with only so many tokens, half at its beginning and half at its end."""
    data, budget = text.encode("utf-8", "replace"), tokens * _BYTES
    head = data[: budget // 2].decode("utf-8", "ignore")
    tail = data[len(data) - (budget - budget // 2) :].decode("utf-8", "ignore")
    gone = -(-(len(data) - budget) // _BYTES)
    return f"{head}…{gone} tokens truncated…{tail}"


def _missing_base(snapshot: Snapshot, session: str) -> str:
    """Return the rollout that a session goes on from, if the store lacks it or that place in it."""
    seq = snapshot.locate(session, CONTEXT_LINK)
    link = own_record(event(snapshot, session, seq)) if seq else None
    is_missing = isinstance(link, Link) and continued_from(snapshot, session) is None
    return link.session if isinstance(link, Link) and is_missing else ""


def _sealed(entry: LazyEvent) -> int:
    """Return the tokens of an encrypted thought, which only one of the two estimates counts."""
    if entry.role != "assistant" or entry.utf8 - entry.utf16 < _LEAST_SEALED:
        return 0
    item = line_of(entry.body).fields
    return tokens_of_encrypted(item) if item.get("type") == "reasoning" else 0


_LEAST_SEALED: Final = 100
"""Tokens by which the estimates differ at least then."""


def _cut(output: LazyEvent) -> int | None:
    """Return minus the tokens that Codex cuts out of an output; None if unknown."""
    if output.utf8 < _LEAST_CUT:
        return 0
    line = line_of(output.body)
    allowance = line.about.get("fallback_token_limit_override")
    if not isinstance(allowance, int) or allowance <= 0:
        return None if output.utf8 > _ALLOWANCE else 0
    return min(0, allowance - output.utf8)


_LEAST_CUT: Final = 1_000
"""Tokens below which no output is cut."""


def _rewritten(item: Json, shown: Sequence[TextReplacement]) -> bytes:
    for change in shown:
        if change.call and change.call != item.get("call_id"):
            continue
        for name in ("output", "content", "summary"):
            if name in item:
                item = {**item, name: _replaced(item[name], change)}
                break
    return _encode(item)


def _replaced(content: Any, change: TextReplacement) -> Any:
    if not isinstance(content, list):
        return content if change.block else change.text
    kinds = [part.get("type") for part in content if isinstance(part, dict) and "text" in part]
    block = {"type": next(iter(kinds), "input_text"), "text": change.text}
    if change.block is None:
        return [block]
    if 0 <= change.block < len(content):
        return [*content[: change.block], block, *content[change.block + 1 :]]
    return content


def _sent(message: bytes) -> Iterator[bytes]:
    """Yield the items by which a message is sent."""
    if item := sent_item(message):
        yield item
        return
    view = format_of(FORMAT).message(message)
    text = substitute_text(view)
    if view.role == "toolResult":
        yield _encode({"type": "function_call_output", "call_id": view.tool_call_id, "output": view.text})
    elif view.role != "assistant":
        yield user_item(view.text if text is None else text)
    else:
        if view.text:
            said = [{"type": "output_text", "text": view.text}]
            yield _encode({"type": "message", "role": "assistant", "content": said})
        for call in view.blocks:
            if isinstance(call, ToolCall):
                arguments = call.arguments.decode("utf-8", "replace")
                yield _encode(
                    {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments}
                )


def _encode(value: object) -> bytes:
    return stringify(value).encode("utf-8", "replace")


RULES: Final = CodexRules()
