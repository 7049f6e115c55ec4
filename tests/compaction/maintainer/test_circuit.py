"""Three failures in a row, and no gain: what is not tried any more."""

from __future__ import annotations

from contextlib import suppress

import pytest

from compaction.branching.move import move_to
from compaction.maintainer import GAINED_NOTHING, Settings, failure_message, open_circuit_message
from compaction.summarizers import CancelledError, SummarizerError
from eventstore.records import Compaction
from tests.compaction.maintainer.maintained import (
    NO_MODEL,
    decisions,
    failed_three_times,
    fails,
    handing,
    maintainer,
)
from tests.compaction.scripted import Scripted, long, turns
from tests.support import sentences
from tests.support.talk import user


def test_an_open_circuit_tells_how_many_failures_opened_it():
    assert sentences.numbers(open_circuit_message(4)) == [4]


def test_the_first_failure_is_put_down_and_told(story):
    turns(story, 20, 10)
    recommendation = maintainer(Scripted(fails)).after_turn(story.writer)
    assert recommendation.error == failure_message("threshold", str(NO_MODEL))
    assert decisions(story)[-1] == ("failed", recommendation.error)


def test_three_failures_in_a_row_open_the_circuit(story):
    failed_three_times(story)
    scribe = Scripted()
    for _ in range(2):
        maintainer(scribe).after_turn(story.writer)
    assert scribe.prompts == []
    assert decisions(story)[-2:] == [
        ("circuit open", open_circuit_message(3)),
        ("skipped", open_circuit_message(3)),
    ]


def test_an_open_circuit_is_put_down_once_whatever_is_called(story):
    failed_three_times(story)
    for _ in range(2):
        maintainer().before_request(story.writer)
        maintainer().on_error(story.writer, "prompt is too long")
    assert [outcome for outcome, _ in decisions(story)].count("circuit open") == 1


def test_a_circuit_that_a_person_closed_opens_again(story):
    failed_three_times(story)
    with suppress(SummarizerError):
        maintainer(Scripted(fails)).compact(story.writer)
    for _ in range(3):
        maintainer(Scripted(fails)).after_turn(story.writer)
    assert [outcome for outcome, _ in decisions(story)].count("circuit open") == 2


def test_how_many_failures_open_it_is_a_setting(story):
    turns(story, 20, 10)
    scribe, once = Scripted(), Settings(most_failures=1)
    maintainer(Scripted(fails), settings=once).after_turn(story.writer)
    maintainer(scribe, settings=once).after_turn(story.writer)
    assert scribe.prompts == []


def test_what_a_person_calls_off_is_no_failure(story):
    def cancel_reason(_prompt):
        raise CancelledError

    turns(story, 20, 10)
    for _ in range(4):
        recommendation = maintainer(Scripted(cancel_reason)).after_turn(story.writer)
    assert recommendation.error == failure_message("threshold", str(CancelledError()))
    assert {outcome for outcome, _ in decisions(story)} == {"triggered", "cancelled"}
    assert maintainer().after_turn(story.writer).history_rewritten


def test_a_person_closes_the_circuit(story):
    turns(story, 20, 10)
    for _ in range(3):
        maintainer(Scripted(fails)).after_turn(story.writer)
    assert maintainer().compact(story.writer).outcome == "compacted"
    turns(story, 30, 10)
    assert maintainer().after_turn(story.writer).history_rewritten


@pytest.mark.parametrize("scribe", [Scripted(fails), Scripted(lambda _: long(100))], ids=["fails", "no gain"])
def test_a_person_who_asks_closes_the_circuit_whatever_comes_of_it(story, scribe):
    failed_three_times(story)
    with suppress(SummarizerError):
        maintainer(scribe).compact(story.writer)
    story.says(user("more"))
    assert maintainer().after_turn(story.writer).history_rewritten


def test_a_person_who_asks_where_there_is_nothing_to_do_closes_the_circuit(story):
    failed_three_times(story)
    maintainer(cut=None).compact(story.writer)
    assert maintainer().after_turn(story.writer).history_rewritten


def test_where_nothing_had_failed_a_person_who_finds_nothing_to_do_appends_nothing(story):
    turns(story, 2, 10)
    done = maintainer(cut=None).compact(story.writer)
    assert (done.outcome, done.decisions, decisions(story)) == ("nothing", [], [])


def test_a_context_that_the_model_cannot_take_is_reported_at_every_call_where_nothing_is_tried_any_more(
    story,
):
    failed_three_times(story)
    story.says(user(long(200_000)))
    for _ in range(2):
        recommendation = maintainer().before_request(story.writer)
        assert sentences.numbers(recommendation.error) == [recommendation.tokens, 200_000, 3]
        assert recommendation.error.endswith(open_circuit_message(3))


def test_an_open_circuit_stops_handoffs_too(story):
    failed_three_times(story)
    scribe = Scripted()
    handing(story, scribe).after_turn(story.writer)
    assert scribe.prompts == []


def test_a_context_that_gains_nothing_is_not_tried_again(story):
    turns(story, 20, 10)
    scribe = Scripted(lambda _: long(500))
    for _ in range(2):
        maintainer(scribe).after_turn(story.writer)
    assert len({prompt.digest for prompt in scribe.prompts if "draft" not in prompt.text}) == 1
    assert decisions(story)[-1] == ("skipped", GAINED_NOTHING.reason)


def test_no_gain_is_a_failure(story):
    for _ in range(3):
        turns(story, 20, 10)
        maintainer(Scripted(lambda _: long(500))).after_turn(story.writer)
    assert decisions(story)[-1][0] == "circuit open"


def test_a_compaction_that_goes_through_closes_the_circuit(story):
    failed_three_times(story)
    maintainer().compact(story.writer)
    turns(story, 30, 10)
    maintainer(Scripted(fails)).after_turn(story.writer)
    assert [outcome for outcome, _ in decisions(story)][-2:] == ["triggered", "failed"]


def test_a_compaction_of_another_branch_does_not_close_it(story):
    failed_three_times(story)
    story.add(Compaction(summary="so far", first_kept_entry_id="", tokens_before=1), parent="e1")
    move_to(story.writer, "e4")
    scribe = Scripted()
    recommendation = maintainer(scribe).after_turn(story.writer)
    assert recommendation.reason == open_circuit_message(3)
    assert scribe.prompts == []


def test_failures_on_another_branch_do_not_open_it(story):
    failed_three_times(story)
    story.add(Compaction(summary="so far", first_kept_entry_id="", tokens_before=1))
    move_to(story.writer, "e2")
    turns(story, 20, 10)
    assert maintainer().after_turn(story.writer).history_rewritten
