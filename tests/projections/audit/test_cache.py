"""Prompt caches around replacements: what is sent anew, and what was read."""

from __future__ import annotations

import pytest
from hypothesis import given

from eventstore.memory import MemoryLog
from eventstore.records import BranchSummary, Compaction, Rewrite, TextReplacement, Undone
from projections.audit.cache import CacheEffect, cache_effect
from projections.audit.session import audit
from projections.context.cursor import resolve_cursor
from projections.tokens import counter
from tests.projections.test_replacement import replacements
from tests.support.calls import model_calls
from tests.support.events import NOW
from tests.support.native import native_events
from tests.support.spending import answer, long
from tests.support.talk import assistant, user

TOKENS = counter("utf16/4")
HEAD = 100
"""Tokens of system prompt and tools in these sessions."""


def calls(log, session="s"):
    with log.snapshot() as snapshot:
        return model_calls(snapshot, resolve_cursor(snapshot, session), TOKENS)


def caches(log, session="s"):
    found = calls(log, session)
    return [cache_effect(each, TOKENS, found) for each in replacements(log, session)]


def compaction(first_kept, tokens=3):
    return Compaction(summary=long(tokens), first_kept_entry_id=first_kept, tokens_before=9)


@pytest.fixture
def cached(story):
    """Two calls, the second of which read what the first had sent; e4 is the leaf."""
    story.says(user(long(10)), answer(5, sent=HEAD + 10))
    story.says(user(long(20)), answer(5, sent=HEAD + 35, read=HEAD + 10))
    return story


def test_a_summary_comes_before_everything_that_was_shared(cached):
    cached.add(compaction("e4"))
    cached.says(user(long(2)), answer(1, sent=HEAD + 10, read=HEAD))
    assert caches(cached.log) == [
        CacheEffect(
            shared_messages=0,
            shared_tokens=0,
            rewritten_tokens=3 + 5,
            call="e7",
            recorded_read=HEAD,
            recorded_write=10,
        )
    ]


def test_a_rewrite_leaves_the_messages_before_it(cached):
    cached.add(Rewrite(reason="prune", targets=[TextReplacement(target="e3", text=long(2))]))
    cached.says(answer(1, sent=HEAD + 22, read=HEAD + 15))
    assert caches(cached.log) == [
        CacheEffect(
            shared_messages=2,
            shared_tokens=10 + 5,
            rewritten_tokens=2 + 5,
            call="e6",
            recorded_read=HEAD + 15,
            recorded_write=7,
        )
    ]


def test_a_branch_summary_leaves_what_both_branches_have(cached):
    cached.add(BranchSummary(from_id="e2", summary=long(2), left="e4"), parent="e2")
    (only,) = caches(cached.log)
    assert (only.shared_messages, only.shared_tokens, only.rewritten_tokens) == (2, 15, 2)


def test_without_a_later_call_nothing_was_read(cached):
    cached.add(compaction("e4"))
    cached.says(user(long(2)), answer(1, sent=90, stop="aborted"))
    (only,) = caches(cached.log)
    assert (only.call, only.recorded_read, only.recorded_write) == (None,) * 3


@pytest.mark.parametrize("end", [compaction("e4", tokens=1), Undone(target_id="e5")])
def test_a_call_behind_the_next_compaction_or_undo_says_nothing_of_this_one(cached, end):
    cached.add(compaction("e4"))
    cached.add(end)
    cached.says(answer(1, sent=HEAD))
    assert caches(cached.log)[0].call is None


def test_a_session_that_records_no_cache_has_no_reads(story):
    story.says(user(long(10)), assistant(long(5), tokens=HEAD))
    story.add(compaction("e2"))
    story.says(assistant(long(5), tokens=HEAD))
    (only,) = caches(story.log)
    assert (only.call, only.recorded_read, only.recorded_write) == ("e4", None, None)


def test_cache_writes_never_read_are_counted(story):
    for read, written in ((0, 100), (100, 20), (50, 70), (120, 5)):
        usage = {"input": 1, "output": 1, "cacheRead": read, "cacheWrite": written}
        story.says(user("go"), assistant("x", usage=usage))
    # The second call read all; of its 120 tokens the third read 50, and so none of the 20 that it had written.
    cache = audit(story.log, "s").cache
    assert (cache.written, cache.unread) == (190, 20)


def test_each_model_has_its_own_cache(story):
    for model, read in (("m", 0), ("n", 0), ("m", 100)):
        usage = {"input": 1, "output": 1, "cacheRead": read, "cacheWrite": 100}
        story.says(user("go"), assistant("x", usage=usage, model=model))
    cache = audit(story.log, "s").cache
    assert (cache.written, cache.unread) == (100, 0)


@given(appended=native_events())
def test_what_is_shared_and_what_is_rewritten_are_the_context_after(appended):
    log = MemoryLog(clock=lambda: NOW)
    log.append("s", appended)
    for each, found in zip(replacements(log), caches(log), strict=True):
        assert found.shared_tokens + found.rewritten_tokens == sum(TOKENS.count(each.after.parts))
        assert found.shared_messages <= min(len(each.before.parts), len(each.after.parts))
