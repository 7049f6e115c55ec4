"""Read and write pi's session files, versions 1 to 3."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from eventstore.event import Place
from eventstore.harnesses.base import Certainty, Editor, Export, Format, SessionLocation, Tools
from eventstore.harnesses.pi.dialects import IN_ORDER, NAMED, PI
from eventstore.harnesses.pi.entry import entry_of
from eventstore.harnesses.pi.message import message_view, payloads
from eventstore.node import Node
from eventstore.views import Message, Payload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventstore.event import Event, NewEvent
    from eventstore.harnesses.resumable import Resumable, Written
    from eventstore.harnesses.source import Source, SourceContents
    from eventstore.log import Snapshot

_PATHS: Final = ("path", "file_path", "filePath", "notebook_path")
_SCRIPTS: Final = ("command", "cmd")
_ANTHROPICS: Final = Editor(command="command", views="view", paths=("path", "old_path", "new_path"))
_RANGE: Final = r"L?\d+(?:(?:[-+]|\.\.)L?\d+|-|\.\.)?"
_RANGES: Final = rf"{_RANGE}(?:,{_RANGE})*"
_SELECTOR: Final = rf"(?ai)(?s:(?<=.)):(?:{_RANGES}(?::raw)?|raw(?::{_RANGES})?|conflicts)\Z"
"""oh-my-pi's read selectors: line ranges, `raw`, both in either order, or `conflicts`."""

# pi has few tools of its own; the others are whatever its extensions register, and many of those take the names that
# oh-my-pi, Claude Code, Codex, opencode or Gemini's program use, or that Anthropic gives its models.
TOOLS: Final = Tools(
    reads=dict.fromkeys(("read", "Read", "read_file", "view", "NotebookRead"), _PATHS),
    modifies=dict.fromkeys(
        (
            "write",
            "edit",
            "Write",
            "Edit",
            "MultiEdit",
            "NotebookEdit",
            "write_file",
            "edit_file",
            "multiedit",
            "multi_edit",
        ),
        _PATHS,
    ),
    editors=dict.fromkeys(("str_replace_based_edit_tool", "str_replace_editor", "memory"), _ANTHROPICS),
    patches=frozenset({"apply_patch", "patch"}),
    shells=dict.fromkeys(
        ("bash", "Bash", "shell", "exec_command", "run_shell_command", "local_shell", "execute"), _SCRIPTS
    ),
    plans=frozenset({"todo", "todowrite", "todo_write", "update_plan", "TodoWrite"}),
    paths=_PATHS,
    scripts=_SCRIPTS,
    ranges=("offset", "limit"),
    selector=_SELECTOR,
)


_HEADER: Final = rb'(?:\xef\xbb\xbf)?\s*\{\s*"type"\s*:\s*"session"'


def _export(snapshot: Snapshot, session: str) -> Iterator[bytes]:
    from eventstore.harnesses.pi.export import export_file  # noqa: PLC0415  reading a store needs none

    return export_file(snapshot, session)


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
    exports: Mapping[str, Export] = {"pi": _export}

    def node(self, version: str, kind: str, record: bytes, parent: bytes | None = None) -> Node:  # noqa: ARG002
        return self.dialect.node(version, kind, entry_of(record))

    def written(self, resumable: Resumable) -> Written:
        from eventstore.harnesses.pi.context_file import written  # noqa: PLC0415  reading a store needs none

        return written(resumable)

    def message(self, raw: bytes) -> Message:
        return message_view(raw)

    def payloads(self, raw: bytes) -> list[Payload]:
        return payloads(raw)

    def place(self, version: str, event_id: str, record: bytes) -> Place:  # noqa: ARG002
        return IN_ORDER if version.endswith("/1") else NAMED

    def recognize(self, beginning: bytes, path: str | os.PathLike[str]) -> Certainty:  # noqa: ARG002
        # A damaged file may lack every mark: pi takes files that no other format claims.
        return Certainty.SURE if re.match(_HEADER, beginning) else Certainty.POSSIBLE

    def open(self, source: Source) -> SourceContents:
        from eventstore.harnesses.pi.session_file import PiFile  # noqa: PLC0415  reading a store needs none

        return PiFile(source, self.dialect)

    def is_exported(self, snapshot: Snapshot, event: NewEvent, stored: Event) -> bool:
        from eventstore.harnesses.pi.export import is_exported  # noqa: PLC0415  reading a store needs none

        return is_exported(snapshot, event, stored, self.dialect)


FORMAT: Final = PiFormat()
