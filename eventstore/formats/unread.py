"""The harnesses whose sessions no format reads yet, and how their files begin. A row goes when its format comes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from eventstore.javascript import tolerant_json

_LINES: Final = 8
_OPENCODE: Final = re.compile(rb'(?:Exporting session: [^\n]*\n)?\s*\{\s*"info"\s*:\s*\{')
_CODEX_TYPES: Final = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_CLAUDE_CODE_NAMES: Final = ("sessionId", "leafUuid")


def _is_opencode(beginning: bytes) -> bool:
    return _OPENCODE.match(beginning) is not None


def _is_codex(beginning: bytes) -> bool:
    return any(
        each["type"] in _CODEX_TYPES and isinstance(each.get("payload"), dict) for each in _records(beginning)
    )


def _is_claude_code(beginning: bytes) -> bool:
    return any(isinstance(each.get(name), str) for each in _records(beginning) for name in _CLAUDE_CODE_NAMES)


def _records(beginning: bytes) -> Iterator[dict[str, Any]]:
    """Yield the objects with a type in the first lines."""
    for line in beginning.split(b"\n")[:_LINES]:
        try:
            record: Any = tolerant_json(line)
        except msgspec.DecodeError:
            continue
        if isinstance(record, dict) and isinstance(record.get("type"), str):
            yield record


_UNREAD: Final[dict[str, Callable[[bytes], bool]]] = {
    "opencode": _is_opencode,
    "Codex": _is_codex,
    "Claude Code": _is_claude_code,
}


def unread_harness(beginning: bytes) -> str:
    """Return the harness whose session a file that begins so looks like; "" for none that is known."""
    return next((name for name, is_written_by in _UNREAD.items() if is_written_by(beginning)), "")
