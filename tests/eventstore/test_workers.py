from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from contextlib import closing
from pathlib import Path

import pytest

from eventstore.errors import StoreError, VersionConflictError
from eventstore.workers import MAX_PENDING_PER_WORKER, WorkerLostError, cores, map_in_processes, work_in_order
from tests.support.labour import (
    ask_about,
    ask_and_catch,
    die,
    die_after_asking,
    double,
    fail,
    garbage_thresholds,
    held_signals,
    many_bytes,
    mark,
    nap,
    who,
)
from tests.support.patience import PATIENCE
from tests.support.processes import output_of, start

HOLD_WORKERS = """
import sys
from eventstore.workers import map_in_processes
from tests.support.labour import who
if __name__ == "__main__":
    held = map_in_processes(who, range(100), jobs=2)
    print(next(held), flush=True)
    sys.stdin.read()
"""

INTERRUPTED_AT_WORK = """
import os
from eventstore.workers import map_in_processes
from tests.support.labour import interrupt_all
if __name__ == "__main__":
    # As a terminal does it: to every process of the group.
    os.setpgid(0, 0)
    try:
        list(map_in_processes(interrupt_all, [60, 60], jobs=2))
    except KeyboardInterrupt:
        print("interrupted")
"""


@pytest.mark.slow
def test_results_are_in_the_order_of_the_items_however_long_each_takes() -> None:
    times = [0.3, 0.0, 0.1, 0.0]
    assert list(map_in_processes(nap, times, jobs=2)) == times


def test_workers_search_for_garbage_as_often_as_their_parent() -> None:
    before = gc.get_threshold()
    gc.set_threshold(12_345, 6, 7)
    try:
        assert list(map_in_processes(garbage_thresholds, [None], jobs=1)) == [(12_345, 6, 7)]
    finally:
        gc.set_threshold(*before)


def test_without_items_there_are_no_results() -> None:
    assert list(map_in_processes(double, [], jobs=2)) == []


@pytest.mark.slow
def test_the_work_is_done_by_so_many_other_processes() -> None:
    workers = set(map_in_processes(who, range(30), jobs=2))
    assert len(workers) == 2
    assert os.getpid() not in workers


@pytest.mark.slow
def test_no_more_processes_are_started_than_there_are_items() -> None:
    with closing(map_in_processes(who, range(1), jobs=8)) as found:
        next(found)
        assert len(multiprocessing.active_children()) == 1


def test_only_so_much_is_done_before_its_turn(tmp_path: Path) -> None:
    orders = [(0.0 if number else 1.0, tmp_path / str(number)) for number in range(100)]
    with closing(map_in_processes(mark, orders, jobs=2)) as found:
        next(found)
        assert len(list(tmp_path.iterdir())) <= 2 * MAX_PENDING_PER_WORKER < 100


@pytest.mark.slow
def test_the_processes_end_with_the_last_result() -> None:
    assert list(map_in_processes(double, range(5), jobs=2)) == [0, 2, 4, 6, 8]
    assert multiprocessing.active_children() == []


@pytest.mark.slow
def test_the_processes_end_when_nobody_wants_more_in_the_middle_of_their_work() -> None:
    with closing(map_in_processes(nap, [0.0, 60.0, 60.0], jobs=2)) as found:
        next(found)
    assert multiprocessing.active_children() == []


@pytest.mark.slow
def test_of_a_process_that_is_killed_the_item_is_reported() -> None:
    found = map_in_processes(die, ["live", "die", "live"], jobs=1)
    assert next(found) == "live"
    with pytest.raises(WorkerLostError, match="'die'"):
        next(found)
    assert multiprocessing.active_children() == []


@pytest.mark.slow
def test_an_error_of_refold_is_raised_here() -> None:
    with pytest.raises(StoreError, match="gone") as caught:
        list(map_in_processes(fail, ["a", "gone", "b"], jobs=2))
    assert caught.value.problem == "gone"


@pytest.mark.slow
def test_a_process_that_is_killed_in_the_middle_of_a_result_keeps_nobody_waiting(tmp_path: Path) -> None:
    begin = tmp_path / "begin"
    found = map_in_processes(many_bytes, [(1, tmp_path), (50_000_000, begin)], jobs=2)
    next(found)
    begin.touch()
    # More than a pipe holds: the second process waits until its result is read.
    workers = found.gi_frame.f_locals["found"].gi_frame.f_locals["workers"]
    assert workers[1].pipe.poll(PATIENCE)
    for process in multiprocessing.active_children():
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(WorkerLostError, match="50000000"):
        next(found)


def test_an_interrupt_is_no_business_of_the_processes() -> None:
    here = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert all(signal.SIGINT in held for held in map_in_processes(held_signals, range(4), jobs=2))
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == here


@pytest.mark.slow
def test_an_interrupt_is_heard_here_alone_and_ends_them_all() -> None:
    # Its output would not end before they do.
    assert output_of(INTERRUPTED_AT_WORK) == "interrupted\n"


@pytest.mark.slow
def test_the_processes_end_when_this_one_is_killed() -> None:
    process = start(HOLD_WORKERS)
    assert process.stdout is not None
    process.stdout.readline()
    process.kill()
    # A process that is left would hold its output open.
    _, errors = process.communicate(timeout=PATIENCE)
    assert errors == ""


class TestQuestions:
    @pytest.mark.slow
    def test_items_of_a_queue_are_done_in_order_by_one_process_with_answers_from_here(self) -> None:
        asked: list[str] = []

        def answer(question: str) -> str:
            asked.append(question)
            return question.upper()

        queues = [["a1", "a2", "a3"], ["b1", "b2", "b3"], ["c1"], []]
        done = dict(work_in_order(ask_about, queues, answer, jobs=2))
        assert {item: reply for item, (reply, _) in done.items()} == {
            item: item.upper() for queue in queues for item in queue
        }
        for queue in queues:
            assert [item for item in asked if item in queue] == queue
            assert len({done[item][1] for item in queue}) <= 1
        assert os.getpid() not in {process for _, process in done.values()}
        assert multiprocessing.active_children() == []

    @pytest.mark.slow
    def test_an_error_as_an_answer_is_raised_where_it_was_asked(self) -> None:
        found = work_in_order(ask_and_catch, [["x"]], lambda _: VersionConflictError("s", 3, 5), jobs=1)
        assert list(found) == [("x", (VersionConflictError, vars(VersionConflictError("s", 3, 5))))]

    @pytest.mark.slow
    def test_an_error_of_the_answer_ends_everything(self) -> None:
        def refuse(_: str) -> None:
            raise StoreError("/store", "is full", "free some space")

        with pytest.raises(StoreError):
            list(work_in_order(ask_about, [["x"], ["y"]], refuse, jobs=2))
        assert multiprocessing.active_children() == []

    def test_of_a_process_that_is_killed_behind_a_question_the_item_is_named(self) -> None:
        with pytest.raises(WorkerLostError, match="'x'"):
            list(work_in_order(die_after_asking, [["x"]], str, jobs=1))
        assert multiprocessing.active_children() == []


def test_the_cores_are_those_that_this_process_may_use() -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1)
