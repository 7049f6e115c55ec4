"""Prompt caches around replacements: what should be read and what was, worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given

from eventstore.files.importing import import_file
from eventstore.memory import MemoryLog
from eventstore.records import BranchSummary, Compaction, Rewrite, TextReplacement, Undone
from eventstore.views import Usage
from projections.audit.cache import CacheEffect, CacheRead, cache_effect, cache_history
from projections.audit.calls import ModelCall
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
            predicted_read=HEAD,
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
            # The call before was sent HEAD and 35; of them 15 stand where they stood.
            predicted_read=HEAD + 15,
            recorded_read=HEAD + 15,
            recorded_write=7,
        )
    ]


def test_a_branch_summary_leaves_what_both_branches_have(cached):
    cached.add(BranchSummary(from_id="e2", summary=long(2), left="e4"), parent="e2")
    (only,) = caches(cached.log)
    assert (only.shared_messages, only.shared_tokens, only.rewritten_tokens) == (2, 15, 2)


def test_without_a_later_call_nothing_is_predicted(cached):
    cached.add(compaction("e4"))
    cached.says(user(long(2)), answer(1, sent=90, stop="aborted"))
    (only,) = caches(cached.log)
    assert (only.call, only.predicted_read, only.recorded_read, only.recorded_write) == (None,) * 4


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
    assert (only.call, only.predicted_read, only.recorded_read, only.recorded_write) == (
        "e4",
        None,
        None,
        None,
    )


def idle_for(minutes, seconds, pi, store, folder):
    """A session in which so much time passes between two calls, imported."""
    pi.says("a1", user(long(10)))
    times = ("2025-12-08T22:00:00.000Z", f"2025-12-08T22:{minutes:02}:{seconds:02}.000Z")
    for event_id, time in zip(("a2", "a4"), times, strict=True):
        if event_id == "a4":
            pi.entry("a3", "custom", customType="x")
        pi.entry(event_id, "message", message=answer(5, sent=HEAD + 15), timestamp=time)
    return pi.store_in(store, folder)


@pytest.mark.parametrize(("seconds", "predicted"), [(0, HEAD + 15), (1, 0)])
def test_a_cache_lives_for_five_minutes(store, tmp_path, pi, seconds, predicted):
    session = idle_for(5, seconds, pi, store, tmp_path)
    assert cache_history(calls(store, session), ()).predicted == predicted


def test_a_replacement_after_a_pause_meets_no_cache(store, tmp_path, pi):
    pi.says("a1", user(long(10)))
    pi.says("a2", answer(5, sent=HEAD + 10))
    pi.compacts("a3", "a2")
    pi.entry("a4", "message", message=answer(5, sent=HEAD + 9), timestamp="2025-12-08T23:00:00.000Z")
    session = pi.store_in(store, tmp_path)
    assert [each.predicted_read for each in caches(store, session)] == [0]


def request(seq, *, cached_tokens, read):
    return ModelCall(
        seq=seq,
        id=f"e{seq}",
        sent_at=seq - 1,
        usage=Usage(cache_read=read, cache_write=1),
        messages=1,
        tokens=1,
        idle_ms=1000,
        cached_tokens=cached_tokens,
    )


def test_a_history_sets_predictions_beside_what_was_recorded(cached):
    found = cache_history(calls(cached.log), ())
    assert found.reads == [CacheRead(id="e4", seq=4, predicted=HEAD + 10, recorded=HEAD + 10)]


def test_a_history_sums_up_and_leaves_the_first_call_out():
    found = cache_history(
        [
            request(1, cached_tokens=None, read=5),
            request(2, cached_tokens=100, read=90),
            request(3, cached_tokens=70, read=100),
        ],
        (),
    )
    assert (found.calls, found.close, found.share, found.predicted, found.recorded) == (2, 1, 0.5, 170, 190)


@pytest.mark.parametrize(
    ("readable", "read", "close"),
    [(90, 100, 1), (100, 90, 1), (89, 100, 0), (100, 89, 0), (0, 0, 1), (0, 1, 0)],
)
def test_two_figures_are_close_within_a_tenth_of_the_larger(readable, read, close):
    assert cache_history([request(2, cached_tokens=readable, read=read)], ()).close == close


def test_a_history_of_a_session_that_records_no_cache_is_empty(story):
    story.says(assistant("one", tokens=HEAD), assistant("two", tokens=HEAD))
    found = cache_history(calls(story.log), ())
    assert (found.calls, found.share, found.reads) == (0, None, [])


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


def test_nearly_all_reads_of_a_real_session_come_as_predicted(store, corpus):
    session = import_file(store, corpus / "pi" / "pi-mono-before-compaction.v3.jsonl").id
    found = cache_history(calls(store, session), ())
    assert (found.calls, found.close, found.recorded) == (464, 451, 54_365_641)
