"""Read and write pi's session files, versions 1 to 3."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final

import msgspec

from eventstore.event import Event, EventFacts, NewEvent
from eventstore.formats.base import Certainty, Export, Format
from eventstore.formats.pi.entry import entry_of
from eventstore.formats.pi.export import export_file, is_exported
from eventstore.formats.pi.file import PI
from eventstore.formats.pi.message import payloads, view_of_wire, wire_of
from eventstore.formats.pi.session_file import PiFile
from eventstore.formats.pi.tools import TOOLS
from eventstore.formats.pi.view import view
from eventstore.formats.source import SessionLocation, Source, SourceContents
from eventstore.log import Snapshot
from eventstore.node import Node
from eventstore.views import Message, Payload

_HEADER: Final = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"type"\s*:\s*"session"')


class PiFormat(Format):
    """Everything about how pi writes its sessions."""

    name: str = "pi"
    versions: tuple[str, ...] = ("pi/1", "pi/2", "pi/3")
    dialect = PI
    tools = TOOLS
    places: tuple[SessionLocation, ...] = (
        SessionLocation(
            environment={"PI_CODING_AGENT_SESSION_DIR": ".", "PI_CODING_AGENT_DIR": "sessions"},
            default="~/.pi/agent/sessions",
            pattern="*/*.jsonl",
        ),
    )
    exports: Mapping[str, Export] = {"pi": export_file}

    def node(self, version: str, kind: str, record: bytes, parent: bytes | None = None) -> Node:  # noqa: ARG002
        return view(kind, record)

    def converts(self, other: Format) -> bool:
        return isinstance(other, PiFormat)

    def message(self, raw: bytes) -> Message:
        return view_of_wire(wire_of(raw))

    def payloads(self, raw: bytes) -> list[Payload]:
        return payloads(raw)

    def facts(self, version: str, kind: str, record: bytes, parent: bytes | None = None) -> EventFacts:  # noqa: ARG002
        number = int(version.rpartition("/")[2])
        facts = self.dialect.facts(number, kind, record, entry_of(record))
        # A compaction of version 1 refers to its first kept entry by an index in the file.
        is_by_place = number == 1 and kind == "compaction"
        return msgspec.structs.replace(facts, target=None, needs_source=True) if is_by_place else facts

    def recognize(self, beginning: bytes, path: str | os.PathLike[str]) -> Certainty:  # noqa: ARG002
        # A damaged file may lack every mark: pi takes files that no other format claims.
        return Certainty.SURE if _HEADER.match(beginning) else Certainty.POSSIBLE

    def open(self, source: Source) -> SourceContents:
        return PiFile(source, self.dialect)

    def is_exported(self, snapshot: Snapshot, event: NewEvent, stored: Event) -> bool:
        return is_exported(snapshot, event, stored, self.dialect)


FORMAT: Final = PiFormat()
