"""Session files of harnesses whose sessions cannot be imported, told by their shape."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import msgspec

from eventstore.errors import BadInputError
from eventstore.javascript import tolerant_json

_BEGINNING: Final = 64 << 10
"""Bytes of a file that are looked at."""
_LINES: Final = 8
_OPENCODE: Final = re.compile(rb'(?:Exporting session: [^\n]*\n)?\s*\{\s*"info"\s*:\s*\{')
_CODEX: Final = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_OF_CLAUDE_CODE: Final = ("sessionId", "leafUuid")


class ForeignSessionError(BadInputError):
    """A file that looks like a session of another harness."""

    def __init__(self, source: str, harness: str) -> None:
        super().__init__(source, f"looks like a session of {harness}", "only pi's can be imported yet")
        self.harness = harness


def harness_of(path: str) -> str:
    """The harness whose session a file looks like; "" for none that is known, and for what cannot be read."""
    # Reading a pipe that nobody writes to would take for ever.
    if not Path(path).is_file():
        return ""
    try:
        with Path(path).open("rb") as file:
            beginning = file.read(_BEGINNING)
    except OSError:
        return ""
    if _OPENCODE.match(beginning):
        return "opencode"
    return next(filter(None, map(_harness_of_line, beginning.split(b"\n")[:_LINES])), "")


def _harness_of_line(line: bytes) -> str:
    try:
        record: Any = tolerant_json(line)
    except msgspec.DecodeError:
        return ""
    if not isinstance(record, dict):
        return ""
    kind = record.get("type")
    if not isinstance(kind, str):
        return ""
    if kind in _CODEX and isinstance(record.get("payload"), dict):
        return "Codex"
    if any(isinstance(record.get(name), str) for name in _OF_CLAUDE_CODE):
        return "Claude Code"
    return ""
