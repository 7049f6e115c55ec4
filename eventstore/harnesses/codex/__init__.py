"""Read Codex's rollouts, plain and compressed."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from eventstore.event import Place
from eventstore.harnesses.base import Certainty, Export, Format, SessionLocation, Tools
from eventstore.harnesses.codex.response_item import message_of, payloads_of, sent_item
from eventstore.harnesses.codex.rollout_line import VERSION, line_of, object_in, place_of
from eventstore.harnesses.codex.rollout_meaning import node_of
from eventstore.harnesses.codex.rollout_records import BEGINNING, is_record, records_in
from eventstore.node import Node
from eventstore.views import Message, Payload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eventstore.event import Event, NewEvent
    from eventstore.harnesses.resumable import Resumable, Written
    from eventstore.harnesses.source import Source, SourceContents
    from eventstore.log import Snapshot

_LINES: Final = 8
_BEGINNING: Final = re.compile(BEGINNING.encode())

TOOLS: Final = Tools(
    reads={"view_image": ("path",)},
    modifies={},
    patches=frozenset({"apply_patch"}),
    shells={
        "exec_command": ("cmd",),
        "shell_command": ("command",),
        "shell": ("command",),
        "local_shell": ("command",),
        "write_stdin": ("chars",),
    },
    plans=frozenset({"update_plan"}),
    paths=("path",),
    scripts=("cmd", "command", "chars"),
)


def _export(snapshot: Snapshot, session: str) -> Iterator[bytes]:
    from eventstore.harnesses.codex.rollout_export import export_file  # noqa: PLC0415  reading a store needs none

    return export_file(snapshot, session)


class CodexFormat(Format):
    """Everything about how Codex writes its sessions."""

    name = "codex"
    versions = (VERSION,)
    tools = TOOLS
    needs_header = True
    places = tuple(
        SessionLocation(
            environment={"CODEX_HOME": folder}, default=f"~/.codex/{folder}", pattern="**/rollout-*.jsonl*"
        )
        for folder in ("sessions", "archived_sessions")
    )
    exports: Mapping[str, Export] = {"codex": _export}

    def node(self, version: str, kind: str, record: bytes, parent: bytes | None = None) -> Node:  # noqa: ARG002
        return node_of(kind, line_of(record))

    def written(self, resumable: Resumable) -> Written:
        from eventstore.harnesses.codex.rollout_export import written  # noqa: PLC0415  reading a store needs none

        return written(resumable)

    def message(self, raw: bytes) -> Message:
        return message_of(object_in(raw), raw)

    def response_item(self, raw: bytes) -> bytes:
        return sent_item(raw)

    def payloads(self, raw: bytes) -> list[Payload]:
        return payloads_of(raw)

    def place(self, version: str, event_id: str, record: bytes) -> Place:  # noqa: ARG002
        return place_of(line_of(record))

    def recognize(self, beginning: bytes, path: str | os.PathLike[str]) -> Certainty:
        from eventstore.harnesses.codex.rollout_file import COMPRESSED, rollout_in  # noqa: PLC0415  reading a store needs none

        if beginning.startswith(COMPRESSED):
            return Certainty.SURE if rollout_in(path) else Certainty.NONE
        # The first record holds a system prompt, and may be longer than the beginning.
        is_ours = _BEGINNING.match(beginning) is not None or any(
            is_record(line)
            for text in beginning.split(b"\n")[:_LINES]
            for _, _, line in records_in(text + b"\n").records
        )
        return Certainty.SURE if is_ours else Certainty.NONE

    def open(self, source: Source) -> SourceContents:
        from eventstore.harnesses.codex.rollout_file import RolloutFile  # noqa: PLC0415  reading a store needs none

        return RolloutFile(source)

    def is_exported(self, snapshot: Snapshot, event: NewEvent, stored: Event) -> bool:  # noqa: ARG002
        from eventstore.harnesses.codex.rollout_export import exported_line  # noqa: PLC0415  reading a store needs none

        return event.body == exported_line(stored)


FORMAT: Final = CodexFormat()
