"""The size that decides whether to compact: what was measured, less what was saved, plus what came after."""

from __future__ import annotations

import msgspec

from eventstore.records import Compaction, Rewrite, TextReplacement, Undone
from projections.context.cursor import resolve_cursor
from projections.tokens import counter
from projections.usage import ContextSize, context_size
from tests.support.talk import assistant, result, user


def size(story, *, tokens=None, **options):
    with story.log.snapshot() as snapshot:
        return context_size(snapshot, resolve_cursor(snapshot, "s"), tokens or counter("utf16/4"), **options)


def long(tokens):
    return "x" * 4 * tokens


def test_without_a_measured_call_the_estimate_decides(story):
    story.says(user(long(10)), assistant(long(5)))
    assert size(story) == ContextSize(
        tokens=15, estimate=15, measured=None, measured_at=None, saved=0, after=0
    )


def test_a_counter_may_ignore_what_was_measured(story):
    story.says(user(long(10)), assistant(long(5), tokens=500))
    alone = msgspec.structs.replace(counter("utf16/4"), ignores_usage=True)
    assert size(story, tokens=alone).measured is None


def test_what_came_after_the_measured_call_is_estimated(story):
    story.says(user(long(10)), assistant(long(5), tokens=500), user(long(7)))
    assert size(story) == ContextSize(
        tokens=507, estimate=22, measured=500, measured_at="e2", saved=0, after=7
    )


def test_failed_and_aborted_calls_measured_nothing(story):
    story.says(assistant("one", tokens=300), assistant("two", tokens=900, stop="error"))
    story.says(assistant("three", tokens=900, stop="aborted"))
    assert size(story).measured_at == "e1"


def test_a_kept_call_from_before_the_compaction_measured_another_context(story):
    story.says(user(long(10)), assistant(long(5), tokens=180_000))
    story.add(Compaction(summary=long(3), first_kept_entry_id="e2", tokens_before=1))
    assert size(story).tokens == 8


def test_savings_of_rewrites_behind_the_measured_call_count(story):
    story.says(result(long(100)), assistant(long(5), tokens=500))
    story.add(Rewrite(reason="prune", targets=[TextReplacement(target="e1", text="x")], tokens_saved=99))
    assert (size(story).tokens, size(story, less_saved=False).tokens) == (401, 500)


def test_savings_of_rewrites_before_the_measured_call_are_in_its_figure(story):
    story.says(result(long(100)))
    story.add(Rewrite(reason="prune", targets=[TextReplacement(target="e1", text="x")], tokens_saved=99))
    story.says(assistant(long(5), tokens=500))
    assert size(story).tokens == 500


def test_savings_of_an_undone_rewrite_do_not_count(story):
    story.says(result(long(100)), assistant(long(5), tokens=500))
    story.add(Rewrite(reason="prune", targets=[TextReplacement(target="e1", text="x")], tokens_saved=99))
    story.add(Undone(target_id="e3"))
    assert size(story).tokens == 500


def test_the_size_is_never_below_the_estimate(story):
    story.says(user(long(100)), assistant(long(5), tokens=20))
    assert size(story).tokens == 105


def test_an_empty_session_has_no_size(story):
    story.add(Compaction(summary="", first_kept_entry_id="", tokens_before=0))
    assert size(story).tokens == 0


def test_savings_behind_the_measured_call_are_in_the_estimate_of_what_came_after(story):
    story.says(user("go"), assistant(long(5), tokens=500), result(long(100)))
    story.add(Rewrite(reason="prune", targets=[TextReplacement(target="e3", text="x")], tokens_saved=99))
    assert (size(story).tokens, size(story).saved) == (501, 0)


def test_of_a_rewrite_on_both_sides_of_the_measured_call_what_it_measured_counts(story):
    story.says(result(long(100)), assistant(long(5), tokens=500), result(long(50)))
    targets = [TextReplacement(target="e1", text="x"), TextReplacement(target="e3", text="x")]
    story.add(Rewrite(reason="prune", targets=targets, tokens_saved=148))
    assert (size(story).tokens, size(story).saved) == (402, 99)


def test_once_a_compaction_is_undone_what_was_measured_before_it_counts_again(story):
    story.says(user(long(10)), assistant(long(5), tokens=180_000))
    compaction = story.add(Compaction(summary=long(3), first_kept_entry_id="e2", tokens_before=1))
    story.add(Undone(target_id=compaction))
    assert size(story).tokens == 180_000


def test_a_call_behind_the_compaction_measured_this_context(story):
    story.says(user(long(10)), assistant(long(5), tokens=180_000))
    story.add(Compaction(summary=long(3), first_kept_entry_id="e2", tokens_before=1))
    story.says(assistant(long(2), tokens=90))
    assert (size(story).tokens, size(story).measured_at) == (90, "e4")
