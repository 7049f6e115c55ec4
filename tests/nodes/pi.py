"""pi's session files, versions 1 to 3, as nodes, and the messages that its contexts show of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from tests.nodes.node import Compaction, Node, Nodes

SHOWN: Final = frozenset({"message", "compaction", "branch_summary", "custom_message"})


class _Entry(msgspec.Struct):
    """The fields of an entry that say what it means."""

    type: Any = None
    id: Any = None
    parentId: Any = None  # noqa: N815  pi's names
    version: Any = None
    timestamp: Any = None
    message: Raw = Raw(b"null")
    summary: Any = None
    firstKeptEntryId: Any = None  # noqa: N815
    firstKeptEntryIndex: Any = None  # noqa: N815
    provider: Any = None
    modelId: Any = None  # noqa: N815
    thinkingLevel: Any = None  # noqa: N815


class _Message(msgspec.Struct):
    role: Any = None
    provider: Any = UNSET
    model: Any = UNSET
    stopReason: Any = None  # noqa: N815


_entry = msgspec.json.Decoder(_Entry).decode
_message = msgspec.json.Decoder(_Message).decode
_fields = msgspec.json.Decoder(dict[str, Raw]).decode


def nodes_of(name: str, lines: Sequence[bytes]) -> Nodes:
    """Make nodes of a file's lines, parents before children: one whose parent comes later waits for it."""
    return _Reader(Nodes(name, lines)).read()


class _Reader:
    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self.version, self.first_id = 3, 0
        self.waiting: dict[str, list[tuple[int, _Entry]]] = {}

    def read(self) -> Nodes:
        entries: list[tuple[int, _Entry]] = []
        for seq, raw in enumerate(self.nodes.records, 1):
            # A line that pi cannot read is none; it stays in the log.
            with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                entries.append((seq, _entry(raw)))
        if entries and entries[0][1].type == "session":
            header = entries.pop(0)[1]
            self.version = header.version if isinstance(header.version, int) else 1
            self.first_id = int.from_bytes(sha256(str(header.id).encode()).digest()[:4], "big")
        named = {entry.id for _, entry in entries}
        newest = ""
        for seq, entry in entries:
            if entry.type == "session":
                continue
            newest = self._own_id(seq, entry)
            parent = entry.parentId
            if self.version > 1 and parent in named and parent not in self.nodes.ids and parent != entry.id:
                self.waiting.setdefault(parent, []).append((seq, entry))
            else:
                self._place(seq, entry)
        # What waits for itself has no place: its first becomes a root.
        while self.waiting:
            for each in self.waiting.pop(next(iter(self.waiting))):
                self._place(*each)
        self.nodes.leaf = self.nodes.ids.get(newest, 0)
        return self.nodes

    def _own_id(self, seq: int, entry: _Entry) -> str:
        """Return an entry's id; in version 1, where it has none, the one that refold gives it."""
        if self.version > 1 and isinstance(entry.id, str):
            return entry.id
        return f"{(self.first_id + (seq - 1) * 0x9E3779B1) & 0xFFFFFFFF:08x}"

    def _place(self, seq: int, entry: _Entry) -> None:
        nodes = self.nodes
        above = nodes.ids.get(entry.parentId, 0) if isinstance(entry.parentId, str) else 0
        if self.version == 1:
            above = len(nodes.made)
        name = self._own_id(seq, entry)
        node = Node(seq=seq, id=name, kind=str(entry.type), parent=above)
        nodes.add(_filled(node, entry, nodes, self.version))
        for each in self.waiting.pop(name, ()):
            self._place(*each)


def _filled(node: Node, entry: _Entry, nodes: Nodes, version: int) -> Node:
    """Return an entry's node with what the entry says."""
    if entry.type == "compaction":
        kept = entry.firstKeptEntryId
        first = nodes.ids.get(kept, 0) if isinstance(kept, str) else 0
        if version == 1 and isinstance(entry.firstKeptEntryIndex, int):
            first = entry.firstKeptEntryIndex
        return msgspec.structs.replace(node, compaction=Compaction(first=first))
    if entry.type == "model_change":
        return msgspec.structs.replace(node, model=(entry.provider, entry.modelId))
    if entry.type == "thinking_level_change":
        return msgspec.structs.replace(node, thinking=entry.thinkingLevel)
    if entry.type == "message" and bytes(entry.message).startswith(b"{"):
        message, raw = _message(bytes(entry.message)), nodes.records[node.seq - 1]
        start = raw.index(bytes(entry.message), raw.index(b'"message"'))
        by = (message.provider, message.model) if message.role == "assistant" else None
        is_hook = version < 3 and message.role == "hookMessage"
        return msgspec.structs.replace(
            node,
            kind="failed" if by and message.stopReason in ("aborted", "error") else node.kind,
            role="custom" if is_hook else str(message.role),
            model=by,
            # The harness reads it under another role: it has no span to be shown as it is.
            span=(0, 0) if is_hook else (start, start + len(bytes(entry.message))),
        )
    return node


def message_of(nodes: Nodes, number: int) -> bytes | None:
    """Return the message that contexts show of a node, None for none."""
    node = nodes[number]
    raw = nodes.records[node.seq - 1]
    if node.span[1]:
        return raw[slice(*node.span)]
    fields = _fields(raw)
    if node.kind == "message":
        return _renamed(fields.get("message"))
    role, names = _MADE[node.kind]
    if node.kind == "branch_summary" and json.loads(bytes(fields.get("summary", Raw(b"null")))) in (
        "",
        None,
        False,
    ):
        return None
    values = [b'"%b":%b' % (each.encode(), bytes(fields[each])) for each in names if each in fields]
    time = _milliseconds(fields.get("timestamp"))
    return b",".join([b'{"role":"%b"' % role, *values, b'"timestamp":%b}' % time])


_MADE: Final = {
    "compaction": (b"compactionSummary", ("summary", "tokensBefore", "placement")),
    "branch_summary": (b"branchSummary", ("summary", "fromId")),
    "custom_message": (b"custom", ("customType", "content", "display", "details")),
}


def _renamed(message: Raw | None) -> bytes | None:
    if message is None or not bytes(message).startswith(b"{"):
        return None
    return msgspec.json.encode(json.loads(bytes(message)) | {"role": "custom"})


def _milliseconds(time: Raw | None) -> bytes:
    try:
        return b"%d" % round(datetime.fromisoformat(json.loads(bytes(time or b"null"))).timestamp() * 1000)
    except (TypeError, ValueError):
        return b"null"


def settings_at(nodes: Nodes, path: Sequence[int]) -> dict[str, Any]:
    """Return the settings at the end of a path: those of the newest nodes that make some."""
    thinking = next((nodes[n].thinking for n in reversed(path) if nodes[n].thinking is not None), "off")
    model = next((nodes[n].model for n in reversed(path) if nodes[n].model), None)
    found: dict[str, Any] = {"thinkingLevel": thinking, "model": None}
    if model is not None:
        pairs = zip(("provider", "modelId"), model, strict=True)
        found["model"] = {name: value for name, value in pairs if not isinstance(value, UnsetType)}
    return found
