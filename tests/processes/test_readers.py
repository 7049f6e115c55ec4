"""Readers in other processes: one consistent state each, in nobody's way, and no trace of those that die."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from eventstore import open_store
from eventstore.errors import StoreError
from eventstore.lmdb.environment import Durability
from eventstore.lmdb.store import LmdbLog
from eventstore.verify import verify
from tests.support import sentences
from tests.support.events import event, events, frames, message, version
from tests.support.processes import output_of, running

TOGETHER = 5
"""Events an append, where whole appends are looked for."""

APPEND_UNTIL_TOLD = f"""
import itertools, select, sys
from eventstore import open_store
from tests.support.events import event
with open_store(sys.argv[1], durability=sys.argv[2]) as log:
    for number in itertools.count():
        for session in ("s", "t"):
            names = [f"{{session}}{{number}}-{{part}}" for part in range({TOGETHER})]
            log.append(session, [event(name, data="x" * (number * 997 % 5000)) for name in names])
        if not number:
            print("begun", flush=True)
        if select.select([sys.stdin], [], [], 0)[0]:
            break
print(number + 1)
"""

APPEND_WITH_A_PAUSE_INSIDE = """
import sys
from eventstore import open_store
from tests.support.events import message
def clock():
    print("inside", flush=True)
    sys.stdin.readline()
    return 0
with open_store(sys.argv[1], clock=clock) as log:
    log.append("s", [message(sys.argv[2]), message(sys.argv[2] + "+")])
    print("done", flush=True)
"""

READ_WHEN_TOLD = """
import hashlib, sys
from eventstore import open_store
def state(snapshot):
    digest = hashlib.sha256()
    for head in snapshot.heads():
        digest.update(repr(head).encode())
        for frame in snapshot.frames(head.name):
            digest.update(frame)
    digest.update(repr([(item.position, item.session, item.seq) for item in snapshot.feed()]).encode())
    return digest.hexdigest()
with open_store(sys.argv[1]) as log:
    for line in sys.stdin:
        with log.snapshot() as snapshot:
            print(state(snapshot), flush=True)
            while (line := sys.stdin.readline().strip()) == "again":
                print(state(snapshot), flush=True)
            print("ended", flush=True)
"""

HOLD_SNAPSHOTS = """
import contextlib, sys
from eventstore import open_store
with open_store(sys.argv[1]) as log, contextlib.ExitStack() as stack:
    for _ in range(int(sys.argv[2])):
        stack.enter_context(log.snapshot())
    print("reading", flush=True)
    sys.stdin.readline()
"""

OPEN_AND_CLOSE = """
import sys
from eventstore import open_store
with open_store(sys.argv[1], create=False):
    pass
"""


def readers(log: LmdbLog) -> list[int]:
    """The processes that have a place in the lock file, each as often as it has one."""
    lines = log._environment().readers().splitlines()
    return [int(line.split()[0]) for line in lines if line.split()[:1] and line.split()[0].isdecimal()]


def overwrite(log: LmdbLog, times: int) -> int:
    """Write as much again and again, and give the size of the file: pages that nobody sees are used again."""
    for number in range(times):
        log.keep([(b"key", bytes([number % 256]) * 100_000)])
    return log.size().file_bytes


class TestConsistency:
    @pytest.mark.parametrize("durability", ["each", "batch"])
    def test_readers_see_every_append_whole_and_no_gap(self, tmp_path: Path, durability: Durability) -> None:
        with (
            open_store(tmp_path / "store") as log,
            running(APPEND_UNTIL_TOLD, tmp_path / "store", durability) as writer,
        ):
            assert writer.hear() == "begun"
            seen: list[tuple[int, int]] = []
            while len(set(seen)) < 40:
                with log.snapshot() as snapshot:
                    versions = {head.name: head.version for head in snapshot.heads()}
                    positions = [item.position for item in snapshot.feed()]
                    held = {name: list(snapshot.frames(name)) for name in versions}
                    assert {name: len(found) for name, found in held.items()} == versions
                s, t = versions["s"], versions["t"]
                assert s % TOGETHER == t % TOGETHER == 0
                assert s - t in (0, TOGETHER)
                assert positions == list(range(1, s + t + 1))
                assert not seen or (s, t) >= seen[-1]
                seen.append((s, t))
            writer.say("enough")
            rounds = int(writer.finish()[0])
            assert version(log, "s") == version(log, "t") == rounds * TOGETHER
            assert verify(log).findings == []

    def test_a_snapshot_shows_the_same_however_long_it_is_open(self, tmp_path: Path) -> None:
        with open_store(tmp_path / "store") as log, running(READ_WHEN_TOLD, tmp_path / "store") as reader:
            log.append("s", [message("a"), message("b")])
            before = reader.ask("begin")
            for number in range(50):
                log.append("s", [event(f"e{number}", data="x" * 5000)])
                log.append(f"t{number}", [message("first")])
                log.keep([(b"key", b"x" * 50_000)])
                assert number % 10 or reader.ask("again") == before
            assert reader.ask("end") == "ended"
            assert reader.ask("begin") != before


class TestWaiting:
    def test_readers_do_not_wait_for_a_writer_in_the_middle_of_an_append(self, tmp_path: Path) -> None:
        with open_store(tmp_path / "store") as log, running(READ_WHEN_TOLD, tmp_path / "store") as reader:
            log.append("s", [message("a")])
            before = reader.ask("begin")
            assert reader.ask("end") == "ended"
            with running(APPEND_WITH_A_PAUSE_INSIDE, tmp_path / "store", "b") as writer:
                assert writer.hear() == "inside"
                assert [found.id for found in events(log, "s")] == ["a"]
                assert reader.ask("begin") == before
                assert writer.ask() == "done"
            assert reader.ask("again") == before
            assert [found.id for found in events(log, "s")] == ["a", "b", "b+"]

    def test_a_writer_does_not_wait_for_readers(self, tmp_path: Path) -> None:
        with open_store(tmp_path / "store") as log:
            log.append("s", [message("first")])
            with running(HOLD_SNAPSHOTS, tmp_path / "store", "20") as reader:
                assert reader.hear() == "reading"
                for number in range(20):
                    assert log.append("s", [message(f"e{number}")]).version == number + 2
                assert len(readers(log)) == 20


class TestRoom:
    def test_a_file_stops_growing_when_a_sleeping_reader_has_ended(self, tmp_path: Path) -> None:
        with open_store(tmp_path / "store") as log:
            without = overwrite(log, 40)
            with running(HOLD_SNAPSHOTS, tmp_path / "store", "1") as reader:
                assert reader.hear() == "reading"
                held = overwrite(log, 40)
                assert held > 3 * without
                reader.say("wake up")
                reader.finish()
            assert overwrite(log, 40) <= held
            assert log.size().free_bytes > held - 2 * without
            assert verify(log).findings == []

    def test_the_slot_of_a_killed_reader_is_cleared_by_the_next_process_that_opens(
        self, tmp_path: Path
    ) -> None:
        with open_store(tmp_path / "store") as log:
            without = overwrite(log, 40)
            with running(HOLD_SNAPSHOTS, tmp_path / "store", "3") as reader:
                assert reader.hear() == "reading"
                reader.kill()
                assert readers(log) == [reader.process.pid] * 3
            held = overwrite(log, 40)
            assert held > 3 * without
            output_of(OPEN_AND_CLOSE, tmp_path / "store")
            assert readers(log) == []
            assert overwrite(log, 40) <= held

    @pytest.mark.parametrize("durability", ["each", "batch"])
    def test_a_writer_that_stays_clears_the_slots_of_killed_readers(
        self, tmp_path: Path, durability: Durability
    ) -> None:
        with open_store(tmp_path / "store", durability=durability) as log:
            without = overwrite(log, 40)
            with running(HOLD_SNAPSHOTS, tmp_path / "store", "3") as reader:
                assert reader.hear() == "reading"
                reader.kill()
            held = overwrite(log, 256)
            assert readers(log) == []
            assert overwrite(log, 256) <= held
            assert log.size().free_bytes > held - 2 * without

    def test_a_process_that_opens_leaves_the_slots_of_living_readers(self, tmp_path: Path) -> None:
        with (
            open_store(tmp_path / "store") as log,
            running(HOLD_SNAPSHOTS, tmp_path / "store", "3") as reader,
        ):
            assert reader.hear() == "reading"
            with log.snapshot():
                output_of(OPEN_AND_CLOSE, tmp_path / "store")
                assert sorted(readers(log)) == sorted([reader.process.pid] * 3 + [os.getpid()])

    def test_readers_that_were_killed_never_keep_others_from_reading(self, tmp_path: Path) -> None:
        with open_store(tmp_path / "store") as log:
            log.append("s", [message("a")])
            with running(HOLD_SNAPSHOTS, tmp_path / "store", "510") as reader:
                assert reader.hear() == "reading"
                with pytest.raises(StoreError) as caught:
                    frames(log, "s")
                assert "510 readers" in caught.value.problem
                reader.kill()
            assert len(frames(log, "s")) == 1

    def test_a_store_with_as_many_readers_as_it_can_have_says_so_to_the_next(self, tmp_path: Path) -> None:
        with open_store(tmp_path / "store"):
            pass
        with running(HOLD_SNAPSHOTS, tmp_path / "store", "510") as reader:
            assert reader.hear() == "reading"
            with pytest.raises(StoreError) as caught:
                open_store(tmp_path / "store")
            assert sentences.numbers(caught.value.problem) == [510]
            reader.say("wake up")
            reader.finish()
        with open_store(tmp_path / "store") as log:
            assert log.append("s", [message("a")]).version == 1


class TestStopping:
    def test_a_reader_that_is_stopped_keeps_nobody_from_anything(self, tmp_path: Path) -> None:
        with open_store(tmp_path / "store") as log, running(READ_WHEN_TOLD, tmp_path / "store") as reader:
            log.append("s", [message("a")])
            before = reader.ask("begin")
            os.kill(reader.process.pid, signal.SIGSTOP)
            for number in range(20):
                log.append("s", [message(f"e{number}")])
            output_of(OPEN_AND_CLOSE, tmp_path / "store")
            os.kill(reader.process.pid, signal.SIGCONT)
            assert reader.ask("again") == before
