"""Appends that share a flush: fewer commits than appends, each durable when it returns, each failing by itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from eventstore import open_store
from eventstore.errors import EventConflictError, NotFoundError, StoreError, VersionConflictError
from eventstore.event import NewEvent
from eventstore.lmdb.appending import Append
from eventstore.lmdb.group_commit import GroupCommit, WriteRequest
from eventstore.lmdb.store import LmdbLog
from eventstore.log import AppendResult, Head
from eventstore.verify import verify
from tests.support.events import NOW, event, events, message, version
from tests.support.patience import PATIENCE, comes
from tests.support.processes import running

KILOBYTE = 1 << 10
LOCATE_WHEN_TOLD = """
import sys
from eventstore import open_store
with open_store(sys.argv[1]) as log:
    for line in sys.stdin:
        with log.snapshot() as snapshot:
            print(snapshot.locate("s", line.strip()), flush=True)
"""


class Caller(threading.Thread):
    """A thread that does one thing, and what came of it."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self.result: Any = None
        self.error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self.result = self._work()
        except BaseException as error:  # noqa: BLE001  the test looks at it
            self.error = error

    def outcome(self) -> Any:
        """The result, or what was raised. A thread that hangs fails the test."""
        self.join(PATIENCE)
        assert not self.is_alive()
        return self.error or self.result


class Disk:
    """Stands for the log: its commits take until they are let go, and it remembers what they held."""

    def __init__(self) -> None:
        self.group: GroupCommit[list[str]] = GroupCommit(self.commit)
        self.commits: list[list[str]] = []
        self.interruptions: list[BaseException] = []
        self.busy = threading.Semaphore(0)
        self.free = threading.Semaphore(0)

    def commit(self, requests: Sequence[WriteRequest[list[str]]]) -> None:
        self.busy.release()
        assert self.free.acquire(timeout=PATIENCE)
        if self.interruptions:
            raise self.interruptions.pop(0)
        written: list[str] = []
        results = [request.write(written) for request in requests]
        self.commits.append(written)
        for request, result in zip(requests, results, strict=True):
            request.succeed(result)

    def call(self, name: str) -> Caller:
        """Write a name from a thread of its own."""

        def write(written: list[str]) -> str:
            written.append(name)
            return name.upper()

        return Caller(lambda: self.group.run(write))

    def wait_until_busy(self) -> None:
        assert self.busy.acquire(timeout=PATIENCE)

    def let_go(self, commits: int = 1) -> None:
        self.free.release(commits)


def wait_for_callers(group: GroupCommit[Any], count: int) -> None:
    """Until so many wait, those whose commit is under way included."""

    def do_wait() -> bool:
        with group._queue:
            return len(group._waiting) == count

    assert comes(do_wait), f"{len(group._waiting)} wait, not {count}"


@pytest.fixture
def disk() -> Disk:
    return Disk()


class TestSharing:
    def test_a_caller_alone_gets_its_result(self, disk: Disk) -> None:
        disk.let_go()
        assert disk.call("a").outcome() == "A"
        assert disk.commits == [["a"]]

    def test_all_who_come_while_the_disk_is_busy_share_the_next_commit(self, disk: Disk) -> None:
        first = disk.call("first")
        disk.wait_until_busy()
        others = [disk.call(f"n{number}") for number in range(7)]
        wait_for_callers(disk.group, 8)
        disk.let_go(2)
        assert first.outcome() == "FIRST"
        assert [other.outcome() for other in others] == [f"N{number}" for number in range(7)]
        assert disk.commits[0] == ["first"]
        assert sorted(disk.commits[1]) == [f"n{number}" for number in range(7)]
        assert len(disk.commits) == 2

    def test_nobody_returns_before_the_commit_that_has_its_write(self, disk: Disk) -> None:
        first = disk.call("first")
        disk.wait_until_busy()
        second = disk.call("second")
        wait_for_callers(disk.group, 2)
        disk.let_go()
        assert first.outcome() == "FIRST"
        disk.wait_until_busy()
        assert second.is_alive()
        disk.let_go()
        assert second.outcome() == "SECOND"

    def test_nothing_is_left_waiting_when_all_have_returned(self, disk: Disk) -> None:
        disk.let_go(9)
        for caller in [disk.call(f"n{number}") for number in range(9)]:
            caller.outcome()
        assert disk.group._waiting == []


class TestInterruptions:
    @pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
    def test_a_caller_who_is_interrupted_while_it_commits_for_all_takes_nobody_along(
        self, disk: Disk, kind: type[BaseException]
    ) -> None:
        first = disk.call("first")
        disk.wait_until_busy()
        others = [disk.call(f"n{number}") for number in range(3)]
        wait_for_callers(disk.group, 4)
        disk.interruptions = [kind()]
        disk.let_go(9)
        assert isinstance(first.outcome(), kind)
        assert sorted(other.outcome() for other in others) == ["N0", "N1", "N2"]
        assert sorted(name for commit in disk.commits for name in commit) == ["n0", "n1", "n2"]

    def test_of_many_who_commit_together_only_the_interrupted_one_fails(self, disk: Disk) -> None:
        first = disk.call("first")
        disk.wait_until_busy()
        others = [disk.call(f"n{number}") for number in range(5)]
        wait_for_callers(disk.group, 6)
        disk.let_go()
        assert first.outcome() == "FIRST"
        disk.wait_until_busy()
        disk.interruptions = [KeyboardInterrupt()]
        disk.let_go(9)
        outcomes = [other.outcome() for other in others]
        failed = [outcome for outcome in outcomes if isinstance(outcome, KeyboardInterrupt)]
        assert len(failed) == 1
        assert len(disk.commits) == 2
        assert sorted(disk.commits[1]) == sorted(each.lower() for each in outcomes if each not in failed)

    def test_a_caller_who_is_interrupted_while_it_waits_writes_nothing_later(self, disk: Disk) -> None:
        class Impatient:
            """A turn whose taking is interrupted."""

            def acquire(self, *, blocking: bool) -> bool:
                del blocking
                raise KeyboardInterrupt

        turn = disk.group._turn
        disk.group._turn = Impatient()  # type: ignore[assignment]
        assert isinstance(disk.call("given up").outcome(), KeyboardInterrupt)
        disk.group._turn = turn
        disk.let_go()
        assert disk.call("next").outcome() == "NEXT"
        assert disk.commits == [["next"]]

    def test_what_fails_all_together_is_tried_one_by_one(self, disk: Disk) -> None:
        first = disk.call("first")
        disk.wait_until_busy()
        others = [disk.call(f"n{number}") for number in range(3)]
        wait_for_callers(disk.group, 4)
        disk.let_go()
        first.outcome()
        disk.wait_until_busy()
        disk.interruptions = [OSError("together"), OSError("one")]
        disk.let_go(4)
        outcomes = [other.outcome() for other in others]
        assert sorted(str(outcome) for outcome in outcomes if isinstance(outcome, OSError)) == ["one"]
        assert len(disk.commits) == 3


@pytest.fixture
def log(tmp_path: Path) -> Iterator[LmdbLog]:
    with open_store(tmp_path / "store", durability="batch", clock=lambda: NOW) as opened:
        yield opened


def commits(log: LmdbLog) -> int:
    number = log._environment().info()["last_txnid"]
    assert isinstance(number, int)
    return number


def run_together(log: LmdbLog, works: Sequence[Callable[[], Any]], *, refused: int = 0) -> list[Any]:
    """Return the outcomes of calls in one transaction: they wait for an append under way.

    So many are refused before they wait.
    """
    assert log._shared.group is not None
    commit, inside, go_on = log._shared.files.commit, threading.Event(), threading.Event()

    def slow_commit(*given: Any) -> None:
        vars(log._shared.files).pop("commit")
        inside.set()
        assert go_on.wait(PATIENCE)
        commit(*given)

    vars(log._shared.files)["commit"] = slow_commit
    first = Caller(lambda: log.append("first", [message("first")]))
    assert inside.wait(PATIENCE)
    callers = [Caller(work) for work in works]
    wait_for_callers(log._shared.group, len(works) + 1 - refused)
    go_on.set()
    assert isinstance(first.outcome(), AppendResult)
    return [caller.outcome() for caller in callers]


def append(log: LmdbLog, *new: NewEvent, **options: Any) -> Callable[[], AppendResult]:
    return lambda: log.append("s", new, **options)


class TestStore:
    def test_eight_threads_take_fewer_commits_than_appends(self, log: LmdbLog) -> None:
        before = commits(log)
        outcomes = run_together(log, [append(log, message(f"e{number}")) for number in range(8)])
        assert sorted(outcome.version for outcome in outcomes) == list(range(1, 9))
        assert commits(log) - before == 2
        assert sorted(event.id for event in events(log, "s")) == [f"e{number}" for number in range(8)]
        assert verify(log).findings == []

    def test_an_append_that_has_returned_is_there_for_every_other_process(
        self, log: LmdbLog, tmp_path: Path
    ) -> None:
        asking = threading.Lock()
        with running(LOCATE_WHEN_TOLD, tmp_path / "store") as other:

            def work(thread: int) -> None:
                for number in range(10):
                    name = f"{thread}.{number}"
                    log.append("s", [message(name)])
                    with asking:
                        assert int(other.ask(name)) > 0

            assert [caller.outcome() for caller in [Caller(lambda n=n: work(n)) for n in range(8)]] == [
                None
            ] * 8
            assert other.finish() == []
        assert version(log, "s") == 80

    def test_no_flag_keeps_lmdb_from_flushing(self, log: LmdbLog) -> None:
        flags = log._environment().flags()
        assert (flags["sync"], flags["metasync"], flags["map_async"], flags["writemap"]) == (
            True,
            True,
            False,
            False,
        )

    @pytest.mark.parametrize(
        ("bad", "options", "error"),
        [
            (message("taken", "otherwise"), {}, EventConflictError),
            (message("bad", parent="nowhere"), {}, NotFoundError),
            (message("bad"), {"expected": 7}, VersionConflictError),
            (message("bad"), {"expected": "new"}, VersionConflictError),
        ],
        ids=[
            "id with other contents",
            "bad parent",
            "stale version",
            "not new",
        ],
    )
    def test_an_append_that_fails_fails_alone(
        self, log: LmdbLog, bad: NewEvent, options: dict[str, Any], error: type[Exception]
    ) -> None:
        log.append("s", [message("taken")])
        before = commits(log)
        works = [append(log, message(f"e{number}")) for number in range(6)]
        works.insert(3, append(log, message("beside"), bad, **options))
        outcomes = run_together(log, works, refused=1)
        assert isinstance(outcomes.pop(3), error)
        assert sorted(outcome.version for outcome in outcomes) == list(range(2, 8))
        assert commits(log) - before == 2
        stored = [event.id for event in events(log, "s")]
        assert stored[0] == "taken"
        assert sorted(stored[1:]) == [f"e{number}" for number in range(6)]
        assert verify(log).findings == []

    def test_of_appends_that_expect_one_version_one_succeeds(self, log: LmdbLog) -> None:
        outcomes = run_together(log, [append(log, message(f"e{n}"), expected="new") for n in range(8)])
        assert (
            sorted(isinstance(outcome, VersionConflictError) for outcome in outcomes) == [False] + [True] * 7
        )
        assert version(log, "s") == 1

    def test_one_append_sent_by_many_is_stored_once(self, log: LmdbLog) -> None:
        outcomes = run_together(log, [append(log, message("same")) for _ in range(8)])
        assert sorted(outcome.added for outcome in outcomes) == [0] * 7 + [1]
        assert version(log, "s") == 1

    def test_what_lmdb_refuses_of_one_caller_takes_nobody_along(self, log: LmdbLog) -> None:
        works: list[Callable[[], Any]] = [append(log, message(f"e{number}")) for number in range(4)]
        works.insert(2, lambda: log.keep([(b"k" * 600, b"value")]))
        outcomes = run_together(log, works)
        assert isinstance(outcomes.pop(2), StoreError)
        assert sorted(outcome.version for outcome in outcomes) == [1, 2, 3, 4]
        assert verify(log).findings == []

    @pytest.mark.parametrize("kind", [MemoryError, RecursionError])
    def test_a_caller_without_memory_takes_nobody_along(
        self, log: LmdbLog, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
    ) -> None:
        def put(made: Append, head: Head) -> None:
            if "e2" in made.numbers:
                raise kind
            put_rows(made, head)

        put_rows = Append._put_rows
        monkeypatch.setattr(Append, "_put_rows", put)
        outcomes = run_together(log, [append(log, message(f"e{number}")) for number in range(5)])
        assert isinstance(outcomes.pop(2), kind)
        assert sorted(outcome.version for outcome in outcomes) == [1, 2, 3, 4]
        assert verify(log).findings == []

    def test_a_caller_interrupted_in_its_write_takes_nobody_along(
        self, log: LmdbLog, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def put(made: Append, head: Head) -> None:
            if "e3" in made.numbers and signals:
                raise signals.pop()
            put_rows(made, head)

        put_rows, signals = Append._put_rows, [KeyboardInterrupt()]
        monkeypatch.setattr(Append, "_put_rows", put)
        outcomes = run_together(log, [append(log, message(f"e{number}")) for number in range(6)])
        stored = [event.id for event in events(log, "s")]
        # The signal interrupts the one thread that commits for all.
        assert sorted(type(outcome).__name__ for outcome in outcomes) == ["AppendResult"] * 5 + [
            "KeyboardInterrupt"
        ]
        assert sorted(stored) == [
            f"e{number}" for number, outcome in enumerate(outcomes) if isinstance(outcome, AppendResult)
        ]
        assert verify(log).findings == []


class TestRoom:
    @pytest.fixture
    def small(self, tmp_path: Path) -> Iterator[LmdbLog]:
        with LmdbLog(tmp_path / "small", durability="batch", map_size=256 * KILOBYTE) as opened:
            yield opened

    def test_a_map_that_is_too_small_for_a_batch_grows(self, small: LmdbLog) -> None:
        outcomes = run_together(
            small, [append(small, event(f"e{number}", data="x" * 100_000)) for number in range(8)]
        )
        assert sorted(outcome.version for outcome in outcomes) == list(range(1, 9))
        assert verify(small).findings == []

    def test_the_map_grows_while_others_append(self, small: LmdbLog) -> None:
        def work(thread: int) -> None:
            for number in range(20):
                small.append("s", [event(f"{thread}.{number}", data="x" * 50_000)])

        callers = [Caller(lambda n=n: work(n)) for n in range(4)]
        assert [caller.outcome() for caller in callers] == [None] * 4
        assert version(small, "s") == 80
        assert verify(small).findings == []

    def test_where_the_map_cannot_grow_only_those_fail_that_do_not_fit(self, small: LmdbLog) -> None:
        works = [append(small, message(f"e{number}")) for number in range(4)]
        works.insert(1, append(small, event("large", data="x" * 400_000)))
        with small.snapshot():
            outcomes = run_together(small, works)
        refused = outcomes.pop(1)
        assert isinstance(refused, StoreError)
        assert "snapshots" in refused.remedy
        assert sorted(outcome.version for outcome in outcomes) == [1, 2, 3, 4]
        assert small.append("s", [event("large", data="x" * 400_000)]).version == 5
        assert verify(small).findings == []
