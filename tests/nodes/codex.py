"""Codex's rollouts as nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from tests.nodes.node import Compaction, Node, Nodes

_RETAINED: Final = 80_000
"""Characters of the newest texts of users that stay if a compaction names no history: 20,000 tokens."""


class _Record(msgspec.Struct):
    type: str
    payload: msgspec.Raw
    ordinal: int = -1


_record = msgspec.json.Decoder(_Record).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_fields = msgspec.json.Decoder(dict[str, Any]).decode


class _RawFields(msgspec.Struct):
    replacement_history: list[msgspec.Raw] | None = None


def session_name(path: Path) -> str:
    """Return the name of a rollout: a thread has several files, so it is that of its file."""
    return (
        path.stem.removeprefix("rollout-")[len("2026-11-28T08-40-40-") :].partition("_")[2] or path.stem[-36:]
    )


def nodes_of(name: str, records: Sequence[bytes], others: Mapping[str, Nodes] | None = None) -> Nodes:
    """Make nodes of a rollout's records; its leaf is the last node in its tree.

    `others` are nodes of rollouts that it may go on from, by name.
    """
    nodes = Nodes(name, records, others)
    nodes.leaf = _Reader(nodes).read()
    return nodes


class _Reader:
    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self.leaf, self.of = 0, ""

    def read(self) -> int:
        for seq, raw in enumerate(self.nodes.records, 1):
            record = _record(raw)
            payload = bytes(record.payload)
            start = raw.index(payload, raw.index(b'"payload"'))
            if record.type == "session_meta" and seq == 1:
                self._begin(seq, _fields(payload))
            elif record.type == "response_item":
                self._item(seq, payload, start)
            elif record.type == "compacted":
                self._compaction(seq, payload, start)
            elif record.type == "event_msg" and b'"thread_rolled_back"' in payload:
                self._roll_back(_fields(payload)["num_turns"])
        return self.leaf

    def _add(self, node: Node) -> None:
        self.leaf, self.of = self.nodes.add(node), ""

    def _begin(self, seq: int, meta: dict[str, Any]) -> None:
        """Go on from the record of another rollout that this one names, if it is there."""
        base = meta.get("history_base")
        if base is None:
            return
        other = base["thread_id"]
        if other not in self.nodes.others:
            self._add(Node(seq=seq, id=f"base-{seq}", kind="gap", missing=other))
            return
        self.of = other
        self.leaf = _leaf_before(self.nodes.others[other], base["end_ordinal_exclusive"])

    def _item(self, seq: int, payload: bytes, start: int) -> None:
        item = _fields(payload)
        if item["type"] == "ghost_snapshot":
            return
        name = item.get("id") or f"item-{seq}"
        self._add(
            Node(
                seq=seq,
                id=name,
                kind="message",
                parent=self.leaf,
                of=self.of,
                role=_role(item),
                is_person=_is_person(item),
                span=(start, start + len(payload)),
            )
        )

    def _compaction(self, seq: int, payload: bytes, start: int) -> None:
        """Add a node for each item that a compaction's record brings, off the path, and one that keeps them."""
        history = msgspec.json.decode(payload, type=_RawFields).replacement_history
        kept = list[int]()
        if history is None:
            kept = self._retained()
        at = start
        for raw in map(bytes, history or ()):
            at = self.nodes.records[seq - 1].index(raw, at)
            kept.append(
                self.nodes.add(
                    Node(
                        seq=seq,
                        id=f"kept-{seq}-{len(kept)}",
                        kind="message",
                        off=True,
                        role=_role(_fields(raw)),
                        span=(at, at + len(raw)),
                    )
                )
            )
            at += len(raw)
        self._add(
            Node(
                seq=seq,
                id=f"compaction-{seq}",
                kind="compaction",
                parent=self.leaf,
                of=self.of,
                compaction=Compaction(kept=tuple(kept)),
            )
        )

    def _retained(self) -> list[int]:
        """Return the newest of what users said, as it stays where a compaction names no history."""
        found, left, at = list[int](), _RETAINED, self.leaf
        while at and left > 0:
            node = self.nodes[at]
            if node.is_person:
                found.append(at)
                left -= node.span[1] - node.span[0]
            at = node.parent if not node.of else 0
        return found[::-1]

    def _roll_back(self, turns: int) -> None:
        """Go back above the newest turns of a person; compactions inside them are above no longer."""
        nodes, at, of = self.nodes.session(self.of), self.leaf, self.of
        while at and turns:
            node = nodes[at]
            turns -= node.is_person
            at = node.parent
            if node.of:
                nodes, of = nodes.session(node.of), node.of
        self.leaf, self.of = at, of


def _leaf_before(nodes: Nodes, ordinal: int) -> int:
    """Return where a rollout stood before the record of an ordinal."""
    kept = [raw for raw in nodes.records if 0 <= _record(raw).ordinal < ordinal]
    return nodes_of(nodes.name, kept, nodes.others).leaf


def _role(item: dict[str, Any]) -> str:
    return item.get("role") or ("tool" if item["type"].endswith("_output") else "assistant")


def _is_person(item: dict[str, Any]) -> bool:
    """Return True for what a person typed; environment and instructions of files are users' messages, too."""
    texts = [part.get("text", "") for part in item.get("content") or () if isinstance(part, dict)]
    made = ("<environment_context>", "<user_instructions>", "# AGENTS.md", "<turn_aborted>", "<skill>")
    return item.get("role") == "user" and not any(text.lstrip().startswith(made) for text in texts)
