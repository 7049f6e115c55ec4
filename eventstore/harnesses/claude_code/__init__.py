"""Claude Code's session files, and the records in them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from eventstore.event import Place
from eventstore.harnesses.base import Certainty, Export, Format, SessionLocation, Tools
from eventstore.harnesses.claude_code.api_message import read, view_of
from eventstore.harnesses.claude_code.meaning import node_of
from eventstore.harnesses.claude_code.record import VERSION, fields_of, kind_of, place_of
from eventstore.harnesses.claude_code.transcript_lines import SNAPSHOT, parse
from eventstore.node import Node
from eventstore.views import ApiMessage, Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventstore.event import Event, NewEvent
    from eventstore.harnesses.resumable import Resumable, Written
    from eventstore.harnesses.source import Source, SourceContents
    from eventstore.log import Snapshot

_BEGINNINGS: Final = re.compile(
    rb'\{\s*(?:"parentUuid"\s*:[^{}]*"isSidechain"\s*:|"type"\s*:\s*"%b")' % SNAPSHOT.encode()
)
"""The starts of records that name no session, or are longer than `BEGINNING_BYTES`."""

TOOLS: Final = Tools(
    reads={"Read": ("file_path",), "NotebookRead": ("notebook_path",)},
    modifies={
        "Write": ("file_path",),
        "Edit": ("file_path",),
        "MultiEdit": ("file_path",),
        "NotebookEdit": ("notebook_path",),
    },
    shells={"Bash": ("command",), "PowerShell": ("command",)},
    plans=frozenset({"TodoWrite"}),
    paths=("file_path", "notebook_path", "path"),
    scripts=("command",),
    ranges=("offset", "limit"),
)


def _export(snapshot: Snapshot, session: str) -> Iterator[bytes]:
    from eventstore.harnesses.claude_code.transcript_file import export_file  # noqa: PLC0415  reading a store needs none

    return export_file(snapshot, session)


class ClaudeCodeFormat(Format):
    """Read and write Claude Code's session files."""

    name: str = "claude-code"
    versions: tuple[str, ...] = (VERSION,)
    tools = TOOLS
    places: tuple[SessionLocation, ...] = (
        SessionLocation(
            environment={"CLAUDE_CONFIG_DIR": "projects"},
            default="~/.claude/projects",
            pattern="**/*.jsonl",
        ),
    )
    exports: Mapping[str, Export] = {"claude-code": _export}

    def node(self, version: str, kind: str, record: bytes, parent: bytes | None = None) -> Node:  # noqa: ARG002
        return node_of(kind, fields_of(record), parent)

    def message(self, raw: bytes) -> Message:
        return view_of(raw)

    def api_message(self, raw: bytes) -> ApiMessage:
        return read(raw)

    def place(self, version: str, event_id: str, record: bytes) -> Place:  # noqa: ARG002
        fields = fields_of(record)
        return place_of(event_id, fields, kind_of(fields))[1]

    def recognize(self, beginning: bytes, path: str | os.PathLike[str]) -> Certainty:  # noqa: ARG002
        for line in beginning.split(b"\n"):
            for _, _, fields in parse(line).records:
                has_session = isinstance(fields.sessionId, str) and isinstance(fields.type, str)
                is_title = fields.type == "summary" and isinstance(fields.leafUuid, str)
                if has_session or is_title or fields.type == "fork-context-ref":
                    return Certainty.SURE
        return Certainty.SURE if _BEGINNINGS.match(beginning) else Certainty.NONE

    def open(self, source: Source) -> SourceContents:
        from eventstore.harnesses.claude_code.transcript_file import ClaudeCodeFile  # noqa: PLC0415  reading a store needs none

        return ClaudeCodeFile(source)

    def written(self, resumable: Resumable) -> Written:
        from eventstore.harnesses.claude_code.transcript_context import written  # noqa: PLC0415  reading a store needs none

        return written(resumable)

    def is_exported(self, snapshot: Snapshot, event: NewEvent, stored: Event) -> bool:  # noqa: ARG002
        from eventstore.harnesses.claude_code.transcript_file import exported_line  # noqa: PLC0415  reading a store needs none

        # A later read of the file may bring a parent that was missing in the first.
        return event.body == exported_line(stored)


FORMAT: Final = ClaudeCodeFormat()
"""Claude Code's session files, of every version."""
