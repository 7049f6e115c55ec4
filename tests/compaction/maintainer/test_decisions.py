"""Check which decisions are logged, and that none is logged twice."""

from __future__ import annotations

import pytest

from compaction.decisions import FailureHistory, failure_history, recent_decisions
from compaction.hooks import Cancel, Hooks
from compaction.maintainer import (
    IDLE_OFF,
    NOT_OF_LENGTH,
    OFF,
    SMALL_ENOUGH,
    Maintainer,
    Settings,
    failure_message,
)
from eventstore.records import Compaction, CustomMessage
from tests.compaction.maintainer.maintained import decisions, failed_three_times, maintainer
from tests.compaction.scripted import Scripted, compactor, long, turns
from tests.support import sentences
from tests.support.events import events
from tests.support.talk import user


def test_a_skip_is_put_down_only_when_its_reason_changes(story):
    turns(story, 5)
    for _ in range(3):
        maintainer().after_turn(story.writer)
    maintainer(settings=Settings(enabled=False)).after_turn(story.writer)
    assert decisions(story) == [
        ("skipped", SMALL_ENOUGH.reason),
        ("skipped", OFF.reason),
    ]


def test_skips_at_different_hooks_do_not_flood_the_log(story):
    turns(story, 5)
    for _ in range(3):
        maintainer().before_request(story.writer)
        maintainer().on_idle(story.writer, 1)
    assert decisions(story) == [
        ("skipped", SMALL_ENOUGH.reason),
        ("skipped", IDLE_OFF.reason),
    ]


def test_a_hook_that_calls_off_is_the_one_decision(story):
    turns(story, 20, 10)
    hooks = [Hooks(name="h", before_compaction=lambda _: Cancel("not now"))]
    Maintainer(compactor=compactor(hooks=hooks), now=lambda: 0).after_turn(story.writer)
    assert decisions(story) == [("cancelled", "not now")]


def hooked(*hooks):
    named = [Hooks(name=f"h{place}", before_compaction=hook) for place, hook in enumerate(hooks)]
    return Maintainer(compactor=compactor(Scripted(lambda _: "so far"), hooks=named), now=lambda: 0)


def test_a_hook_that_calls_off_every_time_is_put_down_once(story):
    turns(story, 20, 10)
    for _ in range(3):
        hooked(lambda _: Cancel("not now")).after_turn(story.writer)
    assert decisions(story) == [("cancelled", "not now")]


def test_a_hook_that_calls_off_for_another_reason_is_put_down_again(story):
    turns(story, 20, 10)
    for reason in ("not now", "not now", "never"):
        hooked(lambda _, reason=reason: Cancel(reason)).after_turn(story.writer)
    assert decisions(story) == [("cancelled", "not now"), ("cancelled", "never")]


def test_what_a_hook_calls_off_is_no_failure(story):
    for _ in range(4):
        turns(story, 20, 10)
        hooked(lambda _: Cancel("not now")).after_turn(story.writer)
    assert hooked().after_turn(story.writer).history_rewritten


def test_who_waits_for_a_recovery_is_told_that_a_hook_called_it_off(story):
    turns(story, 20, 10)
    recommendation = hooked(lambda _: Cancel("not now")).on_error(story.writer, "prompt is too long")
    assert recommendation.error == failure_message("overflow", "not now")


def test_a_hook_that_raises_and_one_that_calls_off_are_put_down_once_each(story):
    def raises(_plan):
        raise ValueError("oops")

    turns(story, 20, 10)
    for _ in range(3):
        hooked(raises, lambda _: Cancel("not now")).after_turn(story.writer)
    assert decisions(story) == [
        ("hook failed", "hook h0, before_compaction: ValueError: oops"),
        ("cancelled", "not now"),
    ]


def test_a_hook_that_raises_is_logged_once(story):
    def raises(_plan):
        raise ValueError("oops")

    turns(story, 20, 10)
    hooked(raises).after_turn(story.writer)
    assert [outcome for outcome, _ in decisions(story)] == ["hook failed", "triggered"]


def test_a_waiting_idle_session_is_told_once(story):
    turns(story, 5)
    for seconds in range(3):
        maintainer(settings=Settings(idle_enabled=True)).on_idle(story.writer, seconds)
    ((outcome, reason),) = decisions(story)
    assert (outcome, sentences.numbers(reason)) == ("skipped", [300])


def test_errors_of_another_kind_are_put_down_once(story):
    turns(story, 5)
    for error in ("overloaded", "429: slow down"):
        maintainer().on_error(story.writer, error)
    assert decisions(story) == [("skipped", NOT_OF_LENGTH.reason)]


def test_a_compaction_that_goes_through_is_put_down_before_it(story):
    turns(story, 20, 10)
    maintainer().after_turn(story.writer)
    assert decisions(story) == [("triggered", "threshold")]


def test_the_past_counts_failures_since_the_newest_compaction(story):
    failed_three_times(story)
    with story.log.snapshot() as snapshot:
        leaf = snapshot.head("s").leaf
        assert failure_history(snapshot, "s", leaf) == FailureHistory(failures=3, is_open=True)
    maintainer().compact(story.writer)
    with story.log.snapshot() as snapshot:
        assert failure_history(snapshot, "s", leaf) == FailureHistory()


@pytest.mark.parametrize(("more", "expected"), [(False, True), (True, False)])
def test_the_past_says_whether_this_very_context_gained_nothing(story, more, expected):
    turns(story, 20, 10)
    maintainer(Scripted(lambda _: long(500))).after_turn(story.writer)
    if more:
        story.says(user("more"))
    with story.log.snapshot() as snapshot:
        assert failure_history(snapshot, "s", snapshot.head("s").leaf) == FailureHistory(
            failures=1, gained_nothing=expected
        )


class Reading:
    """A snapshot that counts the frames that are read of it."""

    def __init__(self, snapshot):
        self._snapshot, self.read = snapshot, 0

    def head(self, session):
        return self._snapshot.head(session)

    def frame(self, session, seq):
        self.read += 1
        return self._snapshot.frame(session, seq)

    def frames(self, session, **which):
        for frame in self._snapshot.frames(session, **which):
            self.read += 1
            yield frame


@pytest.mark.parametrize("history", [10, 80])
def test_what_is_read_of_decisions_follows_the_context_and_not_the_history(story, history):
    turns(story, *[5] * history)
    story.add(Compaction(summary="so far", first_kept_entry_id="", tokens_before=1))
    turns(story, 5)
    story.add(CustomMessage(custom_type="x", content="elsewhere"), parent="e1")
    story.says(*(user("on another branch") for _ in range(history)))
    story.add(CustomMessage(custom_type="x", content="back"), parent=f"e{2 * history + 3}")
    maintainer().after_turn(story.writer)
    with story.log.snapshot() as snapshot:
        reading = Reading(snapshot)
        assert [decision.outcome for _, decision in recent_decisions(reading, "s")] == ["skipped"]
    assert (reading.read, len(events(story.log, "s"))) < (9, 9 * history)


def test_a_decision_is_found_behind_the_entry_at_which_it_was_made(story):
    for _ in range(2):
        story.says(user("hi"))
        maintainer(settings=Settings(enabled=False)).before_request(story.writer)
    with story.log.snapshot() as snapshot:
        assert [number for number, _ in recent_decisions(snapshot, "s")] == [2]
