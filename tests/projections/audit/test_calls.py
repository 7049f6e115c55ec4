"""Size what each call was sent, and what it shares with the call before."""

from __future__ import annotations

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


def shared(log):
    """The messages that each call shares with the call before, and those that this one was sent."""
    found = [call.previous for call in calls(log)]
    return [each and (each.shared, each.messages) for each in found]


def test_no_call_comes_before_the_first_one(story):
    story.says(user(long(10)), answer(5, sent=HEAD + 10))
    assert shared(story.log) == [None]


def test_a_context_that_grew_shares_all(story):
    story.says(user(long(10)), answer(5, sent=HEAD + 10), user(long(20)), answer(5, sent=HEAD + 35))
    assert shared(story.log) == [None, (1, 1)]


def test_a_context_behind_a_summary_shares_nothing(story):
    story.says(user(long(10)), answer(5, sent=HEAD + 10), user(long(20)), answer(5, sent=HEAD + 35))
    story.add(Compaction(summary=long(3), first_kept_entry_id="e4", tokens_before=9))
    story.says(answer(1, sent=HEAD + 8))
    assert shared(story.log)[-1] == (0, 3)


def test_behind_a_rewrite_the_beginning_is_shared(story):
    story.says(user(long(10)), answer(5, sent=HEAD + 10), result(long(40)))
    story.says(answer(5, sent=HEAD + 2 * 55))
    story.add(Rewrite(reason="prune", targets=[TextReplacement(target="e3", text=long(2))]))
    story.says(answer(5, sent=HEAD + 50))
    assert shared(story.log)[-1] == (2, 3)


def test_a_rewrite_before_any_further_call_counts_with_those_behind_it(story):
    story.says(user(long(10)), answer(5, sent=HEAD + 10), user(long(20)), answer(5, sent=HEAD + 35))
    story.add(Rewrite(reason="prune", targets=[TextReplacement(target="e1", text=long(1))]))
    story.add(Rewrite(reason="prune", targets=[TextReplacement(target="e3", text=long(1))]))
    story.says(answer(5, sent=HEAD + 50))
    assert shared(story.log)[-1] == (0, 3)


def test_an_undo_gives_the_cached_prefix_back(story):
    story.says(user(long(10)), answer(5, sent=HEAD + 10))
    story.add(
        Undone(
            target_id=story.add(Rewrite(reason="prune", targets=[TextReplacement(target="e1", text=long(1))]))
        )
    )
    story.says(answer(5, sent=HEAD + 15))
    assert shared(story.log)[-1] == (1, 1)


def test_a_call_knows_whether_the_model_changed(story):
    story.says(user(long(10)), answer(5, sent=HEAD + 10), answer(5, sent=HEAD + 15))
    story.says(answer(5, sent=HEAD + 20, model="n"))
    assert [call.previous.is_same_model for call in calls(story.log)[1:]] == [True, False]


def test_the_call_before_may_lie_on_another_branch(story):
    story.says(user(long(10)), answer(5, sent=HEAD + 10))
    story.says(user(long(20)), answer(5, sent=HEAD + 35))
    story.add(BranchSummary(from_id="e2", summary=long(2), left="e4"), parent="e2")
    story.says(answer(5, sent=HEAD + 17))
    # e4 was sent e1, e2 and e3; e1 and e2 begin e6, too.
    assert shared(story.log) == [None, (2, 3)]


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
    for before, event in zip([None, *went_through], went_through, strict=False):
        if event.seq in on_path:
            yield before and shared_by(log, session, before, event)


def parts_above(log, session, event):
    return build_context(log, session, leaf=event.parent or ROOT).parts


def shared_by(log, session, before, event):
    old, new = (parts_above(log, session, each) for each in (before, event))
    same = 0
    while same < min(len(old), len(new)) and old[same].raw == new[same].raw:
        same += 1
    return same, len(old)


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
    assert shared(log) == list(plain(log, "s"))
