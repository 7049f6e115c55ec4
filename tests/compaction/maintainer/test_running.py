"""Run one call at a time for a session, a person's first, with real threads."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from threading import Event, main_thread

import pytest

from compaction.maintainer import ActiveCalls, failure_message
from compaction.summarizers import Answer, CancelledError
from projections.context.build import build_context
from tests.compaction.maintainer.maintained import decisions, kinds, maintainer
from tests.compaction.scripted import record, turns
from tests.support.patience import PATIENCE, comes
from tests.support.talk import texts_of


class Waiting:
    """A summarizer that waits, the first time, until it is called off; `asked` is set once it does."""

    name = "waiting"

    def __init__(self) -> None:
        self.asked = Event()

    def summarize(self, prompt, *, is_cancelled):
        del prompt
        if not self.asked.is_set():
            self.asked.set()
            assert comes(is_cancelled)
        if is_cancelled():
            raise CancelledError
        return Answer(text="so far", model="m")


@pytest.fixture
def aside():
    """A thread to do something in."""
    with ThreadPoolExecutor(1) as threads:
        yield threads.submit


def test_what_a_person_asks_for_calls_off_what_runs_and_is_done(story, aside):
    turns(story, 20, 10)
    scribe = Waiting()
    asked = maintainer(scribe)
    runs = aside(asked.after_turn, story.writer)
    assert scribe.asked.wait(PATIENCE)
    done = asked.compact(story.writer)
    recommendation = runs.result(PATIENCE)
    assert (done.outcome, texts_of(build_context(story.log, "s"))[0]) == ("compacted", "so far")
    assert recommendation.error == failure_message("threshold", str(CancelledError()))


def test_what_is_called_off_leaves_its_attempt_and_is_no_failure(story, aside):
    turns(story, 20, 10)
    scribe = Waiting()
    asked = maintainer(scribe)
    runs = aside(asked.after_turn, story.writer)
    assert scribe.asked.wait(PATIENCE)
    asked.cancel(story.writer)
    assert kinds(story) == ["attempt"]
    runs.result(PATIENCE)
    assert record(story, "attempt").request["reason"] == "threshold"
    assert [outcome for outcome, _ in decisions(story)] == ["triggered", "cancelled"]


def test_nothing_is_called_off_where_nothing_runs(story):
    turns(story, 20, 10)
    asked = maintainer()
    asked.cancel(story.writer)
    assert asked.after_turn(story.writer).reason == "threshold"


class TestRunning:
    def test_who_goes_first_waits_for_what_cannot_be_called_off(self, aside):
        running, done = ActiveCalls(), []

        def first() -> None:
            with running.first("s"):
                done.append("first")

        with running.one("s"):
            waits = aside(first)
            assert comes(lambda: running.is_cancelled("s"))
            done.append("one")
        waits.result(PATIENCE)
        assert done == ["one", "first"]
        assert not running.is_cancelled("s")

    def test_of_two_who_go_first_the_one_is_called_off_while_the_other_waits(self):
        running = ActiveCalls()

        def first() -> bool:
            with running.first("s"):
                return running.is_cancelled("s")

        with ThreadPoolExecutor(2) as persons:
            with running.one("s"):
                waits = [persons.submit(first) for _ in range(2)]
                assert comes(lambda: len(running._of("s").go_first) == 2)
            assert sorted(each.result(PATIENCE) for each in waits) == [False, True]
        assert not running.is_cancelled("s")

    def test_who_goes_first_and_gives_up_waiting_calls_nothing_off_any_more(self, aside):
        running, is_in, go_on = ActiveCalls(), Event(), Event()

        def one() -> None:
            with running.one("s"):
                is_in.set()
                assert comes(lambda: running.is_cancelled("s"))
                signal.pthread_kill(main_thread().ident, signal.SIGINT)
                go_on.wait(PATIENCE)

        runs = aside(one)
        assert is_in.wait(PATIENCE)
        with pytest.raises(KeyboardInterrupt), running.first("s"):
            pass
        assert not running.is_cancelled("s")
        go_on.set()
        runs.result(PATIENCE)

    def test_other_sessions_do_not_wait(self, aside):
        running = ActiveCalls()

        def first() -> None:
            with running.first("other"):
                assert not running.is_cancelled("s")

        with running.one("s"):
            aside(first).result(PATIENCE)

    def test_one_that_raises_lets_the_next_run(self, aside):
        running = ActiveCalls()

        def one() -> str:
            with running.one("s"):
                return "done"

        with pytest.raises(KeyError), running.one("s"):
            raise KeyError
        assert aside(one).result(PATIENCE) == "done"

    def test_what_runs_may_call_again(self):
        running = ActiveCalls()
        with running.one("s"), running.one("s"), running.first("s"):
            assert not running.is_cancelled("s")
