"""A compaction after which the context is too large still: it is told, and compactions do not chase each other."""

from __future__ import annotations

import msgspec
import pytest

from compaction.cuts import KeepRecent, LastMessages
from compaction.maintainer import Maintainer, failure_message
from compaction.part import Limits
from tests.compaction.maintainer.maintained import decisions, maintainer
from tests.compaction.scripted import Scripted, compactor, kinds, long, policy, record, turns
from tests.support.talk import assistant, call, user

GREEDY = KeepRecent(tokens=60)
"""Keeps more than the 50 tokens over which the small policy compacts."""


def greedy(**changes):
    return maintainer(cut=GREEDY, **changes)


def fitting(window):
    """A maintainer for a model that takes so many tokens."""
    compacts = compactor(Scripted(lambda _: "so far"), policy(cut=GREEDY))
    return Maintainer(
        compactor=msgspec.structs.replace(compacts, limits=Limits(window=window)), now=lambda: 0
    )


def worked(story, keeper, rounds):
    """Return the recommendation after each of some turns of the agent alone."""
    said = []
    for _ in range(rounds):
        story.says(assistant(long(30)))
        said.append(keeper.after_turn(story.writer))
    return said


def test_the_answer_and_a_decision_say_so_with_the_size_of_what_is_kept(story):
    turns(story, 30, 30)
    recommendation = greedy().after_turn(story.writer)
    noted = record(story, "decision")
    assert (recommendation.do, recommendation.tokens, recommendation.error, recommendation.warning) == (
        "nothing",
        62,
        None,
        noted.reason,
    )
    assert noted.outcome == "still too large"
    assert (noted.numbers["tokensAfter"], noted.numbers["tokensKept"], noted.numbers["inARow"]) == (62, 60, 1)


def test_a_context_that_is_small_enough_then_has_no_warning(story):
    turns(story, 30, 10)
    assert maintainer().after_turn(story.writer).warning is None
    assert [outcome for outcome, _ in decisions(story)] == ["triggered"]


@pytest.mark.parametrize(("window", "is_error"), [(61, True), (62, False)])
def test_one_that_the_model_does_not_take_is_an_error_besides(story, window, is_error):
    turns(story, 30, 30)
    recommendation = fitting(window).after_turn(story.writer)
    assert (recommendation.history_rewritten, recommendation.error is not None) == (True, is_error)
    assert recommendation.warning


@pytest.mark.parametrize("window", [61, 62])
def test_what_no_model_takes_is_not_sent_again(story, window):
    turns(story, 30, 30)
    recommendation = fitting(window).on_error(story.writer, "prompt is too long")
    assert (recommendation.do, recommendation.tokens, recommendation.history_rewritten) == (
        "nothing" if window == 61 else "retry",
        62,
        True,
    )


def test_a_recovery_that_is_not_enough_says_so(story):
    turns(story, 30, 30)
    recommendation = fitting(61).on_error(story.writer, "prompt is too long")
    assert recommendation.error == failure_message("overflow", recommendation.warning)


def test_a_model_that_compacts_too_little_is_told(story):
    turns(story, 30)
    story.says(user("order"), assistant(call("compact", "c1")))
    assert fitting(30).after_turn(story.writer).error


def test_a_person_who_compacts_is_told_too(story):
    turns(story, 30, 30)
    done = greedy().compact(story.writer)
    assert (done.outcome, done.tokens_after, done.tokens_kept, done.warning != "") == (
        "compacted",
        62,
        60,
        True,
    )


def test_where_nothing_is_left_to_compact_the_answer_says_that_it_is_too_large(story):
    turns(story, 30, 30)
    greedy().after_turn(story.writer)
    before = len(kinds(story))
    first, second = (greedy().before_request(story.writer) for _ in range(2))
    assert (first.do, first.tokens, first.warning == second.warning) == ("nothing", 62, True)
    assert (first.warning is not None, len(kinds(story))) == (True, before + 1)


def test_an_agent_is_not_told_to_go_on_by_itself_for_ever(story):
    turns(story, 30, 30)
    said = worked(story, greedy(continuation="auto-continue"), 9)
    assert {recommendation.do for recommendation in said} == {"nothing"}
    assert "custom_message" not in kinds(story)
    assert record(story).continuation["branch"] == "auto-continue"


def test_a_request_that_nobody_has_answered_is_sent_all_the_same(story):
    turns(story, 30)
    story.says(user("order"), assistant(long(60)), user(long(60)))
    keeper = maintainer(cut=LastMessages(messages=1), continuation="replay")
    assert keeper.before_request(story.writer).history_rewritten
    story.says(assistant(long(9)), user("unanswered"))
    keeper = maintainer(Scripted(lambda _: long(55)), cut=LastMessages(messages=0), continuation="replay")
    assert keeper.before_request(story.writer).do == "continue"


def test_three_in_a_row_are_made_and_no_more(story):
    turns(story, 30, 30)
    said = worked(story, greedy(), 9)
    assert kinds(story).count("compaction") == 3
    assert all(recommendation.warning for recommendation in said)


def test_a_request_that_was_refused_is_recovered_all_the_same(story):
    turns(story, 30, 30)
    worked(story, greedy(), 9)
    assert greedy().on_error(story.writer, "prompt is too long").do == "retry"


def test_a_person_who_compacts_ends_the_row(story):
    turns(story, 30, 30)
    worked(story, greedy(), 9)
    greedy().compact(story.writer)
    worked(story, greedy(), 1)
    assert kinds(story).count("compaction") == 5


def test_a_person_who_asks_though_there_is_nothing_to_do_ends_the_row(story):
    turns(story, 30, 30)
    worked(story, greedy(), 3)
    assert greedy().compact(story.writer).outcome == "nothing"
    worked(story, greedy(), 1)
    assert kinds(story).count("compaction") == 4


@pytest.mark.slow
def test_one_that_fits_ends_the_row(story):
    turns(story, 30, 30)
    worked(story, greedy(), 2)
    worked(story, maintainer(cut=LastMessages(messages=1)), 1)
    worked(story, greedy(), 9)
    assert kinds(story).count("compaction") == 6
