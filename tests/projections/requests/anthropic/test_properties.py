"""Check properties of the body that any conversation becomes."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventstore import open_store
from eventstore.files.importing import import_file
from eventstore.memory import MemoryLog
from projections.context.build import build_context
from projections.requests.anthropic import render
from projections.requests.repairs import RepairRule
from tests.support.contexts import body_of, context_of, texts_in
from tests.support.events import NOW, events
from tests.support.examples import examples
from tests.support.native import native_events
from tests.support.pi_sessions import file_of, pi_entries
from tests.support.validator import validate
from tests.support.wild_talk import any_talk, compacted_talk, good_talk, told_texts

bounded = settings()

AT_THE_END = {RepairRule.MISSING_RESULT, RepairRule.FINAL_SPACE}
"""Repairs of what a conversation ends in, which it may not be any more when it goes on."""


def check(context):
    """A body is what its API takes; only one without messages is not, where the context tells a model nothing."""
    rendered = render(context, model="claude", system="Be brief.", cache_breakpoints=4)
    broken = [violation.rule for violation in validate(rendered.body)]
    assert broken == [violation.rule for violation in rendered.violations]
    assert broken == ([] if body_of(rendered)["messages"] else ["messages"])
    assert {repair.event for repair in rendered.repairs} <= {part.id for part in context.parts}


@given(said=any_talk)
def test_the_api_takes_whatever_was_said(said):
    check(context_of(*said))


@pytest.mark.slow
@given(said=compacted_talk)
def test_the_api_takes_whatever_was_said_around_a_compaction_of_its_own(said):
    check(context_of(*said))


@pytest.mark.slow
@given(entries=pi_entries())
def test_the_api_takes_any_session_of_pis_at_every_leaf_and_as_of_every_event(entries):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        path.write_bytes(file_of(entries))
        log = MemoryLog(clock=lambda: NOW)
        session = import_file(log, path).id
    for event in events(log, session):
        check(build_context(log, session, as_of=event.seq))
        if event.is_entry:
            check(build_context(log, session, leaf=event.id))


@given(appended=native_events())
def test_the_api_takes_any_session_with_rewrites_undos_moves_and_summaries(appended):
    log = MemoryLog(clock=lambda: NOW)
    log.append("s", appended)
    for event in events(log, "s"):
        check(build_context(log, "s", as_of=event.seq))


@given(said=any_talk)
def test_no_text_that_a_model_is_told_gets_lost(said):
    sent = "\n".join(texts_in(body_of(render(context_of(*said)))["messages"]))
    for recorded in (text for message in said for text in told_texts(message)):
        assert "".join(map(whole, recorded)).strip().strip("\ufeff") in sent


def whole(character):
    return "\ufffd" if "\ud800" <= character <= "\udfff" else character


@pytest.mark.slow
@given(said=good_talk())
def test_a_conversation_that_went_well_needs_no_repair(said):
    assert render(context_of(*said)).repairs == ()


@given(said=good_talk())
def test_a_conversation_that_went_well_says_what_it_said_in_its_order(said):
    sent = texts_in(body_of(render(context_of(*said)))["messages"])
    assert sent == [text for message in said for text in told_texts(message)]


@given(said=any_talk, data=st.data())
def test_a_conversation_that_goes_on_keeps_all_messages_but_its_last(said, data):
    cut = data.draw(st.integers(0, len(said)))
    before = render(context_of(*said[:cut]))
    beginning, whole = body_of(before)["messages"], body_of(render(context_of(*said)))["messages"]
    kept = beginning[:-1]
    if before.repairs and before.repairs[-1].rule == RepairRule.MISSING_RESULT:
        # Calls may join an open one.
        *kept, open_calls = kept
        grown = whole[len(kept)]
        assert open_calls == {**grown, "content": grown["content"][: len(open_calls["content"])]}
    assert kept == whole[: len(kept)]


@given(said=any_talk, data=st.data())
def test_a_conversation_that_goes_on_keeps_its_last_message_unless_a_call_was_open(said, data):
    cut = data.draw(st.integers(0, len(said)))
    before = render(context_of(*said[:cut]))
    if not before.repairs or before.repairs[-1].rule not in AT_THE_END:
        beginning, whole = body_of(before)["messages"], body_of(render(context_of(*said)))["messages"]
        for earlier, later in zip(beginning, whole, strict=False):
            assert earlier == {**later, "content": later["content"][: len(earlier["content"])]}


@given(said=any_talk, data=st.data())
def test_what_was_repaired_once_is_repaired_when_the_conversation_goes_on(said, data):
    cut = data.draw(st.integers(0, len(said)))
    before, after = (render(context_of(*some)).repairs for some in (said[:cut], said))
    assert [repair for repair in before if repair.rule not in AT_THE_END and repair not in after] == []


@given(said=any_talk, most=st.integers(0, 4))
def test_cache_breakpoints_change_nothing_else(said, most):
    plain, marked = (render(context_of(*said), cache_breakpoints=each) for each in (0, most))
    assert marked.body.count(b'"cache_control":{"type":"ephemeral"}') <= most
    assert without_breakpoints(body_of(marked)) == body_of(plain)


def without_breakpoints(value):
    if isinstance(value, list):
        return [without_breakpoints(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: without_breakpoints(item) for name, item in value.items() if name != "cache_control"}


@settings(max_examples=examples(30))
@given(appended=native_events())
def test_the_same_log_gives_the_same_bytes_in_any_store_and_as_of_any_event(appended):
    growing = MemoryLog(clock=lambda: NOW)
    with TemporaryDirectory() as folder, open_store(folder, clock=lambda: NOW + 1) as whole:
        whole.append("s", appended)
        for count, event in enumerate(appended, 1):
            growing.append("s", [event])
            now, then = build_context(growing, "s"), build_context(whole, "s", as_of=count)
            assert render(now, model="claude") == render(then, model="claude")
