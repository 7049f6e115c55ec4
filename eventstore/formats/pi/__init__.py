"""Read and write pi's session files, versions 1 to 3."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final

import msgspec

from eventstore.event import Event, EventFacts, NewEvent
from eventstore.formats.base import Certainty, Export, Format, View
from eventstore.formats.pi.entry import entry_of
from eventstore.formats.pi.export import export_file, is_exported
from eventstore.formats.pi.file import PI
from eventstore.formats.pi.message import payloads, view_of_wire, wire_of
from eventstore.formats.pi.session_file import PiFile
from eventstore.formats.pi.tools import TOOLS
from eventstore.formats.pi.view import continues, view
from eventstore.formats.source import SessionLocation, Source, SourceContents
from eventstore.javascript import text_or_empty, tolerant_json
from eventstore.log import Snapshot
from eventstore.views import Message, Payload

_HEADER: Final = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"type"\s*:\s*"session"')


class PiFormat(Format):
    """Everything about how pi writes its sessions."""

    name: str = "pi"
    versions: tuple[str, ...] = ("pi/1", "pi/2", "pi/3")
    dialect = PI
    tools = TOOLS
    prompt_kinds = frozenset({"session_init"})
    places: tuple[SessionLocation, ...] = (
        SessionLocation(
            environment={"PI_CODING_AGENT_SESSION_DIR": ".", "PI_CODING_AGENT_DIR": "sessions"},
            default="~/.pi/agent/sessions",
            pattern="*/*.jsonl",
        ),
    )
    exports: Mapping[str, Export] = {"pi": export_file}

    def view(self, version: str, kind: str, record: bytes, parent: bytes | None = None) -> View:  # noqa: ARG002
        return view(kind, record)

    def continues(self, kind: str, record: bytes) -> bool:
        return continues(kind, record)

    def by_person(self, version: str, kind: str, record: bytes) -> bool:  # noqa: ARG002  one rule for all versions
        return kind == "message"

    def converts(self, other: Format) -> bool:
        return isinstance(other, PiFormat)

    def folder(self, header: bytes) -> str:
        fields = tolerant_json(header)
        return text_or_empty(fields.get("cwd")) if isinstance(fields, dict) else ""

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
