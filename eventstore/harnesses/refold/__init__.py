"""Read refold's own records, in the shape of pi's version 3: what each one means."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import Final

import msgspec

from eventstore.event import OWN_PLACE, EventFacts, Place
from eventstore.facts import facts_of_node
from eventstore.harnesses.base import Certainty, Export
from eventstore.harnesses.pi import PiFormat
from eventstore.harnesses.pi import entry as entries
from eventstore.harnesses.pi.entry import (
    Entry,
    Reader,
    entry_of,
    joined,
    node_of_entry,
    requests_of,
    value_of,
)
from eventstore.javascript import text_or_empty
from eventstore.node import Node
from eventstore.records import FORMAT as VERSION
from eventstore.records import RESTORED_FILE, RESTORED_PLAN, TextReplacement


def _custom_message(entry: Entry) -> Node:
    node = entries.read_custom_message(entry)
    restores = entry.customType in (RESTORED_FILE, RESTORED_PLAN)
    return msgspec.structs.replace(node, restores=True) if restores else node


def _attempt(entry: Entry) -> Node:
    requests = requests_of(entry.request)
    # The last of several requests may omit the model, which then applies to all.
    together = text_or_empty(entry.request.get("summarizer")) if isinstance(entry.request, dict) else ""
    asked = (requests[-1].summarizer if requests else "") or together
    return Node(
        requests=requests, line=": ".join(each for each in (asked, text_or_empty(entry.error)) if each)
    )


def _decision(entry: Entry) -> Node:
    line = joined(entry.policy, entry.outcome, entry.reason)
    return Node(requests=requests_of(entry.numbers, alone=False), line=line)


def _note(entry: Entry) -> Node:
    value = value_of(entry.data)
    data = value if isinstance(value, dict) else {}
    return Node(requests=requests_of(data.get("request")), line=joined(entry.targetId, data.get("type")))


def _rewrite(entry: Entry) -> Node:
    try:
        rewrites = msgspec.convert(entry.targets, tuple[TextReplacement, ...])
    except msgspec.ValidationError:
        rewrites = ()
    return Node(rewrites=rewrites, line=joined(entry.reason))


def _import(entry: Entry) -> Node:
    unknown = entry.unknown if isinstance(entry.unknown, dict) else {}
    types = ", ".join(f"{name} ({number})" for name, number in unknown.items())
    line = joined(entry.sourceFormat, entry.records)
    return Node(line=f"{line}, of unknown types: {types}" if types else line)


def _line_of(*names: str) -> Reader:
    """Return a reader for kinds with only a line for logs: the values of these fields."""

    def read(entry: Entry) -> Node:
        return Node(line=joined(*(getattr(entry, name) for name in names)))

    return read


_READERS: Final[Mapping[str, Reader]] = {
    **entries.READERS,
    "compaction": partial(entries.read_compaction, is_own=True),
    "custom_message": _custom_message,
    "attempt": _attempt,
    "decision": _decision,
    "rewrite": _rewrite,
    "leaf_moved": _line_of("fromId"),
    "undone": _line_of("targetId"),
    "import": _import,
    "link": _line_of("relation", "session"),
    "observed_rewrite": _line_of("targetId"),
    "note": _note,
}


class RefoldFormat(PiFormat):
    """The format of refold's own records. They come through the library, not from files."""

    name = "refold"
    versions = (VERSION,)
    places = ()
    exports: Mapping[str, Export] = {}

    def node(self, version: str, kind: str, record: bytes, parent: bytes | None = None) -> Node:  # noqa: ARG002
        return node_of_entry(kind, entry_of(record), _READERS)

    def place(self, version: str, event_id: str, record: bytes) -> Place:  # noqa: ARG002
        return OWN_PLACE

    def recognize(self, beginning: bytes, path: str | os.PathLike[str]) -> Certainty:  # noqa: ARG002
        return Certainty.NONE


FORMAT: Final = RefoldFormat()


def own_facts(kind: str, record: bytes) -> EventFacts:
    """Return the facts that the log stores beside a record of refold."""
    return facts_of_node(FORMAT.node(VERSION, kind, record), kind, record)
