"""The log on disk beyond what every log promises: lasting, growing, sharing, forking, dying, old frames."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import lmdb
import pytest

from eventstore import open_store
from eventstore.chain import payload_digest
from eventstore.errors import CorruptionError, EventConflictError, StoreError
from eventstore.lmdb.environment import Durability
from eventstore.lmdb.opening import translated
from eventstore.lmdb.store import LmdbLog
from eventstore.verify import verify
from tests.support.events import NOW, decision, event, events, frames, message, path_ids, version
from tests.support.patience import PATIENCE
from tests.support.processes import output_of, start
from tests.support.tampering import event_key, tables

MEGABYTE = 1 << 20

APPEND_MUCH = """
import sys
from eventstore import open_store
from tests.support.events import event
with open_store(sys.argv[1]) as log:
    for number in range(int(sys.argv[3])):
        log.append("s", [event(f"{sys.argv[2]}{number}", data="x" * int(sys.argv[4]))])
"""

APPEND_FOR_EVER = """
import itertools, sys
from eventstore import open_store
from tests.support.events import event
with open_store(sys.argv[1]) as log:
    for number in itertools.count():
        log.append("s", [event(f"e{number}-{part}", data="x" * 3000) for part in range(5)])
        print(number, flush=True)
"""

USE_AFTER_FORK = """
import os, sys
from eventstore import open_store
from eventstore.errors import StoreError
from tests.support.events import message
log = open_store(sys.argv[1])
log.append("s", [message("a")])
if os.fork() == 0:
    for use in (lambda: log.append("s", [message("b")]), lambda: log.snapshot().__enter__()):
        try:
            use()
        except StoreError as error:
            print("fork" in error.problem)
    log.close()
    with open_store(sys.argv[1]) as reopened:
        print(reopened.append("s", [message("c")]).version)
    sys.stdout.flush()
    os._exit(0)
os.wait()
print(log.append("s", [message("d")]).version)
"""


def run_all(works: list[Callable[[], object]]) -> list[BaseException]:
    """Run each in a thread of its own, all at once; what they raised."""
    errors: list[BaseException] = []
    gate = threading.Barrier(len(works))

    def run(work: Callable[[], object]) -> None:
        gate.wait()
        try:
            work()
        except BaseException as error:  # noqa: BLE001  the test looks at it
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


class TestLasting:
    def test_what_was_appended_is_there_after_reopening(self, tmp_path: Path) -> None:
        with open_store(tmp_path / "store", clock=lambda: NOW) as log:
            log.append("s", [message("a"), decision("d"), message("b")], blobs=[b"payload"], source="file")
            log.keep([(b"key", b"value")])
            before = frames(log, "s")
            with log.snapshot() as snapshot:
                head = snapshot.head("s")
        with open_store(tmp_path / "store") as log, log.snapshot() as snapshot:
            assert [bytes(frame) for frame in snapshot.frames("s")] == before
            assert list(snapshot.heads()) == [head]
            assert snapshot.blob(payload_digest(b"payload")) == b"payload"
            assert snapshot.derived(b"key") == b"value"
            assert len(list(snapshot.feed())) == 3

    def test_numbers_go_on_after_reopening(self, tmp_path: Path) -> None:
        for name in ("a", "b", "c"):
            with open_store(tmp_path / "store") as log:
                log.append("s", [message(name)])
                log.append(name, [message("first")])
        with open_store(tmp_path / "store") as log, log.snapshot() as snapshot:
            assert [item.position for item in snapshot.feed()] == [1, 2, 3, 4, 5, 6]
            assert [head.number for head in snapshot.heads()] == [2, 3, 4, 1]
            assert path_ids(log, "s", "c") == ["a", "b", "c"]

    @pytest.mark.parametrize(
        "use",
        [
            lambda log: log.append("s", [message("a")]),
            lambda log: log.keep([(b"k", b"v")]),
            lambda log: log.snapshot().__enter__(),
        ],
    )
    def test_a_closed_store_says_that_it_is_closed(
        self, store: LmdbLog, use: Callable[[LmdbLog], object]
    ) -> None:
        store.close()
        with pytest.raises(StoreError) as refused:
            use(store)
        assert refused.value.path == str(store.path)

    def test_leaving_the_with_block_closes_the_store(self, tmp_path: Path) -> None:
        with open_store(tmp_path / "store") as log:
            pass
        with pytest.raises(StoreError):
            log.append("s", [message("a")])


class TestGrowing:
    @pytest.mark.parametrize("durability", ["each", "batch"])
    def test_a_map_that_is_too_small_grows(self, tmp_path: Path, durability: Durability) -> None:
        with LmdbLog(tmp_path / "store", map_size=MEGABYTE, durability=durability) as log:
            for number in range(8):
                log.append("s", [event(f"e{number}", data="x" * MEGABYTE)])
            assert version(log, "s") == 8
            assert verify(log).findings == []

    def test_one_append_may_be_larger_than_the_map(self, tmp_path: Path) -> None:
        with LmdbLog(tmp_path / "store", map_size=MEGABYTE) as log:
            log.append("s", [event(f"e{number}", data="x" * MEGABYTE) for number in range(5)])
            assert version(log, "s") == 5

    def test_a_store_larger_than_the_map_that_is_asked_for_opens(self, tmp_path: Path) -> None:
        with LmdbLog(tmp_path / "store", map_size=MEGABYTE) as log:
            log.append("s", [event("a", data="x" * 5 * MEGABYTE)])
        with LmdbLog(tmp_path / "store", map_size=MEGABYTE) as log:
            log.append("s", [event("b", data="x" * 5 * MEGABYTE)])
            assert version(log, "s") == 2

    def test_a_map_does_not_grow_under_an_open_snapshot(self, tmp_path: Path) -> None:
        with LmdbLog(tmp_path / "store", map_size=MEGABYTE) as log:
            with log.snapshot() as snapshot:
                with pytest.raises(StoreError) as refused:
                    log.append("s", [event("a", data="x" * 5 * MEGABYTE)])
                assert "snapshots" in refused.value.remedy
                assert list(snapshot.heads()) == []
            assert log.append("s", [event("a", data="x" * 5 * MEGABYTE)]).version == 1

    @pytest.mark.slow
    def test_a_map_that_another_process_has_grown_is_followed(self, tmp_path: Path) -> None:
        with LmdbLog(tmp_path / "store", map_size=MEGABYTE) as log:
            log.append("s", [message("a")])
            output_of(APPEND_MUCH, tmp_path / "store", "other", "3", str(MEGABYTE))
            assert version(log, "s") == 4
            assert log.append("s", [event("b", data="x" * 3 * MEGABYTE)]).version == 5


class TestSharing:
    @pytest.mark.parametrize("durability", ["each", "batch"])
    def test_threads_may_append_at_once(self, tmp_path: Path, durability: Durability) -> None:
        with open_store(tmp_path / "store", durability=durability) as log:

            def work(name: str) -> None:
                for number in range(20):
                    log.append(f"s{number % 2}", [message(f"{name}{number}"), message(f"{name}{number}b")])

            assert run_all([lambda name=name: work(name) for name in "abcd"]) == []
            with log.snapshot() as snapshot:
                assert [head.version for head in snapshot.heads()] == [80, 80]
                assert [item.position for item in snapshot.feed()] == list(range(1, 161))
            assert verify(log).findings == []

    def test_threads_may_read_while_another_appends(self, store: LmdbLog) -> None:
        store.append("s", [message("first")])

        def read() -> None:
            for _ in range(100):
                found = events(store, "s")
                assert [one.seq for one in found] == list(range(1, len(found) + 1))

        def write() -> None:
            for number in range(50):
                store.append("s", [message(f"e{number}")])

        assert run_all([read, read, write]) == []

    @pytest.mark.parametrize("bad", [message("taken", "otherwise"), message("far", time=2**80)])
    def test_an_append_that_fails_takes_no_other_along(self, tmp_path: Path, bad: object) -> None:
        with open_store(tmp_path / "store", durability="batch") as log:
            log.append("s", [message("taken")])
            good = [lambda n=n: log.append("s", [message(f"e{n}")]) for n in range(8)]
            errors = run_all([*good, lambda: log.append("s", [message("x"), bad]), *good])
            assert len(errors) == 1
            assert version(log, "s") == 9
            with log.snapshot() as snapshot:
                assert snapshot.locate("s", "x") == 0

    def test_an_append_alone_in_its_batch_raises_what_is_wrong(self, tmp_path: Path) -> None:
        with open_store(tmp_path / "store", durability="batch") as log:
            log.append("s", [message("a")])
            with pytest.raises(EventConflictError):
                log.append("s", [message("a", "other")])

    @pytest.mark.slow
    def test_processes_may_append_at_once(self, tmp_path: Path) -> None:
        with open_store(tmp_path / "store"):
            pass
        running = [start(APPEND_MUCH, tmp_path / "store", name, "30", "10") for name in ("a", "b")]
        for process in running:
            _, errors = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, errors
        with open_store(tmp_path / "store") as log:
            assert version(log, "s") == 60
            assert verify(log).findings == []

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system knows no fork")
    def test_a_store_is_not_used_across_a_fork(self, tmp_path: Path) -> None:
        lines = output_of(USE_AFTER_FORK, tmp_path / "store").splitlines()
        assert lines == ["True"] * 2 + ["2", "3"]

    @pytest.mark.slow
    def test_a_process_killed_while_it_appends_leaves_whole_appends(self, tmp_path: Path) -> None:
        process = start(APPEND_FOR_EVER, tmp_path / "store")
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) >= 20:
                break
        process.kill()
        process.communicate()
        with open_store(tmp_path / "store", create=False) as log:
            found = version(log, "s")
            assert found >= 100
            assert found % 5 == 0
            assert verify(log).findings == []


class TestMissingEvents:
    def test_events_of_another_session_are_never_served_in_their_place(self, tmp_path: Path) -> None:
        with open_store(tmp_path / "store") as log:
            log.append("s", [message("a"), message("b")])
            log.append("t", [message("c")])
        with tables(tmp_path / "store") as changing:
            changing.delete("events", event_key(1, 2))
        with open_store(tmp_path / "store") as log, log.snapshot() as snapshot:
            with pytest.raises(CorruptionError):
                list(snapshot.frames("s", backward=True))
            with pytest.raises(CorruptionError):
                list(snapshot.frames("s", first=2))


class TestErrors:
    """Check that every error of LMDB becomes a StoreError with a remedy, in any operation."""

    @pytest.mark.parametrize("done", ["opened", "read", "written"])
    @pytest.mark.parametrize(
        "name",
        [name for name in dir(lmdb) if isinstance(getattr(lmdb, name), type) and name.endswith("Error")],
    )
    def test_every_error_of_lmdb_has_a_remedy(self, name: str, done: str) -> None:
        kind: type[lmdb.Error] = getattr(lmdb, name)
        found = translated("store", done, kind("mdb_thing", "it says so"))
        assert found.path == "store"
        assert found.problem
        assert found.remedy
        assert "\n" not in str(found)

    @pytest.mark.parametrize(
        "use",
        [
            lambda log: log.append("s", [message("a")]),
            lambda log: log.keep([(b"k", b"v")]),
            lambda log: log.snapshot().__enter__(),
            lambda log: log.size(),
            lambda log: log.copy_to("copy"),
        ],
    )
    def test_an_error_that_begins_a_transaction_is_reported(
        self, store: LmdbLog, monkeypatch: pytest.MonkeyPatch, use: Callable[[LmdbLog], object]
    ) -> None:
        class Broken:
            def __init__(self, env: lmdb.Environment) -> None:
                self._env = env

            def begin(self, **_: object) -> None:
                raise lmdb.PanicError("mdb_txn_begin", "it is broken")

            def __getattr__(self, name: str) -> object:
                return getattr(self._env, name)

        assert store._shared.env is not None
        monkeypatch.setattr(store._shared, "env", Broken(store._shared.env))
        with pytest.raises(StoreError):
            use(store)
        monkeypatch.undo()
        assert store.append("s", [message("b")]).version == 1
