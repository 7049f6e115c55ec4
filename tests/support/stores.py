"""Stores of many sessions, made fast: each session is a file that is imported."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from eventstore import open_store
from eventstore.files.importing import import_file
from tests.support.pi_files import header, line
from tests.support.tampering import event_key, tables

MESSAGES = 40


def make_store(path: Path, sessions: int, *, messages: int = MESSAGES, paths: int = 0) -> list[str]:
    """A store of so many sessions; their ids, in order.

    Each has so many messages, half of them before a compaction, which claims to have read so many files.
    """
    names = [f"session-{number:05}" for number in range(sessions)]
    file = path.parent / f"{path.name}.jsonl"
    with open_store(path) as log:
        for name in names:
            file.write_bytes(b"".join(_lines(name, messages, paths)))
            import_file(log, file)
    return names


def damage(path: str | Path, session: int, seq: int) -> None:
    """Cut off the end of what is stored of an event; sessions are numbered from 1, in the order they were made."""
    with tables(path) as stored:
        key = event_key(session, seq)
        stored.put("events", key, stored.get("events", key)[:-20])


def _lines(name: str, messages: int, paths: int) -> Iterator[bytes]:
    yield header(session=name)
    parent = None
    for number in range(messages):
        if number == messages // 2:
            details = {
                "readFiles": [f"src/module_{name}/file_{at}.py" for at in range(paths)],
                "modifiedFiles": [],
            }
            record = {
                "summary": "It went well.",
                "firstKeptEntryId": "",
                "tokensBefore": 9,
                "details": details,
            }
            yield line({"type": "compaction", "id": "c1", "parentId": parent, **record})
            parent = "c1"
        call = {
            "type": "toolCall",
            "id": f"k{number}",
            "name": "read",
            "arguments": {"path": f"src/file_{number % 7}.py"},
        }
        message = {
            "role": "assistant",
            "content": [{"type": "text", "text": "Look at `parse_line`."}, call],
            "provider": "p",
            "model": "m",
            "usage": {"input": 900, "output": 100, "totalTokens": 1000},
        }
        yield line({"type": "message", "id": f"e{number}", "parentId": parent, "message": message})
        parent = f"e{number}"
