"""Measure large numbers of events, writers, branches, compactions and sessions.

Also measure the memory that a large file takes.
"""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import msgspec
import pytest

from bench.floor import environment_of
from bench.sessions import result_message, session_file
from eventstore import open_store
from eventstore.frame import body_of
from eventstore.harnesses.refold.events import compose
from eventstore.records import Compaction, MessageRecord
from projections.context.build import context_json
from projections.overview import overviews
from projections.timeline import timeline
from projections.tree import tree

WRITERS = 8
EACH = 40
DEEP = 5_000
COMPACTIONS = 1_000
SESSIONS = 2_000
IMPORT = """
import sys
from eventstore import import_file, open_store
with open_store(sys.argv[1]) as log:
    import_file(log, sys.argv[2])
"""
VERIFY = """
import sys
from eventstore import open_store
from eventstore.verify import verify
with open_store(sys.argv[1]) as log:
    assert not verify(log).findings
"""
SEARCH = """
import sys
from eventstore import open_store
from projections.search import search
from projections.search.words import Query
with open_store(sys.argv[1]) as log:
    assert search(log, sys.argv[1], Query("the"), limit=20)
"""


def message(number, parent=None, **names):
    raw = msgspec.Raw(msgspec.json.encode(result_message(number)))
    where = {} if parent is None else {"parent": parent}
    return compose(MessageRecord(message=raw), id=f"{number:08x}", time=number, **where, **names)


@pytest.fixture
def log(tmp_path):
    with open_store(tmp_path / "store") as log:
        yield log


@pytest.mark.parametrize("size", [10, 100, 1000])
def test_refold_appends_in_batches(measure, log, size):
    numbers = count()
    batches = iter([[message(next(numbers)) for _ in range(size)] for _ in range(20)])
    measure(f"batch-{size}", "refold", lambda: log.append("s", next(batches)), rounds=20)


@pytest.mark.parametrize("size", [10, 100, 1000])
def test_lmdb_writes_the_same_events_in_batches(measure, log, size):
    env, tables = environment_of(log)
    numbers = count(1)
    bodies = [bytes(message(number).body) for number in range(size)]

    def write():
        with env.begin(write=True) as transaction:
            for body in bodies:
                transaction.put(next(numbers).to_bytes(12, "big"), body, db=tables.events, append=True)

    measure(f"batch-{size}", "floor", write, rounds=20)


@pytest.mark.parametrize("durability", ["each", "batch"])
def test_eight_threads_append(measure, tmp_path, durability):
    with open_store(tmp_path / "store", durability=durability) as log, ThreadPoolExecutor(WRITERS) as pool:
        rounds = count()

        def work(writer, turn):
            for number in range(EACH):
                log.append(f"s{writer}", [message(turn * EACH + number)])

        def run():
            turn = next(rounds)
            list(pool.map(lambda writer: work(writer, turn), range(WRITERS)))

        measure("eight-writers", "refold" if durability == "batch" else "each", run, rounds=5)
        with log.snapshot() as snapshot:
            assert {head.version for head in snapshot.heads()} == {next(rounds) * EACH}


def test_a_full_fold_to_a_tree(measure, made):
    stored = made(10_000, 60)
    with open_store(stored.store) as log:
        measure("full-fold", "refold", tree, log, stored.session, rounds=5)


def test_a_timeline(measure, made):
    stored = made(10_000, 60)
    with open_store(stored.store) as log:
        found = measure("timeline", "refold", timeline, log, stored.session, rounds=5)
        assert len(found.moments) == 10_000


@pytest.mark.parametrize("group", ["full-fold", "timeline"])
def test_a_walk_over_all_bodies(measure, made, group):
    stored = made(10_000, 60)
    with open_store(stored.store) as log, log.snapshot() as snapshot:

        def walk():
            return sum(len(body_of(frame)) for frame in snapshot.frames(stored.session))

        measure(group, "floor", walk, rounds=5)


def test_a_context_in_a_tree_that_branches_at_every_entry(measure, log):
    """Walk a path without adjacent entries in the log."""
    events = [message(0)]
    for number in range(2, DEEP, 2):
        parent = f"{number - 2:08x}"
        events += [message(number - 1, parent), message(number, parent)]
    log.append("s", events)
    found = measure("deep-tree", "refold", context_json, log, "s", rounds=20)
    assert found.count(b'"role"') == len(events) // 2 + 1


def test_the_same_entries_in_one_run(measure, log):
    log.append("s", [message(number) for number in range(DEEP // 2)])
    measure("deep-tree", "run", context_json, log, "s", rounds=20)


def test_a_context_behind_a_thousand_compactions(measure, log):
    events = []
    for number in range(COMPACTIONS):
        events += [message(2 * number), message(2 * number + 1)]
        record = Compaction(summary="s", first_kept_entry_id=events[-1].id, tokens_before=1)
        events.append(compose(record, id=f"c{number}", time=number))
    log.append("s", events)
    found = measure("compactions", "refold", context_json, log, "s", rounds=200)
    assert found.count(b'"role"') == 2


def test_a_context_behind_one_compaction(measure, log):
    record = Compaction(summary="s", first_kept_entry_id=f"{1:08x}", tokens_before=1)
    log.append("s", [message(0), message(1), compose(record, id="c", time=1)])
    measure("compactions", "one", context_json, log, "s", rounds=200)


def test_heads_of_sessions_by_the_thousand(measure, log):
    for number in range(SESSIONS):
        log.append(f"session {number}", [message(number)])
    found = measure("sessions", "refold", lambda: _heads(log), rounds=20)
    assert len(found) == SESSIONS


@pytest.mark.parametrize("role", ["refold", "heads"])
def test_the_figures_of_sessions_by_the_thousand(measure, log, role):
    """Once they are cached, figures are listed in a few times the time of reading heads."""
    for number in range(SESSIONS):
        log.append(f"session {number}", [message(number)])
    overviews(log)
    listed = overviews if role == "refold" else _heads
    assert len(measure("overviews", role, listed, log, rounds=20)) == SESSIONS


def test_the_rows_of_sessions_by_the_thousand(measure, log):
    for number in range(SESSIONS):
        log.append(f"session {number}", [message(number)])
    env, tables = environment_of(log)

    def read():
        with env.begin() as transaction:
            return list(transaction.cursor(tables.sessions))

    measure("sessions", "floor", read, rounds=20)


def _heads(log):
    with log.snapshot() as snapshot:
        return list(snapshot.heads())


@pytest.mark.parametrize(("what", "script"), [("import", IMPORT), ("verify", VERIFY), ("search", SEARCH)])
@pytest.mark.slow
def test_memory_does_not_follow_the_file(benchmark, tmp_path, what, script):
    """Measure the peak private memory for files of 23 MB and 230 MB."""
    sizes = {}
    for events in (10_000, 100_000):
        file, store = session_file(events, 60), tmp_path / str(events)
        if what != "import":
            _peak(IMPORT, store, file)
        sizes[events] = _peak(script, store, file)
    benchmark.group = f"memory-{what}"
    benchmark.extra_info.update(role="refold", peak={str(events): size for events, size in sizes.items()})
    benchmark.pedantic(lambda: None, rounds=1)
    assert sizes[100_000] < sizes[10_000] * 5


WATCH = """
import threading
peak = 0
def watch():
    global peak
    while not done.wait(0.002):
        with open("/proc/self/status") as status:
            peak = max(peak, next(int(line.split()[1]) for line in status if line.startswith("RssAnon")))
done = threading.Event()
watcher = threading.Thread(target=watch)
watcher.start()
"""
"""Measures private memory in kilobytes; the kernel can reclaim the map's pages."""


def _peak(script, *arguments):
    code = f"{WATCH}\n{script}\ndone.set()\nwatcher.join()\nprint(peak)"
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], check=True, capture_output=True, text=True
    )
    return int(done.stdout)
