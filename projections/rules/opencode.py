"""The rules by which opencode builds a request from a path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from eventstore.event import Event
from eventstore.harnesses import node_of
from eventstore.harnesses.opencode.message_nodes import shown_messages
from eventstore.harnesses.opencode.sent import Of, encoded, without_result
from eventstore.harnesses.opencode.session_records import (
    KEEPS_BEFORE,
    VERSION,
    Json,
    Record,
    fields,
    fields_of,
    record_of,
    text,
)
from eventstore.log import Snapshot
from eventstore.paths import LazyEvent, event
from eventstore.records import TextReplacement
from projections.context.parts import Fate, Part
from projections.rules.base import Gap, Rules, Selection, select_kept_run

_ROLES: Final = {"user": "user", "assistant": "assistant", "tool": "toolResult"}
REMINDER: Final = "reminder of another agent"


class _Piece(msgspec.Struct, frozen=True):
    """A message of an entry: its part of the context, and what it is of."""

    part: Part
    fields: Json
    of: Of

    @property
    def content(self) -> list[Json]:
        return list(self.fields.get("content") or ())


class OpencodeRules(Rules):
    """The rules of opencode from 1.0 on."""

    name = "opencode"
    format = VERSION
    kinds = frozenset({"message", "custom", "compaction"})
    arranges = True

    def select(self, snapshot: Snapshot, leaf: LazyEvent) -> Selection:
        """Select the newest summary, the messages that it keeps, and all after it."""
        selected = select_kept_run(snapshot, leaf)
        compaction = selected.compaction
        is_before = compaction is not None and compaction.format == KEEPS_BEFORE
        return msgspec.structs.replace(selected, keeps_before=is_before)

    def joined(self, parts: Sequence[Part]) -> Sequence[Part]:
        return list(_arranged(parts, _Sending(has_summaries=False, keeps_failed=True)))

    def arrange(self, snapshot: Snapshot, leaf: LazyEvent, parts: Sequence[Part]) -> Sequence[Part]:
        """Return messages as opencode sends them: parts joined to steps, in their newest form."""
        is_newest = leaf.seq == snapshot.head(leaf.session).leaf
        seq = leaf.seq if leaf.kind == "compaction" else leaf.compaction_seq
        compaction = event(snapshot, leaf.session, seq) if seq else None
        last, unsent = _going_on(leaf)
        sending = _Sending(
            model=_asked_model(snapshot, leaf),
            hidden=unsent | _summarized_by(compaction) if compaction else unsent,
            until=None if is_newest else leaf.time,
            last=last,
            has_summaries=compaction is None or not compaction.is_own,
        )
        return list(_arranged(parts, sending))

    def varies_by(self, snapshot: Snapshot, leaf: LazyEvent) -> str:
        return _asked_model(snapshot, leaf)

    def settled(self, snapshot: Snapshot, parts: Sequence[Part]) -> int:  # noqa: ARG002
        """Return the index of the newest message, or of what may still change."""
        pieces = list(map(_piece, parts))
        answered = {each.of.message for each in pieces if each and each.part.kind == "compaction"}
        newest = next((each.of.message for each in reversed(pieces) if each), "")
        return next(
            (
                place
                for place, each in enumerate(pieces)
                if each
                and (
                    each.of.message == newest
                    or each.of.cleared
                    or (each.of.is_question and each.of.message not in answered)
                )
            ),
            0 if newest else len(parts),
        )

    def links(self, part: Part) -> frozenset[str]:
        piece = _piece(part)
        return frozenset((piece.of.message, piece.of.part, piece.of.removed)) - {""} if piece else frozenset()

    def show(self, entry: Event | LazyEvent, record: bytes) -> Sequence[bytes]:
        return shown_messages(entry.kind, record)

    def rewrite(self, messages: Sequence[bytes], shown: Sequence[TextReplacement]) -> Sequence[bytes]:
        """Return messages with content replaced; one that is left without content is dropped."""
        found = list(messages)
        for change in shown:
            if change.call:
                found = [_with_result(each, change) for each in found]
            elif change.text or change.block is not None:
                found = _with_text(found, change)
            else:
                return ()
        return found

    def placeholder(self, text: str, time: int | None) -> bytes:  # noqa: ARG002
        return encoded({"role": "user", "content": [{"type": "text", "text": text}]})

    def gaps(self, snapshot: Snapshot, entries: Iterable[LazyEvent]) -> Iterator[Gap]:  # noqa: ARG002
        """Yield a gap for each request after which the model is told of another agent."""
        before = ""
        for entry in entries:
            if entry.kind != "message" or entry.role != "user" or entry.format not in (VERSION, KEEPS_BEFORE):
                continue
            agent = text(record_of(entry.body).info.get("agent"))
            if agent == "plan" or (before == "plan" and agent == "build"):
                yield Gap(what=REMINDER, event=entry.id, seq=entry.seq)
            before = agent or before


RULES: Final = OpencodeRules()


def _summarized_by(compaction: LazyEvent) -> frozenset[str]:
    """Return the messages that a compaction is made of: its question and its summary."""
    if compaction.format not in (VERSION, KEEPS_BEFORE):
        return frozenset()
    return _named_in(record_of(compaction.body))


def _named_in(record: Record) -> frozenset[str]:
    return frozenset(filter(None, (record.message, text(record.info.get("parentID")))))


def _going_on(leaf: LazyEvent) -> tuple[str, frozenset[str]]:
    """Return the message of a leaf, and those of a compaction that goes on there."""
    if leaf.format not in (VERSION, KEEPS_BEFORE):
        return "", frozenset()
    record = record_of(leaf.body)
    is_summary = record.info.get("summary") is True and not record.info.get("error")
    return record.message, _named_in(record) if is_summary else frozenset()


def _pieces(parts: Sequence[Part]) -> Iterator[_Piece | None]:
    """Yield the messages of opencode's, None for others.

    Of an entry of which a rewrite changes some, the others are kept.
    """
    pieces = list(map(_piece, parts))
    changed = {each.part.seq for each in pieces if each and each.fields.get("rewritten")}
    for each in pieces:
        if each and each.part.seq in changed and not each.fields.get("rewritten"):
            kept = msgspec.structs.replace(each.part, fate=Fate.KEPT)
            yield msgspec.structs.replace(each, part=kept)
        else:
            yield each


def _piece(part: Part) -> _Piece | None:
    """Return a message of opencode's, None for another."""
    if part.format not in (VERSION, KEEPS_BEFORE):
        return None
    found = fields_of(part.raw)
    return _Piece(part, found, msgspec.convert(found["of"], Of)) if "of" in found else None


def _asked_model(snapshot: Snapshot, leaf: LazyEvent) -> str:
    """Return the model in use at a leaf, "" if it is not known."""
    settings = node_of(event(snapshot, leaf.session, leaf.model_seq)).settings if leaf.model_seq else None
    return f"{settings.provider}/{settings.model}" if settings else ""


class _Sending(msgspec.Struct, frozen=True, kw_only=True):
    """The circumstances of a request.

    `model` is asked. `hidden` are messages that a summary stands for, or that no request has yet. `until` is the time
    up to which results may be cleared, None for now. `last` is the newest message, which may go on. Without
    `has_summaries`, opencode's own are in another one. `keeps_failed`: answers that failed stay.
    """

    model: str = ""
    hidden: frozenset[str] = frozenset()
    until: int | None = None
    last: str = ""
    has_summaries: bool = True
    keeps_failed: bool = False


def _arranged(parts: Sequence[Part], sending: _Sending) -> Iterator[Part]:
    """Yield the messages that parts make."""
    groups: dict[Any, list[_Piece]] = {}
    others: dict[Any, Part] = {}
    removed = set[str]()
    # A summary that was read before the part that says what it keeps has two records.
    answered = dict[str, int]()
    for part, piece in zip(parts, _pieces(parts), strict=True):
        if piece is None:
            others[part.key] = part
            groups[part.key] = []
            continue
        of = piece.of
        if of.removed:
            removed.add(of.removed)
            continue
        removed -= {of.message, of.part}
        key: Any = of.message
        if part.kind == "compaction":
            answered[of.message] = max(part.seq, answered.get(of.message, 0))
            key = (part.seq, of.message)
        groups.setdefault(key, []).append(piece)
    for key, pieces in groups.items():
        if key in others:
            yield others[key]
            continue
        is_summary = isinstance(key, tuple)
        if key in removed or (
            key in answered or key in sending.hidden
            if not is_summary
            else not sending.has_summaries or answered[key[1]] != key[0]
        ):
            continue
        kept = _newest(pieces, removed, is_last=key == sending.last)
        if sending.keeps_failed or not _is_left_out(pieces[-1].of, kept):
            yield from _sent(kept, sending)


def _newest(pieces: list[_Piece], removed: set[str], *, is_last: bool) -> list[_Piece]:
    """Return the newest form of each part of a message, in order of their ids."""
    versions: dict[str, list[_Piece]] = {}
    for piece in pieces:
        known = versions.setdefault(piece.of.part, [])
        if known and known[0].part.seq != piece.part.seq:
            known.clear()
        known.append(piece)
    # While an answer goes on, what has not ended is not sent, and no request has the question that a summary answers.
    return [
        piece
        for name in sorted(versions)
        if name not in removed or not name
        for piece in versions[name]
        if not (is_last and piece.part.kind == "custom" and (piece.of.is_open or piece.of.is_question))
    ]


def _is_left_out(of: Of, kept: Sequence[_Piece]) -> bool:
    """Return True for an answer that failed, unless it was stopped after it said something."""
    if not of.has_failed:
        return False
    kinds = {block.get("type") for piece in kept for block in piece.content}
    return not of.is_aborted or kinds <= {"reasoning"}


def _sent(pieces: Sequence[_Piece], sending: _Sending) -> Iterator[Part]:
    """Yield what is sent of a message: each step, and the results of its calls."""
    said: list[_Piece] = []
    blocks: list[Json] = []
    results: list[_Piece] = []
    for piece in pieces:
        if piece.of.begins:
            yield from _step(said, blocks, results, sending.until)
            said, blocks, results = [], [], []
        if piece.fields.get("role") == "tool":
            results.append(piece)
        elif own := [
            block for each in piece.content for block in _for_model(each, piece.of.model, sending.model)
        ]:
            said.append(piece)
            blocks += own
    yield from _step(said, blocks, results, sending.until)


def _step(
    said: Sequence[_Piece], blocks: list[Json], results: Sequence[_Piece], until: int | None
) -> Iterator[Part]:
    if said:
        yield _made([each.part for each in said], text(said[0].fields.get("role")), blocks)
    for result in results:
        cleared = result.of.cleared
        is_cleared = cleared and (until is None or cleared <= until)
        message = without_result(result.fields) if is_cleared else result.fields
        yield _made([result.part], "tool", message["content"])


def _for_model(block: Json, model: str, asks: str) -> Iterator[Json]:
    """Yield a block as it is sent to a model: a thought of another model is a text."""
    if block.get("type") != "reasoning" or not asks or not model or model == asks:
        yield block
    elif block.get("text"):
        yield {"type": "text", "text": block["text"]}


def _made(parts: Sequence[Part], role: str, blocks: list[Json]) -> Part:
    first = next((each for each in parts if each.kind == "message"), parts[0])
    raw = encoded({"role": role, "content": blocks})
    whole = first.merged_with(raw, [each for each in parts if each is not first])
    fate = Fate.REWRITTEN if any(each.fate is Fate.REWRITTEN for each in parts) else first.fate
    if first.kind == "compaction":
        fate = Fate.SUMMARY
    return msgspec.structs.replace(whole, role=_ROLES[role], fate=fate, format=VERSION)


def _with_result(raw: bytes, change: TextReplacement) -> bytes:
    """Replace the result of a call, or one of its blocks; other messages stay as they are."""
    message = fields_of(raw)
    result = fields(next(iter(message["content"]), {}))
    if message.get("role") != "tool" or result.get("toolCallId") != change.call:
        return raw
    block: Json = {"type": "text", "text": change.text}
    output: Json = {"type": "text", "value": change.text}
    old = fields(result.get("output")).get("value")
    if change.block is not None and isinstance(old, list):
        value = [block if at == change.block else each for at, each in enumerate(old)]
        output = {"type": "content", "value": value}
    return _rewritten(message, [{**result, "output": output}])


def _with_text(messages: Sequence[bytes], change: TextReplacement) -> list[bytes]:
    """Replace the text of messages, or a block counted over all but results; calls stay."""
    block: Json = {"type": "text", "text": change.text}
    found, at, is_said = list[bytes](), 0, False
    for raw in messages:
        message = fields_of(raw)
        if message.get("role") == "tool":
            found.append(raw)
            continue
        content = list[Json]()
        for old in map(fields, message["content"]):
            is_text = old.get("type") != "tool-call"
            is_hit = at == change.block if change.block is not None else is_text and not is_said
            if is_hit:
                content.append(block)
            elif change.block is not None or not is_text:
                content.append(old)
            is_said = is_said or is_text
            at += 1
        found.append(raw if content == message["content"] else _rewritten(message, content))
    return found


def _rewritten(message: Json, content: list[Json]) -> bytes:
    """Return a message with other content; one of an entry says so."""
    mark = {"rewritten": True} if "of" in message else {}
    return encoded({**message, "content": content, **mark})
