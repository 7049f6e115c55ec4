"""Session files of pi, written a line at a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from eventstore import EventLog
from eventstore.files.exporting import export_original
from eventstore.files.importing import ImportResult, import_file

SESSION = "0199aaaa-0000-7000-8000-000000000001"
TIME = "2025-11-20T23:33:50.805Z"
_NOT_GIVEN = object()


def header(version: int | None = 3, *, session: Any = SESSION, **fields: Any) -> bytes:
    """A header line; version 1 has no number in it."""
    numbered = {} if version is None or version == 1 else {"version": version}
    record = {"type": "session", **numbered, "id": session, "timestamp": TIME, "cwd": "/home/user/project"}
    return line({**record, **fields})


def line(record: Any) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def entry(
    event_id: Any = _NOT_GIVEN,
    parent: Any = _NOT_GIVEN,
    kind: Any = "custom",
    *,
    timestamp: Any = TIME,
    **fields: Any,
) -> bytes:
    """An entry's line; without an id and a parent, one of version 1."""
    names = {"id": event_id, "parentId": parent}
    given = {name: value for name, value in names.items() if value is not _NOT_GIVEN}
    return line({"type": kind, **given, "timestamp": timestamp, **fields})


def said(text: str, *names: Any, role: str = "user") -> bytes:
    """A message's line."""
    return entry(*names, kind="message", message={"role": role, "content": text, "timestamp": 1})


def kept(index: Any) -> bytes:
    """A compaction of version 1, which names what it keeps by its place in the file."""
    return entry(kind="compaction", summary="s", firstKeptEntryIndex=index, tokensBefore=9)


def bring(log: EventLog, folder: Path, content: bytes, *, name: str = "session.jsonl") -> ImportResult:
    """Import a file of this content; again under the same name, it has changed in its place."""
    path = folder / name
    path.write_bytes(content)
    return import_file(log, path)


def original(log: EventLog, session: str = SESSION) -> bytes:
    return b"".join(export_original(log, session))
