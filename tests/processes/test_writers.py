"""Writers in several processes: they take turns, and nothing of any of them is lost, torn or there twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventstore import open_store
from eventstore.errors import VersionConflictError
from eventstore.lmdb.environment import Durability
from eventstore.lmdb.store import LmdbLog
from eventstore.verify import verify
from tests.support.events import events, message, version
from tests.support.processes import output_of, running

APPEND_AS_EXPECTED = """
import sys
from eventstore import open_store
from eventstore.errors import VersionConflictError
from tests.support.crowd import at_once, tell
from tests.support.events import message
path, count, durability = sys.argv[1], int(sys.argv[2]), sys.argv[3]
def work(writer):
    with open_store(path, durability=durability) as log:
        version = 0
        for number in range(15):
            names = [f"{writer}.{number}.{part}" for part in "ab"]
            while True:
                try:
                    version = log.append("s", [message(name) for name in names], expected=version).version
                    break
                except VersionConflictError as error:
                    assert error.actual > version
                    version = error.actual
            tell(f"{version} {' '.join(names)}")
at_once(count, work)
"""

APPEND_APART = """
import sys
from eventstore import open_store
from tests.support.crowd import at_once
from tests.support.events import message
def work(writer):
    with open_store(sys.argv[1]) as log:
        for number in range(30):
            assert log.append(f"s{writer}", [message(f"e{number}")], expected=number).version == number + 1
at_once(int(sys.argv[2]), work)
"""

APPEND_FROM_THREADS = """
import sys, threading
from eventstore import open_store
from tests.support.crowd import at_once, tell
from tests.support.events import message
def work(writer):
    with open_store(sys.argv[1], durability="batch") as log:
        def append(thread):
            for number in range(10):
                name = f"{writer}.{thread}.{number}"
                log.append(f"s{number % 2}", [message(name)])
                tell(name)
        threads = [threading.Thread(target=append, args=(thread,)) for thread in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
at_once(4, work)
"""

OPEN_FIRST = """
import sys
from eventstore import open_store
from tests.support.crowd import at_once
from tests.support.events import message
path, count = sys.argv[1], int(sys.argv[2])
def work(number):
    with open_store(store) as log:
        log.append("everyone", [message(f"{number}")])
        log.append(f"s{number}", [message("first")], expected="new")
for turn in range(6):
    store = f"{path}/{turn}/store"
    at_once(count, work)
"""

APPEND_SLOWLY = """
import sys
from eventstore import open_store
from eventstore.lmdb.appending import Append
from tests.support.events import message
put = Append.put
def put_slowly(append, transaction):
    done = put(append, transaction)
    print("inside", flush=True)
    sys.stdin.readline()
    return done
Append.put = put_slowly
with open_store(sys.argv[1], durability=sys.argv[2]) as log:
    log.append("s", [message("never"), message("there")])
"""
"""It stops in its turn, with its rows put and not yet committed: frames are made before, outside of any turn."""

APPEND_ONE = """
import sys
from eventstore import open_store
from tests.support.events import message
with open_store(sys.argv[1]) as log:
    print("opened", flush=True)
    sys.stdin.readline()
    print("asking", flush=True)
    print(log.append("s", [message(sys.argv[2])]).version)
"""


def check_sound(log: LmdbLog) -> None:
    """No finding, and positions without a gap."""
    assert verify(log).findings == []
    with log.snapshot() as snapshot:
        positions = [item.position for item in snapshot.feed()]
        assert positions == list(range(1, sum(head.version for head in snapshot.heads()) + 1))


class TestManyWriters:
    @pytest.mark.parametrize(("count", "durability"), [(2, "each"), (8, "each"), (8, "batch")])
    def test_writers_that_expect_a_version_lose_nothing(
        self, tmp_path: Path, count: int, durability: Durability
    ) -> None:
        acknowledged = output_of(APPEND_AS_EXPECTED, tmp_path / "store", str(count), durability).splitlines()
        assert len(acknowledged) == count * 15
        with open_store(tmp_path / "store", create=False) as log:
            found = events(log, "s")
            check_sound(log)
        assert [event.seq for event in found] == list(range(1, count * 30 + 1))
        told = {}
        for line in acknowledged:
            number, first, second = line.split()
            told[int(number) - 1], told[int(number)] = first, second
        assert len(told) == len(found)
        assert [event.id for event in found] == [told[number] for number in sorted(told)]
        assert [event.parent for event in found] == [None, *[event.id for event in found[:-1]]]

    def test_writers_of_different_sessions_are_in_no_conflict(self, tmp_path: Path) -> None:
        output_of(APPEND_APART, tmp_path / "store", "2")
        with open_store(tmp_path / "store", create=False) as log:
            for session in ("s0", "s1"):
                assert [event.id for event in events(log, session)] == [f"e{number}" for number in range(30)]
            check_sound(log)

    def test_processes_with_threads_each_share_a_store(self, tmp_path: Path) -> None:
        acknowledged = output_of(APPEND_FROM_THREADS, tmp_path / "store").splitlines()
        assert len(set(acknowledged)) == 160
        with open_store(tmp_path / "store", create=False) as log:
            stored = [event.id for session in ("s0", "s1") for event in events(log, session)]
            assert sorted(stored) == sorted(acknowledged)
            check_sound(log)

    def test_a_version_that_another_process_has_passed_is_a_conflict(self, tmp_path: Path) -> None:
        with open_store(tmp_path / "store") as log:
            log.append("s", [message("a")])
            with running(APPEND_ONE, tmp_path / "store", "b") as other:
                assert other.hear() == "opened"
                assert other.ask() == "asking"
                assert other.finish() == ["2"]
            with pytest.raises(VersionConflictError) as caught:
                log.append("s", [message("c")], expected=1)
            assert (caught.value.expected, caught.value.actual) == (1, 2)
            assert log.append("s", [message("c")], expected=2).version == 3


class TestFirstOpeners:
    @pytest.mark.parametrize("count", [2, 8])
    def test_processes_that_open_a_new_store_at_once_make_one(self, tmp_path: Path, count: int) -> None:
        output_of(OPEN_FIRST, tmp_path, str(count))
        for turn in range(6):
            with open_store(tmp_path / str(turn) / "store", create=False) as log:
                found = events(log, "everyone")
                assert sorted(event.id for event in found) == [str(number) for number in range(count)]
                assert all(version(log, f"s{number}") == 1 for number in range(count))
                check_sound(log)


class TestTurns:
    @pytest.mark.parametrize("durability", ["each", "batch"])
    def test_a_writer_killed_in_the_middle_of_an_append_leaves_nothing_and_lets_the_next_on(
        self, tmp_path: Path, durability: Durability
    ) -> None:
        with open_store(tmp_path / "store") as log:
            log.append("s", [message("a")])
            with running(APPEND_ONE, tmp_path / "store", "b") as waiting:
                assert waiting.hear() == "opened"
                with running(APPEND_SLOWLY, tmp_path / "store", durability) as writer:
                    assert writer.hear() == "inside"
                    assert waiting.ask() == "asking"
                    writer.kill()
                assert waiting.finish() == ["2"]
            assert log.append("s", [message("c")]).version == 3
            assert [event.id for event in events(log, "s")] == ["a", "b", "c"]
            check_sound(log)

    def test_a_writer_waits_for_its_turn_and_then_goes_on(self, tmp_path: Path) -> None:
        with open_store(tmp_path / "store") as log, running(APPEND_ONE, tmp_path / "store", "b") as waiting:
            log.append("s", [message("a")])
            assert waiting.hear() == "opened"
            with running(APPEND_SLOWLY, tmp_path / "store", "each") as writer:
                assert writer.hear() == "inside"
                assert waiting.ask() == "asking"
                writer.say("go on")
                assert writer.finish() == []
            assert waiting.finish() == ["4"]
            assert [event.id for event in events(log, "s")] == ["a", "never", "there", "b"]
