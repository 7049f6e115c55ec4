"""Say what pi's records mean, and in what harnesses that write files like pi differ from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final

import msgspec

from eventstore.event import Absent, Flag, Place
from eventstore.harnesses.names import is_name, stored_id
from eventstore.harnesses.pi.entry import KINDS, PI_READERS, Entry, Reader, node_of_entry
from eventstore.kinds import CODE_OF_KIND
from eventstore.node import Node

NEWEST_VERSION: Final = 3
_NEWEST: Final = f"/{NEWEST_VERSION}"

Conversion = Callable[[dict[str, Any]], dict[str, Any]]
"""Converts an entry's fields; those of every entry, such as `id`, may be left out."""


class Dialect(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A harness that writes files like pi: its name and the types of its entries.

    `same` are types that mean the same as a kind of another name. `slot` is the type of a first line with the
    session's title, "" for none. With `reads_first`, the harness reads the first of several records in a
    line. `readers` say what its records mean, by kind; with `sets_model`, an answer sets the model in use.
    `header_fields` are those of its header that pi's lacks; `to_pi` and `from_pi` convert its records by type.
    """

    harness: str
    kinds: frozenset[str]
    same: Mapping[str, str] = {}
    slot: str = ""
    reads_first: bool = False
    readers: Mapping[str, Reader]
    sets_model: bool = True
    header_fields: frozenset[str] = frozenset()
    to_pi: Mapping[str, Conversion] = {}
    from_pi: Mapping[str, Conversion] = {}

    @cached_property
    def types(self) -> frozenset[str]:
        """The types of its lines except the slot's."""
        return self.kinds | {"session"}

    @cached_property
    def entry(self) -> re.Pattern[str]:
        """The beginning of a line's record."""
        return re.compile(r'\{\s*"type"\s*:\s*"(?:%s)"' % "|".join(sorted(self.types)))  # noqa: UP031  braces

    def is_type(self, type_: Any) -> bool:
        """Return True for the types of the harness's own entries and header."""
        return isinstance(type_, str) and type_ in self.types

    def is_record(self, decoded: Mapping[str, Any]) -> bool:
        """Return True if an object has the type of one of the harness's records."""
        return self.is_type(decoded.get("type"))

    def kind(self, type_: Any) -> str:
        """Return the kind of an entry; a type that clashes with refold's own gets another kind."""
        if not isinstance(type_, str):
            return "untyped"
        if type_ not in self.kinds:
            if not is_name(type_):
                return "untyped"
            if type_ in CODE_OF_KIND:
                return f"{self.harness}:{type_}"
        return self.same.get(type_, type_)

    def node(self, version: str, kind: str, entry: Entry) -> Node:
        """Return what a record of a version such as "pi/3" means, apart from its place."""
        node = node_of_entry(kind, entry, self.readers)
        if node.target is not None:
            node = msgspec.structs.replace(node, target=stored_id(node.target))
        if version.endswith(_NEWEST):
            return node
        if kind == "compaction" and version.endswith("/1"):
            # It refers to its first kept entry by an index in the file.
            return msgspec.structs.replace(node, target=None, needs_source=True)
        if kind == "message" and node.message is not None and node.message.role == "hookMessage":
            return msgspec.structs.replace(node, flags=node.flags | Flag.MIGRATED_ROLE)
        return node


PI: Final = Dialect(
    harness="pi", kinds=KINDS | {"context_edit"}, same={"context_edit": "rewrite"}, readers=PI_READERS
)
NAMED: Final = Place(absent=Absent.ROOT)
"""The place of a record that names its parent."""
IN_ORDER: Final = Place(absent=Absent.ROOT, continues=True)
"""The place of a record of version 1, which names none."""
