"""opencode's events, and the messages of its exports, as nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from tests.nodes.node import Block, Compaction, Node, Nodes

_KINDS: Final = {"text": "text", "reasoning": "thinking", "tool": "call", "file": "image"}


class _Event(msgspec.Struct):
    type: str
    data: msgspec.Raw


class _Message(msgspec.Struct):
    info: msgspec.Raw
    parts: list[msgspec.Raw] = []


_event = msgspec.json.Decoder(_Event).decode
_message = msgspec.json.Decoder(_Message).decode
_fields = msgspec.json.Decoder(dict[str, Any]).decode
_raws = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def nodes_of_events(name: str, records: Sequence[bytes]) -> Nodes:
    """Make nodes of a session's events: a message, and again one in its place whenever something of it changed."""
    reader = _Reader(Nodes(name, records))
    for seq, raw in enumerate(records, 1):
        event = _event(raw)
        data = bytes(event.data)
        at = raw.index(data, raw.index(b'"data"'))
        if event.type == "message.updated.1":
            reader.update(seq, *_piece(data, b"info", at))
        elif event.type == "message.part.updated.1":
            reader.update_part(seq, *_piece(data, b"part", at))
        elif event.type == "message.removed.1":
            reader.remove(seq, _fields(data)["messageID"])
        elif event.type == "message.part.removed.1":
            reader.remove_part(seq, _fields(data)["messageID"], _fields(data)["partID"])
    reader.nodes.leaf = reader.leaf
    return reader.nodes


def nodes_of_export(name: str, records: Sequence[bytes]) -> Nodes:
    """Make nodes of the messages of an export: each is a record with its parts."""
    reader = _Reader(Nodes(name, records))
    for seq, raw in enumerate(records, 1):
        message, at = _message(raw), 0
        pieces = []
        for piece in map(bytes, [message.info, *message.parts]):
            at = raw.index(piece, at)
            pieces.append((piece, at))
            at += len(piece)
        reader.add(seq, pieces)
    reader.nodes.leaf = reader.leaf
    return reader.nodes


def _piece(data: bytes, name: bytes, at: int) -> tuple[bytes, int]:
    """Return a field of an event's data, and where it lies in the record."""
    piece = bytes(_raws(data)[name.decode()])
    return piece, at + data.index(piece, data.index(b'"%b"' % name))


class _Draft(msgspec.Struct):
    """A message as read so far: its place, and what decides about compactions."""

    place: int
    info: dict[str, Any]
    head: Block
    parts: dict[str, Block]
    asks: dict[str, Any] | None = None
    """Its part that asks for a compaction."""

    @property
    def is_done_summary(self) -> bool:
        return bool(
            self.info.get("summary") is True and self.info.get("finish") and not self.info.get("error")
        )


class _Reader:
    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self.drafts: dict[str, _Draft] = {}

    @property
    def leaf(self) -> int:
        return next(reversed(self.drafts.values())).place if self.drafts else 0

    def add(self, seq: int, pieces: Sequence[tuple[bytes, int]]) -> None:
        """Add a message with all its parts."""
        (raw, at), *parts = pieces
        self._learn(seq, raw, at)
        draft = self.drafts[_fields(raw)["id"]]
        for part, start in parts:
            self._learn_part(seq, part, start)
        self._write(seq, draft)

    def update(self, seq: int, raw: bytes, at: int) -> None:
        self._learn(seq, raw, at)
        self._write(seq, self.drafts[_fields(raw)["id"]])

    def update_part(self, seq: int, raw: bytes, at: int) -> None:
        if (draft := self._learn_part(seq, raw, at)) is not None:
            self._write(seq, draft)
            # opencode says where the tail of a compaction begins after its summary is done.
            for each in self.drafts.values():
                if draft.asks and each.is_done_summary and each.info["parentID"] == draft.info["id"]:
                    self._write(seq, each)

    def remove(self, seq: int, name: str) -> None:
        if (draft := self.drafts.pop(name, None)) is not None:
            self.nodes.add(Node(seq=seq, id=name, kind="removed", replaces=draft.place))

    def remove_part(self, seq: int, message: str, part: str) -> None:
        if (draft := self.drafts.get(message)) and draft.parts.pop(part, None):
            self._write(seq, draft)

    def _learn(self, seq: int, raw: bytes, at: int) -> None:
        info, head = _fields(raw), Block("head", seq, at, at + len(raw))
        if (draft := self.drafts.get(info["id"])) is not None:
            draft.info, draft.head = info, head
        else:
            self.drafts[info["id"]] = _Draft(0, info, head, {})

    def _learn_part(self, seq: int, raw: bytes, at: int) -> _Draft | None:
        part = _fields(raw)
        draft = self.drafts.get(part["messageID"])
        if draft is not None:
            kind = _KINDS.get(part["type"], "other")
            draft.parts[part["id"]] = Block(kind, seq, at, at + len(raw), part.get("callID", ""))
            if part["type"] == "compaction":
                draft.asks = part
        return draft

    def _write(self, seq: int, draft: _Draft) -> None:
        """Write a message's node, below the message before it or in place of the one that it had."""
        info = draft.info
        above = (
            0
            if draft.place
            else next((each.place for each in reversed(self.drafts.values()) if each.place), 0)
        )
        node = Node(
            seq=seq,
            id=info["id"],
            kind="message",
            parent=above,
            replaces=draft.place,
            role=info["role"],
            is_person=info["role"] == "user",
            blocks=(draft.head, *(draft.parts[name] for name in sorted(draft.parts))),
        )
        draft.place = draft.place or len(self.nodes.made) + 1
        if draft.is_done_summary:
            node = msgspec.structs.replace(node, compaction=Compaction(kept=self._kept(draft)))
        self.nodes.add(node)

    def _kept(self, summary: _Draft) -> tuple[int, ...]:
        """Return what a compaction leaves: question, summary, tail, in the order in which opencode sends them."""
        drafts = list(self.drafts.values())
        drafts = drafts[: drafts.index(summary) + 1]
        done, found, until = set[str](), list[_Draft](), ""
        for each in reversed(drafts):
            found.append(each)
            name = each.info["id"]
            if until:
                if name == until:
                    break
                continue
            if each.is_done_summary:
                done.add(each.info["parentID"])
            if each.info["role"] == "user" and name in done and each.asks is not None:
                until = each.asks.get("tail_start_id") or ""
                if not until:
                    break
        found.reverse()
        asked = [each for each in found if each.asks is not None and each.asks.get("tail_start_id")]
        if asked:
            names = [each.info["id"] for each in found]
            question = found.index(asked[-1])
            tail = asked[-1].asks["tail_start_id"] if asked[-1].asks else ""
            answer = next(
                (
                    n
                    for n in range(question + 1, len(found))
                    if found[n].info.get("summary") is True
                    and found[n].info.get("parentID") == names[question]
                ),
                -1,
            )
            start = names.index(tail) if tail in names else question
            if start < question < answer:
                found = [*found[question : answer + 1], *found[start:question], *found[answer + 1 :]]
        return tuple(each.place for each in found)
