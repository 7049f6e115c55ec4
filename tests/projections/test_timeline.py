"""The size of a context over a session's course."""

from __future__ import annotations

from eventstore.records import Compaction, Decision, ModelChange, Rewrite, TextReplacement, Undone
from projections.context.cursor import ROOT
from projections.timeline import timeline
from projections.tokens import counter
from tests.support.talk import assistant, user


def course(log, **where):
    return [each.tokens for each in timeline(log, "s", **where).moments]


def long(tokens):
    return "x" * 4 * tokens


def test_a_message_adds_its_tokens(story):
    story.says(user(long(10)), assistant(long(5)))
    assert course(story.log) == [10, 15]


def test_an_entry_that_is_no_message_adds_nothing(story):
    story.says(user(long(10)))
    story.add(ModelChange(provider="p", model_id="m"))
    assert course(story.log)[1] == 10


def test_a_compaction_takes_away_what_it_summarized(story):
    _, kept = story.says(user(long(10)), user(long(5)))
    story.add(Compaction(summary=long(2), first_kept_entry_id=kept, tokens_before=15))
    assert course(story.log)[2] == 7


def test_a_rewrite_takes_away_what_it_saves_and_its_undo_adds_it_again(story):
    (one,) = story.says(user(long(10)))
    rewrite = story.add(Rewrite(reason="prune", targets=[TextReplacement(target=one, text=long(1))]))
    story.add(Undone(target_id=rewrite))
    assert course(story.log) == [10, 1, 10]


def test_an_event_off_the_path_is_no_moment(story):
    story.says(user(long(10)))
    story.add(Decision(outcome="skip", reason="small"))
    assert course(story.log) == [10]


def test_a_call_is_given_with_what_its_provider_measured(story):
    story.says(user("hello"), assistant("hi", tokens=100), assistant("cut", tokens=9, stop="aborted"))
    assert [each.measured for each in timeline(story.log, "s").moments] == [None, 100, None]


def test_a_timeline_is_that_of_the_path_to_its_leaf(story):
    root, _ = story.says(user(long(10)), user(long(5)))
    story.add(ModelChange(provider="p", model_id="m"), parent=root)
    assert course(story.log) == [10, 10]


def test_a_timeline_as_of_an_event_ends_there(story):
    story.says(user(long(10)), user(long(5)))
    assert course(story.log, as_of=1) == [10]


def test_the_timeline_of_the_root_is_empty(story):
    story.says(user("hello"))
    assert course(story.log, leaf=ROOT) == []


def test_a_timeline_counts_with_the_counter_that_it_is_given(story):
    story.says(user("é" * 4))
    found = timeline(story.log, "s", tokens=counter("bytes/4"))
    assert (found.counter, found.moments[0].tokens) == ("bytes/4", 2)
