"""Append one durable event to a session of ten thousand."""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import cache

import msgspec
import pytest

from bench.floor import environment_of
from bench.sessions import entry_id, result_message, session_file
from eventstore import open_store
from eventstore.files.importing import import_file
from eventstore.formats.refold.events import compose
from eventstore.frame import body_of
from eventstore.records import MessageRecord

GROUP = "append"
BEHIND = 10_000
TURNS = 8
ROUNDS = 500
TABLES = {"events", "ids", "positions"}
"""The tables that an append adds a row to; it also updates the head in `sessions`."""

# A disk's speed varies within seconds, so contenders take turns, and a ratio compares neighbours.
pytestmark = pytest.mark.parametrize("turn", range(TURNS), scope="module")


@pytest.fixture(scope="module")
def composed():
    """Return events as refold composes them."""
    return [
        compose(
            MessageRecord(message=msgspec.Raw(msgspec.json.encode(result_message(number)))),
            id=entry_id(number),
            time=number,
        )
        for number in range(BEHIND, BEHIND + TURNS * ROUNDS)
    ]


@pytest.fixture
def events(composed, turn):
    """Return this turn's events."""
    return composed[turn * ROUNDS :][:ROUNDS]


@pytest.fixture(scope="module")
def log_of(tmp_path_factory):
    """Return a function from a contender to its own store, which grows from turn to turn."""
    with ExitStack() as stack:

        @cache
        def made(contender):
            log = stack.enter_context(open_store(tmp_path_factory.mktemp(contender) / "store"))
            import_file(log, session_file(BEHIND, 60))
            return log

        yield made


def head_of(log):
    with log.snapshot() as snapshot:
        return next(snapshot.heads())


def values_like(log, events, turn):
    """Map sequence numbers to values of the sizes that the log would store, in order."""
    head = head_of(log)
    with log.snapshot() as snapshot:
        newest = snapshot.frame(head.name, head.leaf)
        overhead = len(newest) - len(body_of(newest))
    first = head.version + 1 + turn * ROUNDS
    return enumerate((bytes(overhead) + event.body for event in events), first)


def rows(log):
    """Count the rows of each table."""
    env, tables = environment_of(log)
    with env.begin() as transaction:
        return {name: transaction.stat(db)["entries"] for name, db in tables._asdict().items()}


def test_refold_appends(measure, log_of, events):
    log = log_of("refold")
    name, before = head_of(log).name, rows(log)
    appends = iter(events)
    measure(GROUP, "refold", log.append, rounds=ROUNDS, setup=lambda: ((name, [next(appends)]), {}))
    grown = {table for table, count in rows(log).items() if count > before[table]}
    assert grown == TABLES, "the peer has to write what an append writes"


def test_lmdb_writes_the_same_rows(measure, log_of, events, turn):
    log = log_of("same-rows")
    env, tables = environment_of(log)
    head = head_of(log)
    number, packed_head = head.number.to_bytes(4, "big"), msgspec.msgpack.encode(head)
    values = values_like(log, events, turn)

    def write(seq, value):
        place = seq.to_bytes(8, "big")
        with env.begin(write=True) as transaction:
            transaction.put(number + place, value, db=tables.events)
            transaction.put(number + entry_id(seq).encode(), place, db=tables.ids)
            transaction.put(place, number + place, db=tables.positions, append=True)
            transaction.put(b"h" + number, packed_head, db=tables.sessions)

    measure(GROUP, "same rows", write, rounds=ROUNDS, setup=lambda: (next(values), {}))


def test_lmdb_writes_one_row(measure, log_of, events, turn):
    log = log_of("one-row")
    env, tables = environment_of(log)
    number = head_of(log).number.to_bytes(4, "big")
    values = values_like(log, events, turn)

    def write(seq, value):
        with env.begin(write=True) as transaction:
            transaction.put(number + seq.to_bytes(8, "big"), value, db=tables.events)

    measure(GROUP, "one row", write, rounds=ROUNDS, setup=lambda: (next(values), {}))


def test_a_file_gets_a_line(measure, tmp_path, events):
    flush = getattr(os, "fdatasync", os.fsync)
    lines = (event.body + b"\n" for event in events)
    with (tmp_path / "session.jsonl").open("ab", buffering=0) as file:

        def write(line):
            file.write(line)
            flush(file.fileno())

        measure(GROUP, "line", write, rounds=ROUNDS, setup=lambda: ((next(lines),), {}))
