"""opencode's sessions: its database, the files before it, and what it exports."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from eventstore.event import Place
from eventstore.harnesses.base import Certainty, Export, Format, SessionLocation, Tools
from eventstore.harnesses.opencode.message_nodes import node_of, payloads, view_of
from eventstore.harnesses.opencode.session_records import KEEPS_BEFORE, VERSION, record_of
from eventstore.node import Node
from eventstore.views import Message, Payload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventstore.event import Event, NewEvent
    from eventstore.harnesses.resumable import Resumable, Written
    from eventstore.harnesses.source import Source, SourceContents
    from eventstore.log import Snapshot

TOOLS: Final = Tools(
    reads={"read": ("filePath",)},
    modifies={"write": ("filePath",), "edit": ("filePath",), "multiedit": ("filePath",)},
    patches=frozenset({"apply_patch", "patch"}),
    shells={"bash": ("command",)},
    plans=frozenset({"todowrite"}),
    paths=("filePath", "path", "url"),
    scripts=("command",),
    ranges=("offset", "limit"),
)
_MOVES: Final = b'"to":'


def _export(snapshot: Snapshot, session: str) -> Iterator[bytes]:
    from eventstore.harnesses.opencode.document_export import export_document  # noqa: PLC0415  reading a store needs none

    return export_document(snapshot, session)


class OpencodeFormat(Format):
    """Read opencode's sessions."""

    name: str = "opencode"
    versions: tuple[str, ...] = (KEEPS_BEFORE, VERSION)
    tools = TOOLS
    needs_header = True
    places: tuple[SessionLocation, ...] = (
        SessionLocation(
            environment={"XDG_DATA_HOME": "opencode"},
            default="~/.local/share/opencode",
            pattern="opencode*.db",
        ),
        SessionLocation(
            environment={"XDG_DATA_HOME": "opencode/storage/session"},
            default="~/.local/share/opencode/storage/session",
            pattern="*/*.json",
        ),
    )
    exports: Mapping[str, Export] = {"opencode": _export}

    def node(self, version: str, kind: str, record: bytes, parent: bytes | None = None) -> Node:
        return node_of(version, kind, record, parent)

    def written(self, resumable: Resumable) -> Written:
        from eventstore.harnesses.opencode.document_export import written  # noqa: PLC0415  reading a store needs none

        return written(resumable)

    def message(self, raw: bytes) -> Message:
        return view_of(raw)

    def payloads(self, raw: bytes) -> list[Payload]:
        return payloads(raw)

    def place(self, version: str, event_id: str, record: bytes) -> Place:  # noqa: ARG002
        from eventstore.harnesses.opencode.document import PLACE  # noqa: PLC0415  reading a store needs none
        from eventstore.harnesses.opencode.event_table import moved  # noqa: PLC0415

        return moved(record_of(record).to) if _MOVES in record else PLACE

    def recognize(self, beginning: bytes, path: str | os.PathLike[str]) -> Certainty:
        from eventstore.harnesses.opencode.database import MAGIC  # noqa: PLC0415  reading a store needs none
        from eventstore.harnesses.opencode.document import BEGINNING  # noqa: PLC0415
        from eventstore.harnesses.opencode.tree import SESSION  # noqa: PLC0415

        if BEGINNING.match(beginning) or SESSION.match(beginning):
            return Certainty.SURE
        name = os.path.basename(os.fsdecode(path))  # noqa: PTH119  no Path for each of many files
        is_database = beginning.startswith(MAGIC) and name.startswith("opencode") and name.endswith(".db")
        return (
            Certainty.SURE
            if is_database
            else Certainty.POSSIBLE
            if beginning.startswith(MAGIC)
            else Certainty.NONE
        )

    def open(self, source: Source) -> SourceContents:
        from eventstore.harnesses.opencode.database import MAGIC, OpencodeDatabase  # noqa: PLC0415  reading a store needs none
        from eventstore.harnesses.opencode.document import OpencodeDocument  # noqa: PLC0415
        from eventstore.harnesses.opencode.tree import SESSION, OpencodeTree  # noqa: PLC0415

        beginning = source.beginning()
        if SESSION.match(beginning):
            return OpencodeTree(source)
        return OpencodeDatabase(source) if beginning.startswith(MAGIC) else OpencodeDocument(source)

    def is_exported(self, snapshot: Snapshot, event: NewEvent, stored: Event) -> bool:  # noqa: ARG002
        return False


FORMAT: Final = OpencodeFormat()
"""opencode's sessions, of every release from 1.0 on."""
