"""Size each call's context and its cached part, by hand and against a plain fold."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore.harnesses import node_of
from eventstore.memory import MemoryLog
from eventstore.records import BranchSummary, Compaction, LeafMoved, Rewrite, TextReplacement, Undone
from projections.context.build import build_context
from projections.context.cursor import ROOT, path, resolve_cursor
from projections.tokens import counter
from projections.usage import measured_usage
from tests.support.calls import model_calls
from tests.support.events import NOW, events
from tests.support.spending import answer, long
from tests.support.talk import Story, assistant, result, user

TOKENS = counter("utf16/4")
HEAD = 100
"""Tokens of system prompt and tools in these sessions."""


def calls(log, session="s", leaf=None):
    with log.snapshot() as snapshot:
        return model_calls(snapshot, resolve_cursor(snapshot, session, leaf=leaf), TOKENS)


def readable(log, **options):
    return [call.cached_tokens for call in calls(log, **options)]


def test_of_the_first_call_nothing_was_cached(story):
    story.says(user(long(10)), answer(5, sent=HEAD + 10))
    assert readable(story.log) == [None]


def test_a_context_that_grew_was_cached_as_far_as_the_call_before_measured(story):
    story.says(user(long(10)), answer(5, sent=HEAD + 10), user(long(20)), answer(5, sent=HEAD + 35))
    assert readable(story.log) == [None, HEAD + 10]


def test_behind_a_summary_only_what_lies_before_the_messages_was_cached(story):
    story.says(user(long(10)), answer(5, sent=HEAD + 10), user(long(20)), answer(5, sent=HEAD + 35))
    story.add(Compaction(summary=long(3), first_kept_entry_id="e4", tokens_before=9))
    story.says(answer(1, sent=HEAD + 8))
    assert readable(story.log)[-1] == HEAD


def test_behind_a_rewrite_the_messages_before_it_were_cached_in_their_share(story):
    story.says(user(long(10)), answer(5, sent=HEAD + 10), result(long(40)))
    # The provider counts two tokens where we count one.
    story.says(answer(5, sent=HEAD + 2 * 55))
    story.add(Rewrite(reason="prune", targets=[TextReplacement(target="e3", text=long(2))]))
    story.says(answer(5, sent=HEAD + 50))
    assert readable(story.log)[-1] == HEAD + 2 * (10 + 5)


def test_a_rewrite_before_any_further_call_counts_with_those_behind_it(story):
    story.says(user(long(10)), answer(5, sent=HEAD + 10), user(long(20)), answer(5, sent=HEAD + 35))
    story.add(Rewrite(reason="prune", targets=[TextReplacement(target="e1", text=long(1))]))
    story.add(Rewrite(reason="prune", targets=[TextReplacement(target="e3", text=long(1))]))
    story.says(answer(5, sent=HEAD + 50))
    assert readable(story.log)[-1] == HEAD


def test_an_undo_gives_the_cached_prefix_back(story):
    story.says(user(long(10)), answer(5, sent=HEAD + 10))
    story.add(
        Undone(
            target_id=story.add(Rewrite(reason="prune", targets=[TextReplacement(target="e1", text=long(1))]))
        )
    )
    story.says(answer(5, sent=HEAD + 15))
    assert readable(story.log)[-1] == HEAD + 10


def test_another_model_has_another_cache(story):
    story.says(user(long(10)), answer(5, sent=HEAD + 10), answer(5, sent=HEAD + 15, model="n"))
    assert readable(story.log)[-1] == 0


def test_no_more_is_cached_than_was_sent(story):
    story.says(user(long(10)), answer(5, sent=HEAD + 10), answer(5, sent=20))
    assert readable(story.log)[-1] == 20


def test_messages_that_count_more_than_was_measured_leave_nothing_before_them(story):
    story.says(user(long(10)), answer(5, sent=3))
    story.add(Compaction(summary=long(3), first_kept_entry_id="", tokens_before=9))
    story.says(answer(1, sent=8))
    assert readable(story.log)[-1] == 0


def test_the_call_before_may_lie_on_another_branch(story):
    story.says(user(long(10)), answer(5, sent=HEAD + 10))
    story.says(user(long(20)), answer(5, sent=HEAD + 35))
    story.add(BranchSummary(from_id="e2", summary=long(2), left="e4"), parent="e2")
    story.says(answer(5, sent=HEAD + 17))
    # e4 was sent e1, e2 and e3; e1 and e2 begin e6, too.
    assert readable(story.log) == [None, HEAD + 15]


def test_time_passes_since_the_last_call_of_any_branch(story):
    story.says(user(long(10)), answer(5, sent=HEAD + 10))
    story.says(user(long(20)), answer(5, sent=HEAD + 35))
    story.add(LeafMoved(from_id="e4"), parent="e2")
    story.says(answer(5, sent=HEAD + 15))
    assert [call.idle_ms for call in calls(story.log)] == [None, 2000]


@pytest.mark.parametrize("stop", ["aborted", "error"])
def test_a_call_that_failed_is_none(story, stop):
    story.says(user(long(10)), answer(5, sent=HEAD + 10, stop=stop), assistant("no usage"))
    assert calls(story.log) == []


def test_there_are_no_calls_above_the_root(story):
    story.says(answer(5, sent=HEAD + 10))
    assert calls(story.log, leaf=ROOT) == []


def plain(log, session):
    """`requests` by the rule: two whole contexts for each pair of calls."""
    went_through = [
        event
        for event in events(log, session)
        if event.role == "assistant" and measured_usage(node_of(event).message) is not None
    ]
    with log.snapshot() as snapshot:
        on_path = {event.seq for event in path(snapshot, resolve_cursor(snapshot, session))}
    overhead = None
    for before, event in zip([None, *went_through], went_through, strict=False):
        if event.seq not in on_path:
            continue
        view = node_of(event).message
        sent = parts_above(log, session, event)
        if overhead is None:
            overhead = max(0, view.usage.prompt - sum(TOKENS.count(sent)))
        yield None if before is None else share_of(log, session, before, event, overhead)


def parts_above(log, session, event):
    return build_context(log, session, leaf=event.parent or ROOT).parts


def share_of(log, session, before, event, overhead):
    was, now = node_of(before).message, node_of(event).message
    if (was.provider, was.model) != (now.provider, now.model):
        return 0
    old, new = (parts_above(log, session, each) for each in (before, event))
    same = 0
    while same < min(len(old), len(new)) and old[same].raw == new[same].raw:
        same += 1
    total = sum(TOKENS.count(old))
    share = Fraction(sum(TOKENS.count(old[:same])), total) if total else 0
    fixed = min(overhead, was.usage.prompt)
    return min(fixed + int((was.usage.prompt - fixed) * share), now.usage.prompt)


ACTS = ("call", "call", "call", "says", "rewrite", "compaction", "undo", "move", "other model")
sessions = st.lists(
    st.tuples(st.sampled_from(ACTS), st.integers(1, 9), st.integers(1, 5)), min_size=3, max_size=14
)


def told(steps):
    """The log of a session of these steps: what is done, with how many tokens, to what so many entries back."""
    story = Story(MemoryLog(clock=lambda: NOW))
    entries = story.says(user("begin"))
    for act, size, back in steps:
        target = entries[-min(back, len(entries))]
        if act == "says":
            entries += story.says(user(long(size)))
        elif act == "call":
            entries += story.says(answer(size, sent=20 * size))
        elif act == "other model":
            entries += story.says(answer(size, sent=20 * size, model="n"))
        elif act == "rewrite":
            shown = TextReplacement(target=target, text=long(size + 10))
            entries.append(story.add(Rewrite(reason="prune", targets=[shown])))
        elif act == "compaction":
            summary = Compaction(summary=long(size), first_kept_entry_id=target, tokens_before=9)
            entries.append(story.add(summary))
        elif act == "undo":
            entries.append(story.add(Undone(target_id=target)))
        else:
            entries.append(story.add(LeafMoved(from_id=entries[-1]), parent=target))
    return story.log


@pytest.mark.slow
@given(steps=sessions)
def test_calls_of_any_session_are_those_of_a_plain_fold(steps):
    log = told(steps)
    assert readable(log) == list(plain(log, "s"))


@given(steps=sessions)
def test_no_cache_holds_more_than_a_call_was_sent(steps):
    found = [call for call in calls(told(steps)) if call.cached_tokens is not None]
    assert all(0 <= call.cached_tokens <= call.usage.prompt for call in found)
