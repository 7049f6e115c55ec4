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
from eventstore import open_store
from eventstore.checked import checked
from eventstore.event import NewEvent
from eventstore.files.batching import BATCH_BYTES, BATCH_EVENTS
from eventstore.files.discovery import open_source
from eventstore.files.importing import import_file, opened_source
from eventstore.files.matching import SessionMatcher
from eventstore.harnesses.lines import is_whole_object
from eventstore.javascript import compact_lengths, epoch_ms, lengths
from eventstore.log import AppendResult, StoredLog
from eventstore.memory import MemoryLog
from eventstore.paths import path
from eventstore.records import Resume
from projections.context.build import parts_of

ROUNDS = 7


class _Block(msgspec.Struct, gc=False, omit_defaults=True):
    """A block, item or part of any harness: what is sized of it."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    name: str | None = None
    arguments: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    input: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    content: str | list[_Block] | None = None
    output: str | list[_Block] | None = None
    summary: Any = None
    state: _Block | None = None


class _Message(_Block, gc=False, omit_defaults=True):
    """A message, an item or event of Codex, or the info of an opencode message."""

    id: str | None = None
    role: str | None = None
    call_id: str | None = None


class _Record(msgspec.Struct):
    """A line, or a message of opencode."""

    type: str = ""
    id: str = ""
    uuid: str = ""
    parentId: str | None = None  # noqa: N815  the harnesses' names
    parentUuid: str | None = None  # noqa: N815
    timestamp: str | None = None
    message: msgspec.Raw = msgspec.Raw()
    payload: msgspec.Raw = msgspec.Raw()
    info: msgspec.Raw = msgspec.Raw()
    parts: list[_Block] = []


class _Shown(msgspec.Struct):
    """A line, for its message alone."""

    message: _Message | None = None
    payload: _Message | None = None


class _Export(msgspec.Struct):
    """An export of opencode's."""

    messages: list[msgspec.Raw]


_decode_record = msgspec.json.Decoder(_Record).decode
_decode_shown = msgspec.json.Decoder(_Shown).decode
_decode_message = msgspec.json.Decoder(_Message).decode
_decode_export = msgspec.json.Decoder(_Export).decode
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


class Rows:
    """The rows of a session, made with the least work that any importer in Python has.

    Check that a record is UTF-8 and not too deep, decode what identifies it, find its parent, time and message, decode
    and size that, chain its digest. Compare, order and report nothing.
    """

    def __init__(self) -> None:
        self._digest, self._places = bytes(32), dict[str, int]()

    def add(self, line: bytes) -> tuple[tuple[bytes, bytes], ...]:
        """Return a record's rows: header and line, one by id, one by position, one by id for all sessions."""
        is_whole_object(line)
        number = len(self._places) + 1
        record, key = _decode_record(line), _number(number)
        raw = bytes(record.message or record.payload or record.info)
        message = _decode_message(raw) if raw else _Message()
        own, time = record.id or record.uuid or message.id or str(number), epoch_ms(record.timestamp)
        parent = self._places.get(record.parentId or record.parentUuid or "", 0)
        self._places[own if own not in self._places else str(number)] = number
        name, start = own.encode(), max(0, line.find(raw[:40]))
        units, size = _sizes([message, *record.parts])
        self._digest = sha256(self._digest + name + sha256(line).digest()).digest()
        header = _header(*range(24), parent, units, size, start, (time or 0), number, self._digest) + name
        frame = b"".join((header, crc32(header).to_bytes(4, "little"), line))
        return (key, frame), (name, key), (key, key), (crc32(name).to_bytes(4, "big"), b"")


def store(folder: Path, file: Path) -> None:
    """Digest a file, make its `Rows`, put them in one flushed transaction."""
    folder.mkdir()
    whole, made = file.read_bytes(), Rows()
    sha256(whole).digest()
    records = map(bytes, _decode_export(whole).messages) if file.suffix == ".json" else whole.splitlines()
    tables = list(zip(*map(made.add, records), strict=True))
    with lmdb.open(os.fspath(folder), map_size=1 << 36, max_dbs=len(tables), lib_version=0) as environment:
        opened = [environment.open_db(b"%d" % number) for number in range(len(tables))]
        with environment.begin(write=True) as transaction:
            for table, rows in zip(opened, tables, strict=True):
                with transaction.cursor(table) as cursor:
                    cursor.putmulti(sorted(dict(rows).items()), append=True)


def _sizes(blocks: Sequence[_Block]) -> tuple[int, int]:
    """Return the UTF-16 units and bytes of the texts in some blocks, and of the JSON of calls."""
    units = size = 0
    for block in blocks:
        if text := block.text or block.thinking:
            utf16, utf8 = lengths(text)
            units, size = units + utf16, size + utf8
        call = block.arguments or block.input
        if isinstance(call, msgspec.Raw):
            utf16, utf8 = compact_lengths(call)
            units, size = units + utf16, size + utf8
        for within in block.content, block.output, block.state:
            if within:
                utf16, utf8 = (
                    lengths(within)
                    if isinstance(within, str)
                    else _sizes(within if isinstance(within, list) else [within])
                )
                units, size = units + utf16, size + utf8
    return units, size


def read(file: Path) -> None:
    """Make the events of the file, with their facts and the digests of their bodies."""
    with opened_source(file) as source:
        matcher = SessionMatcher(MemoryLog(), source, open_source(source), None)
        for _ in matcher.reader(Resume(offset=0, digest="", line=1)).pieces():
            pass


def log_alone(folder: Path, file: Path) -> None:
    """Append each text as an event in batches as an import's, without what it says or means; digest the file."""
    whole, batch, size = sha256(), list[NewEvent](), 0
    with open_store(folder) as log:
        for number, text in enumerate(texts(file)):
            whole.update(text)
            if len(batch) >= BATCH_EVENTS or size >= BATCH_BYTES:
                log.append("s", batch)
                batch, size = [], 0
            batch.append(NewEvent(id=str(number), kind="custom", body=text.rstrip(b"\n"), format="pi/3"))
            size += len(text)
        log.append("s", batch)


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
            record = _decode_shown(entry.body)
            message = record.message or record.payload
            if message is not None and message.content is not None:
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
            "log alone": lambda file: log_alone(next(fresh), file),
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
