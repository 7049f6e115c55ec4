"""What holds for any session and any policy, its numbers made small enough for small sessions."""

from __future__ import annotations

import json
from itertools import count

import msgspec
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from compaction.compactor import Compactor
from compaction.cuts import KeepRecent, LastMessages, TailTurn
from compaction.part import Limits
from compaction.policies import Policy, preset, preset_names
from compaction.rewrites import Mask, Micro, Offload, Prune, PruneTurns, Snip, Supersede, Useless
from compaction.rewriting import record_rewrites
from compaction.summarizers.asking import Asker
from compaction.undo import undo
from eventstore.memory_log import MemoryLog
from eventstore.records import Rewrite, record_of
from eventstore.writing import SessionWriter
from projections.context import build_context, context_json
from projections.renderers.anthropic import render
from projections.tokens import counter
from projections.validators.anthropic import validate
from tests.compaction.scripted import Scripted
from tests.support.events import NOW, events
from tests.support.native import native_events

bounded = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
LIMITS = Limits(window=200_000)
TOKENS = counter("utf16/4")
SMALL = {
    KeepRecent: KeepRecent(tokens=4),
    TailTurn: TailTurn(least=4, most=4),
    LastMessages: LastMessages(messages=0),
    Prune: Prune(protect=0, savings=0, smallest=0, protected=()),
    PruneTurns: PruneTurns(turns=1, protect=0, savings=0),
    Supersede: Supersede(),
    Useless: Useless(),
    Offload: Offload(characters=5, preview=2),
    Snip: Snip(longest=4, head=1),
    Micro: Micro(keep=1, shortest=3),
    Mask: Mask(keep_observations=1),
}
policies = pytest.mark.parametrize("policy", [preset(name) for name in preset_names()], ids=preset_names())


def small(policy: Policy) -> Policy:
    """The same parts with numbers that bite in small sessions."""
    return msgspec.structs.replace(
        policy,
        cut=policy.cut and SMALL[type(policy.cut)],
        rewrites=tuple(SMALL[type(part)] for part in policy.rewrites),
    )


def session_of(appended):
    log = MemoryLog(clock=lambda: NOW)
    log.append("s", appended)
    numbers = count(1)
    writer = SessionWriter(log, "s", clock=lambda: 10_000_000, new_id=lambda: f"own-{next(numbers)}")
    return log, writer


def compacted(policy, writer, reason="threshold", answer=lambda _: "s"):
    asker = Asker(summarizers=[Scripted(answer)], wait=lambda _: None)
    compactor = Compactor(policy=small(policy), asker=asker, limits=LIMITS, tokens=TOKENS)
    done = compactor.compact(writer, reason=reason, continues=True)
    event(done.outcome)
    return done


def rewritten(policy, writer):
    return record_rewrites(writer, small(policy).rewrites, tokens=TOKENS, is_compacting=True)


def made_small(policy, writer):
    return [*rewritten(policy, writer), *compacted(policy, writer).events]


def messages_of(log):
    """The messages of the context, the summary aside."""
    return [part.id for part in build_context(log, "s").parts if part.kind != "compaction"]


def rendered(log):
    return render(build_context(log, "s"), model="claude-x")


def has_messages(log):
    """Whether a request would have any: some entries are shown to people alone."""
    return bool(json.loads(rendered(log).body)["messages"])


def needed(log):
    """The repairs of a context, by rule and event."""
    return {(repair.rule, repair.event) for repair in rendered(log).repairs}


def shown_otherwise(log, since):
    """The messages that rewrites behind an event show otherwise."""
    later = [each for each in events(log, "s") if each.seq > since and each.kind == "rewrite"]
    records = [record_of("rewrite", each.body) for each in later]
    return {shown.target for record in records if isinstance(record, Rewrite) for shown in record.targets}


@policies
@bounded
@given(appended=native_events())
def test_what_a_policy_leaves_is_a_request_that_the_api_takes(policy, appended):
    log, writer = session_of(appended)
    had_messages = has_messages(log)
    made_small(policy, writer)
    if had_messages or has_messages(log):
        assert validate(rendered(log).body) == []


@policies
@bounded
@given(appended=native_events())
def test_nothing_that_a_policy_does_needs_a_repair_that_was_not_needed_before(policy, appended):
    log, writer = session_of(appended)
    before = needed(log)
    made_small(policy, writer)
    assert needed(log) <= before


@policies
@bounded
@given(appended=native_events())
def test_what_is_kept_is_byte_for_byte_what_it_was_but_for_recorded_rewrites(policy, appended):
    log, writer = session_of(appended)
    before = {part.seq: part.raw for part in build_context(log, "s").parts}
    since = len(events(log, "s"))
    made_small(policy, writer)
    otherwise = shown_otherwise(log, since)
    for part in build_context(log, "s").parts:
        if part.seq in before and part.id not in otherwise:
            assert part.raw == before[part.seq]


@policies
@bounded
@given(appended=native_events())
def test_an_undo_gives_the_exact_bytes_back(policy, appended):
    log, writer = session_of(appended)
    before = context_json(log, "s")
    appends = [rewritten(policy, writer), compacted(policy, writer).events]
    for made in filter(None, reversed(appends)):
        undo(writer, made[0])
    assert context_json(log, "s") == before


@policies
@bounded
@given(appended=native_events())
def test_every_message_of_the_context_before_is_summarized_or_kept(policy, appended):
    log, writer = session_of(appended)
    before = messages_of(log)
    plan = compacted(policy, writer).plan
    if plan is not None:
        assert [*plan.cut.to_summarize, *plan.cut.turn_prefix, *plan.cut.kept] == before


@policies
@bounded
@given(appended=native_events(), late=st.integers(1, 3))
def test_a_message_that_comes_while_a_summary_is_made_is_never_lost(policy, appended, late):
    log, writer = session_of(appended)
    said = []

    def meanwhile(_prompt):
        if not said:
            said.extend(writer.message({"role": "user", "content": f"late {each}"}) for each in range(late))
        return "s"

    compacted(policy, writer, answer=meanwhile)
    assert [name for name in messages_of(log) if name in said] == said


@policies
@bounded
@given(appended=native_events())
def test_whatever_leaves_a_context_is_in_a_summary(policy, appended):
    log, writer = session_of(appended)
    before = {part.id for part in build_context(log, "s").parts if part.kind != "compaction"}
    done = compacted(policy, writer)
    if done.plan is not None and done.outcome == "compacted":
        gone = before - {part.id for part in build_context(log, "s").parts}
        assert gone <= {*done.plan.cut.to_summarize, *done.plan.cut.turn_prefix}


@bounded
@given(appended=native_events(), budget=st.integers(1, 60))
def test_what_is_kept_stays_within_its_budget_or_is_the_newest_group(appended, budget):
    log, _ = session_of(appended)
    policy = msgspec.structs.replace(preset("pi"), cut=KeepRecent(tokens=budget))
    compactor = Compactor(policy=policy, asker=Asker(summarizers=[]), limits=LIMITS, tokens=TOKENS)
    with log.snapshot() as snapshot:
        plan = compactor.plan(snapshot, "s")
    if plan is not None and plan.tokens_kept > budget:
        starts = [item.id for item in plan.window.items if item.may_start]
        assert plan.cut.kept[0] == starts[-1]
