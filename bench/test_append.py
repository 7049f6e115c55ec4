"""One event, on the disk when the call returns, behind a session of ten thousand."""

from __future__ import annotations

import os

import msgspec
import pytest

from bench.floor import environment_of
from bench.sessions import entry_id, result_message, session_file
from eventstore import open_store
from eventstore.frame import body_of
from eventstore.importing import import_file
from eventstore.records import MessageRecord, compose

GROUP = "append"
ROUNDS = 4000
BEHIND = 10_000
TABLES = {"events", "ids", "positions"}
"""The tables that an append adds a row to; it also writes the session's head in `sessions` anew."""


@pytest.fixture(scope="module")
def events():
    """Events as a producer composes them."""
    return [
        compose(
            MessageRecord(message=msgspec.Raw(msgspec.json.encode(result_message(number)))),
            id=entry_id(number),
            time=number,
        )
        for number in range(BEHIND, BEHIND + ROUNDS)
    ]


@pytest.fixture
def log(tmp_path):
    with open_store(tmp_path / "store") as log:
        import_file(log, session_file(BEHIND, 60))
        yield log


@pytest.fixture
def head(log):
    with log.snapshot() as snapshot:
        return next(snapshot.heads())


@pytest.fixture
def frames(log, head, events):
    """From sequence numbers to values of the sizes that the log would store, in order."""
    with log.snapshot() as snapshot:
        newest = snapshot.frame(head.name, head.leaf)
        overhead = len(newest) - len(body_of(newest))
    return enumerate((bytes(overhead) + event.body for event in events), head.version + 1)


def rows(log):
    """How many rows each table has."""
    env, tables = environment_of(log)
    with env.begin() as transaction:
        return {name: transaction.stat(db)["entries"] for name, db in tables._asdict().items()}


def test_refold_appends(measure, log, head, events):
    before = rows(log)
    appends = iter(events)
    measure(GROUP, "refold", log.append, rounds=ROUNDS, setup=lambda: ((head.name, [next(appends)]), {}))
    grown = {table for table, count in rows(log).items() if count > before[table]}
    assert grown == TABLES, "the peer has to write what an append writes"


def test_lmdb_writes_the_same_rows(measure, log, head, frames):
    env, tables = environment_of(log)
    number = head.number.to_bytes(4, "big")
    packed_head = msgspec.msgpack.encode(head)

    def write(seq, frame):
        place = seq.to_bytes(8, "big")
        with env.begin(write=True) as transaction:
            transaction.put(number + place, frame, db=tables.events)
            transaction.put(number + entry_id(seq).encode(), place, db=tables.ids)
            transaction.put(place, number + place, db=tables.positions, append=True)
            transaction.put(b"h" + number, packed_head, db=tables.sessions)

    measure(GROUP, "same rows", write, rounds=ROUNDS, setup=lambda: (next(frames), {}))


def test_lmdb_writes_one_row(measure, log, head, frames):
    env, tables = environment_of(log)
    number = head.number.to_bytes(4, "big")

    def write(seq, frame):
        with env.begin(write=True) as transaction:
            transaction.put(number + seq.to_bytes(8, "big"), frame, db=tables.events)

    measure(GROUP, "one row", write, rounds=ROUNDS, setup=lambda: (next(frames), {}))


def test_a_file_gets_a_line(measure, tmp_path, events):
    flush = getattr(os, "fdatasync", os.fsync)
    lines = (event.body + b"\n" for event in events)
    with (tmp_path / "session.jsonl").open("ab", buffering=0) as file:

        def write(line):
            file.write(line)
            flush(file.fileno())

        measure(GROUP, "line", write, rounds=ROUNDS, setup=lambda: ((next(lines),), {}))
