"""Read and write pi's session files, versions 1 to 3."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final

from eventstore.event import Event, NewEvent, Place
from eventstore.harnesses.base import Certainty, Export, Format
from eventstore.harnesses.pi.context_file import written
from eventstore.harnesses.pi.entry import entry_of
from eventstore.harnesses.pi.export import export_file, is_exported
from eventstore.harnesses.pi.file import IN_ORDER, NAMED, PI
from eventstore.harnesses.pi.message import message_view, payloads
from eventstore.harnesses.pi.session_file import PiFile
from eventstore.harnesses.pi.tools import TOOLS
from eventstore.harnesses.resumable import Resumable, Written
from eventstore.harnesses.source import SessionLocation, Source, SourceContents
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
        return self.dialect.node(version, kind, entry_of(record))

    def written(self, resumable: Resumable) -> Written:
        return written(resumable)

    def message(self, raw: bytes) -> Message:
        return message_view(raw)

    def payloads(self, raw: bytes) -> list[Payload]:
        return payloads(raw)

    def place(self, version: str, event_id: str, record: bytes) -> Place:  # noqa: ARG002
        return IN_ORDER if version.endswith("/1") else NAMED

    def recognize(self, beginning: bytes, path: str | os.PathLike[str]) -> Certainty:  # noqa: ARG002
        # A damaged file may lack every mark: pi takes files that no other format claims.
        return Certainty.SURE if _HEADER.match(beginning) else Certainty.POSSIBLE

    def open(self, source: Source) -> SourceContents:
        return PiFile(source, self.dialect)

    def is_exported(self, snapshot: Snapshot, event: NewEvent, stored: Event) -> bool:
        return is_exported(snapshot, event, stored, self.dialect)


FORMAT: Final = PiFormat()
