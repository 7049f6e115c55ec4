"""Append one durable event to a session of ten thousand."""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import cache
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import lmdb
import msgspec
import pytest

from bench.floor import environment_of
from bench.sessions import entry_id, result_message, session_file
from eventstore import open_store
from eventstore.encoding import encode_head
from eventstore.files.importing import import_file
from eventstore.frame import body_of
from eventstore.harnesses.refold.events import compose
from eventstore.lmdb.data_files import StoreFiles
from eventstore.lmdb.keys import holder_key
from eventstore.records import MessageRecord

GROUP = "append"
BEHIND = 10_000
TURNS = 5
ROUNDS = 500
COUNTED = 50
TABLES = {"events", "holders", "ids", "positions"}
"""The tables that an append adds a row to; it also updates the head in `sessions`."""
PYTHON = "append-python"
ONE_ROW = "one row"
TREES = {
    ONE_ROW: (),
    "event and head": ("sessions",),
    "event and id": ("ids",),
    "event and position": ("positions",),
    "event and holder": ("holders",),
    "same rows": ("holders", "ids", "positions", "sessions"),
}
"""The tables beside `events` that LMDB alone writes a row to; `ONE_ROW` has the bytes of all rows in one."""

# A disk's speed varies within seconds, so contenders take turns, and a ratio compares neighbours.
pytestmark = pytest.mark.parametrize("turn", range(TURNS), scope="module")


def pages_written():
    """Return the number of pages that this process has written, None where the system does not count."""
    try:
        counters = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    except OSError:
        return None
    return int(counters["wchar"]) / 4096


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
        return {name: transaction.stat(db)["entries"] for name, db in msgspec.structs.asdict(tables).items()}


def test_refold_appends(measure, log_of, events):
    log = log_of("refold")
    name, before = head_of(log).name, rows(log)
    appends = iter(events)
    measure(GROUP, "refold", log.append, rounds=ROUNDS, setup=lambda: ((name, [next(appends)]), {}))
    grown = {table for table, count in rows(log).items() if count > before[table]}
    assert grown == TABLES, "the peer has to write what an append writes"


def writer_of_rows(log, role, end=lmdb.Transaction.commit):
    """Return a function that writes a value to the tables of a role, and ends the transaction with `end`."""
    env, dbs = environment_of(log)
    head = head_of(log)
    number, packed_head = head.number.to_bytes(4, "big"), encode_head(head)

    def write(seq, value):
        place = seq.to_bytes(8, "big")
        others = {
            "holders": (holder_key(number + entry_id(seq).encode()), b""),
            "ids": (number + entry_id(seq).encode(), place),
            "positions": (place, number + place),
            "sessions": (b"h" + number, packed_head),
        }
        if role == ONE_ROW:
            value += b"".join(key + row for key, row in others.values())
        transaction = env.begin(write=True)
        transaction.put(number + place, value, db=dbs.events)
        for table in TREES[role]:
            transaction.put(*others[table], db=getattr(dbs, table), append=table == "positions")
        end(transaction)

    return write


@pytest.mark.parametrize("role", TREES)
def test_lmdb_writes_rows(measure, log_of, events, turn, role):
    log = log_of(role)
    values = values_like(log, events, turn)
    measure(GROUP, role, writer_of_rows(log, role), rounds=ROUNDS, setup=lambda: (next(values), {}))


@pytest.mark.skipif(pages_written() is None, reason="this system does not count what a process writes")
@pytest.mark.parametrize("role", TREES)
def test_pages_that_each_tree_costs(benchmark, log_of, events, turn, role):
    log = log_of(f"{role}, counted")
    write, values = writer_of_rows(log, role), values_like(log, events, turn)
    before = pages_written()
    for seq, value in islice(values, COUNTED):
        write(seq, value)
    benchmark.extra_info.update(role=role, pages=round((pages_written() - before) / COUNTED, 2))
    benchmark.group = "append-pages"
    benchmark.pedantic(lambda: None, rounds=1)


def test_refold_does_all_but_commit(measure, log_of, events, monkeypatch):
    """Append and abort, after all checks: what is left of an append is the commit."""
    log = log_of("refold")
    name, commit = head_of(log).name, StoreFiles.commit

    def abort(files, env, transaction):
        commit(files, env, SimpleNamespace(id=transaction.id, commit=transaction.abort))

    monkeypatch.setattr(StoreFiles, "commit", abort)
    appends = iter(events)
    measure(PYTHON, "refold", log.append, rounds=ROUNDS, setup=lambda: ((name, [next(appends)]), {}))


def test_lmdb_puts_the_same_rows_without_a_commit(measure, log_of, events, turn):
    log = log_of("same rows")
    values = values_like(log, events, turn)
    write = writer_of_rows(log, "same rows", lmdb.Transaction.abort)
    measure(PYTHON, "puts", write, rounds=ROUNDS, setup=lambda: (next(values), {}))


def test_a_file_gets_a_line(measure, tmp_path, events):
    flush = getattr(os, "fdatasync", os.fsync)
    lines = (event.body + b"\n" for event in events)
    with (tmp_path / "session.jsonl").open("ab", buffering=0) as file:

        def write(line):
            file.write(line)
            flush(file.fileno())

        measure(GROUP, "line", write, rounds=ROUNDS, setup=lambda: ((next(lines),), {}))
