"""Compare the parts of an import, and of a context's messages, with `json.loads` of the file's texts.

`python -m bench.import_parts FILE…`
"""

from __future__ import annotations

import itertools
import os
import struct
import sys
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any
from zlib import crc32

import lmdb
import msgspec

import refold
from bench.test_import import import_into, parse, parse_by_json, texts
from eventstore.checked import checked
from eventstore.event import NewEvent
from eventstore.files.discovery import open_source
from eventstore.files.importing import import_file, opened_source
from eventstore.files.matching import SessionMatcher
from eventstore.javascript import epoch_ms, lengths
from eventstore.log import AppendResult, StoredLog
from eventstore.memory import MemoryLog
from eventstore.paths import path
from eventstore.records import Resume
from projections.context.build import parts_of

ROUNDS = 7


class _Block(msgspec.Struct):
    text: str | None = None
    thinking: str | None = None
    name: str | None = None
    arguments: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    input: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _Message(msgspec.Struct):
    role: str = ""
    content: str | list[_Block] | None = None


class _Item(msgspec.Struct):
    """An item or event of Codex."""

    type: str = ""
    id: str | None = None
    role: str | None = None
    name: str | None = None
    call_id: str | None = None
    content: Any = None
    summary: Any = None
    arguments: Any = None
    input: Any = None
    output: Any = None
    info: Any = None


class _State(msgspec.Struct):
    status: str = ""
    input: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    output: str | None = None


class _Part(msgspec.Struct):
    type: str = ""
    text: str | None = None
    tool: str | None = None
    state: _State | None = None


class _Document(msgspec.Struct):
    """A message of opencode."""

    info: Any = None
    parts: list[_Part] = []


class _Record(msgspec.Struct):
    type: str = ""
    id: str = ""
    uuid: str = ""
    parentId: str | None = None  # noqa: N815  the harnesses' names
    parentUuid: str | None = None  # noqa: N815
    timestamp: str | None = None
    message: _Message | msgspec.UnsetType = msgspec.UNSET
    payload: _Item | msgspec.UnsetType = msgspec.UNSET
    messages: list[_Document] = []


_decode_record = msgspec.json.Decoder(_Record).decode
_header = struct.Struct("<16H14Q32s").pack
_number = struct.Struct(">Q").pack


class DiscardingLog(MemoryLog):
    """A log that counts what is appended, and keeps one event, because an import asks for its session."""

    version = 0

    def append(self, session: str, events: Sequence[NewEvent], **_: Any) -> AppendResult:
        if not self.version:
            super().append(session, events[:1])
        self.version += len(events)
        return AppendResult(version=self.version, position=self.version, added=len(events))


def digest(file: Path) -> None:
    """Digest the file as a whole and each text, as an import does."""
    whole = sha256()
    for text in texts(file):
        whole.update(text)
        sha256(text).digest()


def store(folder: Path, file: Path) -> None:
    """Store a file with the least work that any importer in Python has.

    Decode what identifies and sizes a record, find its parent, time and message, digest the file and each line in a
    chain, and write a row of header and line, one by id, one by position and one by id for all sessions in one flushed
    transaction. Check, order, recognize and report nothing.
    """
    folder.mkdir()
    digest = bytes(32)
    sha256(file.read_bytes()).digest()
    tables: tuple[Rows, Rows, Rows, Rows] = [], [], [], []
    places = dict[str, int]()
    for number, line in enumerate(texts(file), 1):
        record, key = _decode_record(line), _number(number)
        own, time = record.id or record.uuid or str(number), epoch_ms(record.timestamp)
        parent = places.get(record.parentId or record.parentUuid or "", 0)
        places[own] = number
        name, start = own.encode(), max(0, line.find(b'"message":'))
        units, size = _sizes(record)
        digest = sha256(digest + name + sha256(line).digest()).digest()
        header = _header(*range(24), parent, units, size, start, (time or 0), number, digest) + name
        frame = b"".join((header, crc32(header).to_bytes(4, "little"), line))
        rows = (key, frame), (name, key), (key, key), (crc32(name).to_bytes(4, "big"), b"")
        for table, row in zip(tables, rows, strict=True):
            table.append(row)
    with lmdb.open(os.fspath(folder), map_size=1 << 36, max_dbs=len(tables), lib_version=0) as environment:
        opened = [environment.open_db(b"%d" % number) for number in range(len(tables))]
        with environment.begin(write=True) as transaction:
            for table, rows in zip(opened, tables, strict=True):
                with transaction.cursor(table) as cursor:
                    cursor.putmulti(sorted(dict(rows).items()), append=True)


Rows = list[tuple[bytes, bytes]]


def _sizes(record: _Record) -> tuple[int, int]:
    """Return the UTF-16 units and bytes of a record's texts."""
    message = record.message
    found = message.content if isinstance(message, _Message) else None
    units = size = 0
    for block in found if isinstance(found, list) else ():
        utf16, utf8 = lengths(block.text or block.thinking or "")
        units, size = units + utf16, size + utf8
    return units, size


def read(file: Path) -> None:
    """Make the events of the file, with their facts and the digests of their bodies."""
    with opened_source(file) as source:
        matcher = SessionMatcher(MemoryLog(), source, open_source(source), None)
        for _ in matcher.reader(Resume(offset=0, digest="", line=1)).pieces():
            pass


def import_nowhere(file: Path) -> None:
    """Import the file into a log that keeps nothing."""
    import_file(DiscardingLog(), file)


def least_messages(log: StoredLog, session: str) -> list[Any]:
    """Return the messages of a session without compactions with the least work that `messages()` promises.

    Check each event, decode each record once, note which event each message comes from, encode, decode.
    """
    messages, parts = [], []
    with checked(log) as snapshot:
        for entry in path(snapshot, session, snapshot.head(session).leaf):
            record = _decode_record(entry.body)
            message = record.message or record.payload
            if isinstance(message, _Message | _Item) and message.content is not None:
                messages.append(message)
                parts += parts_of(entry)
    found: list[Any] = msgspec.json.decode(msgspec.json.encode(messages))
    return found


def main() -> None:
    with TemporaryDirectory() as folder, refold.open(Path(folder) / "messages") as kept:
        sessions = {file: kept.import_file(file) for file in map(Path, sys.argv[1:])}
        fresh = (Path(folder) / str(number) for number in itertools.count())
        parts: dict[str, Callable[[Path], None]] = {
            "json.loads": parse_by_json,
            "msgspec": parse,
            "digests": digest,
            "least": lambda file: store(next(fresh), file),
            "read": read,
            "without append": import_nowhere,
            "import": lambda file: import_into(next(fresh), file),
            "least messages": lambda file: least_messages(kept.log, sessions[file].id),
            "messages": lambda file: sessions[file].context().messages(),
        }
        print("| file |" + "".join(f" {part} |" for part in parts))  # noqa: T201  its output is the table
        for file in sessions:
            took: dict[str, list[float]] = {part: [] for part in parts}
            for _, (part, run) in itertools.product(range(ROUNDS), parts.items()):
                start = process_time()
                run(file)
                took[part].append(process_time() - start)
            unit = min(took["json.loads"])
            ratios = [f" {min(times) / unit:.2f} × |" for times in took.values()]  # noqa: RUF001  as docs write ratios
            print(f"| {file.name} |", f"{unit * 1e3:.1f} ms |", "".join(ratios[1:]))  # noqa: T201


if __name__ == "__main__":
    main()
