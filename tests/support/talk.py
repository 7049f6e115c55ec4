"""Make messages in pi's shape, and write sessions of them to a log or a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, Final

from eventstore import EventLog, Parent
from eventstore.event import Event
from eventstore.files.importing import import_file
from eventstore.frame import decode
from eventstore.harnesses.refold.events import compose
from eventstore.records import ObservedRewrite, Record
from eventstore.writing import SessionWriter
from projections.context.parts import Context
from tests.support.pi_files import SESSION, header, line

Json = dict[str, Any]
_PREVIOUS: Final = Parent.LEAF


def text(said: str) -> Json:
    return {"type": "text", "text": said}


def thinking(thought: str, **fields: Any) -> Json:
    return {"type": "thinking", "thinking": thought, **fields}


def image(data: str = "QUJD") -> Json:
    return {"type": "image", "data": data, "mimeType": "image/png"}


def call(tool: str, call_id: str = "c1", **arguments: Any) -> Json:
    return {"type": "toolCall", "id": call_id, "name": tool, "arguments": arguments}


def user(content: str | list[Json]) -> Json:
    return {"role": "user", "content": content}


def assistant(*blocks: str | Json, tokens: int | None = None, stop: str = "stop", **fields: Any) -> Json:
    """An assistant's message; `tokens` is what its provider says that the context has then, 7 of them output."""
    usage = {} if tokens is None else {"usage": {"input": tokens - 7, "output": 7, "totalTokens": tokens}}
    content = [text(block) if isinstance(block, str) else block for block in blocks]
    return {
        "role": "assistant",
        "content": content,
        "provider": "p",
        "model": "m",
        "stopReason": stop,
        **usage,
        **fields,
    }


def result(*blocks: str | Json, tool: str = "bash", call_id: str = "c1", is_error: bool = False) -> Json:
    content = [text(block) if isinstance(block, str) else block for block in blocks]
    return {
        "role": "toolResult",
        "toolCallId": call_id,
        "toolName": tool,
        "content": content,
        "isError": is_error,
    }


def shell(command: str, output: str = "", **fields: Any) -> Json:
    return {"role": "bashExecution", "command": command, "output": output, "exitCode": 0, **fields}


class PiSession:
    """A pi session in the making. Its entries are a second apart, and follow each other unless told otherwise."""

    def __init__(self, version: int = 3) -> None:
        self._lines = [header(version)]
        self._leaf: str | None = None
        self._number = 0

    def entry(self, event_id: str, kind: str, *, parent: Any = _PREVIOUS, **fields: Any) -> str:
        above = self._leaf if parent is _PREVIOUS else parent
        self._number += 1
        time = f"2025-12-08T22:{self._number // 60:02}:{self._number % 60:02}.000Z"
        names = {"type": kind, "id": event_id, "parentId": above, "timestamp": time}
        self._lines.append(line({**names, **fields}))
        self._leaf = event_id
        return event_id

    def says(self, event_id: str, message: Json, *, parent: Any = _PREVIOUS) -> str:
        return self.entry(event_id, "message", parent=parent, message=message)

    def compacts(self, event_id: str, first_kept: str, **fields: Any) -> str:
        given = {"summary": "a summary", "firstKeptEntryId": first_kept, "tokensBefore": 10, **fields}
        return self.entry(event_id, "compaction", **given)

    def store_in(self, log: EventLog, folder: Path) -> str:
        """Import the session so far; its name."""
        path = folder / "session.jsonl"
        path.write_bytes(b"".join(self._lines))
        return import_file(log, path).id


class Story:
    """A session that is written to a log: ids are e1, e2, …, an entry a second."""

    def __init__(self, log: EventLog, session: str = "s") -> None:
        self.log, self.session = log, session
        ids, seconds = count(1), count(1)
        self.writer = SessionWriter(
            log, session, clock=lambda: next(seconds) * 1000, new_id=lambda: f"e{next(ids)}"
        )

    def says(self, *messages: Json) -> list[str]:
        return [self.writer.message(message) for message in messages]

    def add(self, *records: Record, **options: Any) -> str:
        """Append records, and give the id of the last."""
        return self.writer.append(*records, **options)[-1]

    def observes(self, record: ObservedRewrite) -> None:
        """Append an observed rewrite, as an import does for a record that its harness changed."""
        with self.log.snapshot() as snapshot:
            event_id = f"observed-{len(snapshot.head('s').observed)}"
        self.log.append("s", [compose(record, id=event_id, time=0)])

    def __getitem__(self, event_id: str) -> Event:
        with self.log.snapshot() as snapshot:
            frame = snapshot.frame(self.session, snapshot.locate(self.session, event_id))
            return decode(bytes(frame), self.session)


def texts_of(context: Context) -> list[str]:
    """Return each message's text without its role: summary, command, or text of its blocks."""
    return [_said(json.loads(part.raw)) for part in context.parts]


def _said(message: Json) -> str:
    for name in ("summary", "command"):
        if name in message:
            return str(message[name])
    content = message["content"]
    return content if isinstance(content, str) else "|".join(_words(content))


def _words(blocks: list[Json]) -> Iterator[str]:
    for block in blocks:
        yield str(block.get("text") or block.get("thinking") or block.get("name") or block["type"])


__all__ = [
    "SESSION",
    "PiSession",
    "Story",
    "assistant",
    "call",
    "image",
    "result",
    "shell",
    "text",
    "texts_of",
    "thinking",
    "user",
]


def reads_files(story: Story, count: int) -> None:
    """Add the reads of so many files, src/part_0.py and on, each of 400 lines."""
    for number in range(count):
        story.says(
            assistant(call("read", f"c{number}", path=f"src/part_{number}.py")),
            result("def take_line(): ...\n" * 400, tool="read", call_id=f"c{number}"),
        )
