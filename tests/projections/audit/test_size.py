"""Sizes of the contexts around a replacement: four characters are a token."""

from __future__ import annotations

from hypothesis import given, settings

from eventstore.memory import MemoryLog
from eventstore.records import Compaction, Rewrite, TextReplacement
from projections.audit.measure import Size, size
from projections.tokens import counter
from tests.projections.test_replacement import replacements
from tests.support.events import NOW
from tests.support.examples import examples
from tests.support.native import native_events
from tests.support.talk import assistant, result, user

TOKENS = counter("utf16/4")


def long(tokens):
    return "x" * 4 * tokens


def sizes(log):
    return [size(each, TOKENS) for each in replacements(log)]


def test_before_is_removed_and_kept_and_after_is_kept_and_the_summary(story):
    story.says(user(long(60)), assistant(long(20)), user(long(20)))
    story.add(Compaction(summary=long(8), first_kept_entry_id="e3", tokens_before=1))
    assert sizes(story.log) == [
        Size(
            before=100,
            after=28,
            removed=80,
            kept=20,
            added=8,
            restored=0,
            returned=0,
            removed_share=0.8,
            ratio=0.1,
            grew=False,
        )
    ]


def test_a_summary_as_long_as_what_it_stands_for_made_the_context_no_smaller(story):
    story.says(user(long(5)), user(long(1)))
    story.add(Compaction(summary=long(5), first_kept_entry_id="e2", tokens_before=1))
    assert sizes(story.log)[0].grew


def test_a_rewrite_is_measured_by_the_message_before_and_after(story):
    story.says(user(long(10)), result(long(90)))
    story.add(Rewrite(reason="prune", targets=[TextReplacement(target="e2", text=long(9))]))
    (only,) = sizes(story.log)
    assert (only.removed, only.added, only.ratio) == (90, 9, 0.1)


def test_nothing_removed_from_nothing_has_no_shares(story):
    story.add(Compaction(summary="", first_kept_entry_id="", tokens_before=0))
    (only,) = sizes(story.log)
    assert (only.removed_share, only.ratio) == (None, None)


@settings(max_examples=examples(150))
@given(appended=native_events())
def test_sums_are_those_of_the_contexts_whatever_a_session_holds(appended):
    log = MemoryLog(clock=lambda: NOW)
    log.append("s", appended)
    for replacement in replacements(log):
        found = size(replacement, TOKENS)
        assert found.before == found.removed + found.kept == sum(TOKENS.count(replacement.before.parts))
        assert found.after == found.kept + found.added + found.returned
        assert found.after == sum(TOKENS.count(replacement.after.parts))
