"""Triggers, where a harness's own wording would compact too late, too early, or for ever."""

from __future__ import annotations

from compaction.part import Limits
from compaction.policy.load import load_preset
from eventstore.records import Rewrite, TextReplacement
from projections.context.cursor import resolve_cursor
from projections.usage import context_size
from tests.compaction.scripted import Scripted, compactor, long, policy
from tests.support.talk import assistant, result, user


def size(story, tokens):
    with story.log.snapshot() as snapshot:
        return context_size(snapshot, resolve_cursor(snapshot, "s"), tokens).tokens


def test_the_usage_of_a_kept_answer_would_make_every_compaction_fire_the_next(story):
    story.says(user(long(40)), user(long(2)), assistant(long(5), tokens=5_000))
    made = compactor(Scripted(lambda _: "so far"), policy())
    assert made.policy.trigger.fires(size(story, made.tokens), made.limits)
    made.compact(story.writer, reason="threshold")
    assert (size(story, made.tokens), made.policy.trigger.fires(9, made.limits)) == (9, False)


def test_savings_that_are_not_taken_off_the_measured_size_would_make_rewrites_useless(story):
    story.says(result(long(100)), assistant("done", tokens=149))
    made = compactor(policy=policy())
    assert made.policy.trigger.fires(size(story, made.tokens), made.limits)
    story.add(Rewrite(reason="prune", targets=[TextReplacement(target="e1", text="cut.")], tokens_saved=99))
    assert (size(story, made.tokens), made.policy.trigger.fires(50, made.limits)) == (50, False)


def test_an_estimate_below_the_measured_size_would_let_a_request_through_that_is_too_long(story):
    story.says(user("short"), assistant("done", tokens=500), user(long(30)))
    assert size(story, compactor().tokens) == 530


def test_a_context_as_large_as_opencode_can_use_would_fail_at_the_next_call_if_it_had_to_be_larger():
    trigger = load_preset("opencode").trigger
    assert [trigger.fires(tokens, Limits(window=200_000)) for tokens in (179_999, 180_000)] == [False, True]
