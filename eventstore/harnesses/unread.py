"""Recognize harnesses whose sessions no format reads yet.

Remove a row when its format comes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from eventstore.harnesses.source import SessionLocation
from eventstore.javascript import tolerant_json

_LINES: Final = 8
_OPENCODE: Final = re.compile(rb'(?:Exporting session: [^\n]*\n)?\s*\{\s*"info"\s*:\s*\{')
_CODEX_TYPES: Final = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})


def _is_opencode(beginning: bytes) -> bool:
    return _OPENCODE.match(beginning) is not None


def _is_codex(beginning: bytes) -> bool:
    return any(
        each["type"] in _CODEX_TYPES and isinstance(each.get("payload"), dict) for each in _records(beginning)
    )


def _records(beginning: bytes) -> Iterator[dict[str, Any]]:
    """Yield the objects with a type in the first lines."""
    for line in beginning.split(b"\n")[:_LINES]:
        try:
            record: Any = tolerant_json(line)
        except msgspec.DecodeError:
            continue
        if isinstance(record, dict) and isinstance(record.get("type"), str):
            yield record


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """A harness without a format: its name, how its files begin, where it keeps them."""

    name: str
    recognizes: Callable[[bytes], bool]
    places: tuple[SessionLocation, ...]


UNREAD: Final = (
    Unread(
        name="opencode",
        recognizes=_is_opencode,
        places=(
            SessionLocation(
                environment={"XDG_DATA_HOME": "opencode"},
                default="~/.local/share/opencode",
                pattern="opencode*.db",
            ),
            SessionLocation(
                environment={"XDG_DATA_HOME": "opencode/storage/session"},
                default="~/.local/share/opencode/storage/session",
                pattern="**/*.json",
            ),
        ),
    ),
    Unread(
        name="Codex",
        recognizes=_is_codex,
        places=tuple(
            SessionLocation(
                environment={"CODEX_HOME": folder},
                default=f"~/.codex/{folder}",
                pattern="**/rollout-*.jsonl*",
            )
            for folder in ("sessions", "archived_sessions")
        ),
    ),
)


def unread_harness(beginning: bytes) -> str:
    """Return the name of the unsupported harness that a file's beginning suggests, "" for none."""
    return next((each.name for each in UNREAD if each.recognizes(beginning)), "")
