"""Check properties of any session under any policy, with numbers for small sessions."""

from __future__ import annotations

import json
from collections import Counter
from functools import wraps
from itertools import count

import msgspec
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from compaction.branching.undo import undo
from compaction.compactor import Compactor
from compaction.cuts import (
    KeepRecent,
    LastMessages,
    OhMyPiRecent,
    OpencodeTail,
    Pi87Recent,
    PiRecent,
    TailTurn,
)
from compaction.part import Limits
from compaction.policy.load import load_preset, preset_names
from compaction.policy.model import Prompting
from compaction.rewriting import record_rewrites
from compaction.summarizers.anthropic import messages_request
from compaction.summarizers.chain import SummarizerChain
from eventstore.memory import MemoryLog
from eventstore.records import Rewrite, record_of
from eventstore.views import call_indexes
from eventstore.writing import SessionWriter
from projections.context.build import build_context, context_json
from projections.context.parts import view_of_part
from projections.requests.anthropic import render
from projections.tokens import counter
from tests.compaction.scripted import Scripted
from tests.compaction.sessions import calling, cuts, sessions, small
from tests.compaction.sessions import policies as any_policies
from tests.support.events import NOW, events
from tests.support.examples import examples
from tests.support.validator import validate

bounded = settings(max_examples=examples(30))
LIMITS = Limits(window=200_000)
TOKENS = counter("utf16/4")
SUMMARIZING = [name for name in preset_names() if load_preset(name).cut]
each_policy = pytest.mark.parametrize(
    "policies",
    [*(st.just(small(load_preset(name))) for name in preset_names()), any_policies],
    ids=[*preset_names(), "any"],
)
TWINS = {PiRecent: KeepRecent, Pi87Recent: KeepRecent, OhMyPiRecent: KeepRecent, OpencodeTail: TailTurn}
"""Cuts of harnesses that may part a call from a late result, each with the cut that does not."""


def mended(policy):
    """The policy in small, with a cut that parts no call from its results."""
    twin = TWINS.get(type(policy.cut))
    return small(msgspec.structs.replace(policy, cut=twin()) if twin else policy)


each_mended_policy = pytest.mark.parametrize(
    "policies",
    [*(st.just(mended(load_preset(name))) for name in preset_names()), any_policies],
    ids=[*preset_names(), "any"],
)
each_summarizing_policy = pytest.mark.parametrize(
    "policies",
    [*(st.just(small(load_preset(name))) for name in SUMMARIZING), any_policies],
    ids=[*SUMMARIZING, "any"],
)
DONE: Counter[str] = Counter()
"""Counts each outcome of a compaction, and rewrites, that a property has met."""
LEAST = 5
"""In so many of its draws at least a property has to meet something that was done, in at most so many rounds."""
ROUNDS = 6


def bites(*outcomes):
    """A property that fails where its draws hardly ever meet any of these outcomes: it would promise nothing.

    Draws may all be small by chance: then others are drawn.
    """

    def counted(holds):
        @wraps(holds)
        def counting(**given):
            DONE.clear()
            for _ in range(ROUNDS):
                holds(**given)
                if sum(DONE[outcome] for outcome in outcomes) >= LEAST:
                    return
            pytest.fail(f"hardly any draw met any of {outcomes}: {dict(DONE)}")

        return counting

    return counted


def session_of(appended):
    log = MemoryLog(clock=lambda: NOW)
    log.append("s", appended)
    numbers = count(1)
    writer = SessionWriter(log, "s", clock=lambda: 10_000_000, new_id=lambda: f"own-{next(numbers)}")
    return log, writer


def compacted(policy, writer, reason="threshold", answer=lambda _: "s", scribe=None, **where):
    chain = SummarizerChain(summarizers=[scribe or Scripted(answer)], wait=lambda _: None)
    compactor = Compactor(policy=policy, chain=chain, limits=LIMITS, tokens=TOKENS)
    done = compactor.compact(writer, reason=reason, continues=True, **where)
    event(done.outcome)
    DONE[done.outcome] += 1
    return done


def rewritten(policy, writer):
    made = record_rewrites(writer, policy.rewrites, tokens=TOKENS, is_compacting=True).events
    DONE["rewritten"] += bool(made)
    return made


def made_small(policy, writer):
    return [*rewritten(policy, writer), *compacted(policy, writer).events]


def messages_of(log):
    """The messages of the context, the summary aside."""
    return [part.id for part in build_context(log, "s").parts if part.kind != "compaction"]


def rendered(log):
    return render(build_context(log, "s"), model="claude-x")


def has_messages(log):
    """Return True if a request would have messages: people alone see some entries."""
    return bool(json.loads(rendered(log).body)["messages"])


def needed(log):
    """The repairs of a context, by rule and event."""
    return {(repair.rule, repair.event) for repair in rendered(log).repairs}


def size(log):
    return sum(TOKENS.count(build_context(log, "s").parts))


def hidden(log, since, messages):
    """The messages that one rewrite behind an event shows another message in place of."""
    later = [each for each in events(log, "s") if each.seq > since and each.kind == "rewrite"]
    spans = [shown for each in later for shown in record_of("rewrite", each.body).targets if shown.through]
    places = {name: place for place, name in enumerate(messages)}
    return {name for span in spans for name in messages[places[span.target] : places[span.through] + 1]}


def shown_otherwise(log, since):
    """The messages that rewrites behind an event show otherwise."""
    later = [each for each in events(log, "s") if each.seq > since and each.kind == "rewrite"]
    records = [record_of("rewrite", each.body) for each in later]
    return {shown.target for record in records if isinstance(record, Rewrite) for shown in record.targets}


@pytest.mark.slow
@each_policy
@bites("compacted", "rewritten")
@bounded
@given(data=st.data(), appended=sessions)
def test_what_a_policy_leaves_is_a_request_that_the_api_takes(policies, data, appended):
    policy = data.draw(policies)
    log, writer = session_of(appended)
    had_messages = has_messages(log)
    made_small(policy, writer)
    if had_messages or has_messages(log):
        assert validate(rendered(log).body) == []


@pytest.mark.slow
@each_mended_policy
@bites("compacted", "rewritten")
@bounded
@given(data=st.data(), appended=sessions)
def test_nothing_that_a_policy_does_needs_a_repair_that_was_not_needed_before(policies, data, appended):
    policy = data.draw(policies)
    log, writer = session_of(appended)
    before = needed(log)
    made_small(policy, writer)
    assert needed(log) <= before


@pytest.mark.slow
@each_policy
@bites("compacted", "rewritten")
@bounded
@given(data=st.data(), session=calling())
def test_results_that_come_after_what_a_policy_did_need_no_repair_that_was_not_needed_without_it(
    policies, data, session
):
    policy = data.draw(policies)
    appended, results = session
    untouched, _ = session_of([*appended, *results])
    log, writer = session_of(appended)
    made_small(policy, writer)
    log.append("s", results)
    assert needed(log) <= needed(untouched)


@pytest.mark.slow
@each_policy
@bites("compacted", "rewritten")
@bounded
@given(data=st.data(), appended=sessions)
def test_what_is_kept_is_byte_for_byte_what_it_was_but_for_recorded_rewrites(policies, data, appended):
    policy = data.draw(policies)
    log, writer = session_of(appended)
    before = {part.seq: part.raw for part in build_context(log, "s").parts}
    since = len(events(log, "s"))
    made_small(policy, writer)
    otherwise = shown_otherwise(log, since)
    for part in build_context(log, "s").parts:
        if part.seq in before and part.id not in otherwise:
            assert part.raw == before[part.seq]


@pytest.mark.slow
@each_policy
@bites("compacted", "rewritten")
@bounded
@given(data=st.data(), appended=sessions)
def test_an_undo_gives_the_exact_bytes_back(policies, data, appended):
    policy = data.draw(policies)
    log, writer = session_of(appended)
    before = context_json(log, "s")
    appends = [rewritten(policy, writer), compacted(policy, writer).events]
    for made in filter(None, reversed(appends)):
        undo(writer, made[0])
    assert context_json(log, "s") == before


@pytest.mark.slow
@each_summarizing_policy
@bites("compacted")
@bounded
@given(data=st.data(), appended=sessions)
def test_every_message_of_the_context_before_is_summarized_or_kept(policies, data, appended):
    policy = data.draw(policies)
    log, writer = session_of(appended)
    before = messages_of(log)
    plan = compacted(policy, writer).plan
    if plan is not None:
        assert [*plan.cut.to_summarize, *plan.cut.turn_prefix, *plan.cut.kept] == before


@pytest.mark.slow
@each_summarizing_policy
@bites("compacted")
@bounded
@given(data=st.data(), appended=sessions, late=st.integers(1, 3))
def test_a_message_that_comes_while_a_summary_is_made_is_never_lost(policies, data, appended, late):
    policy = data.draw(policies)
    log, writer = session_of(appended)
    said = []

    def meanwhile(_prompt):
        if not said:
            said.extend(writer.message({"role": "user", "content": f"late {each}"}) for each in range(late))
        return "s"

    compacted(policy, writer, answer=meanwhile)
    assert [name for name in messages_of(log) if name in said] == said


@pytest.mark.slow
@each_summarizing_policy
@bites("compacted")
@bounded
@given(data=st.data(), appended=sessions)
def test_whatever_leaves_a_context_is_in_a_summary(policies, data, appended):
    policy = data.draw(policies)
    log, writer = session_of(appended)
    before = {part.id for part in build_context(log, "s").parts if part.kind != "compaction"}
    done = compacted(policy, writer)
    if done.plan is not None and done.outcome == "compacted":
        gone = before - {part.id for part in build_context(log, "s").parts}
        assert gone <= {*done.plan.cut.to_summarize, *done.plan.cut.turn_prefix}


@pytest.mark.slow
@each_policy
@bites("compacted", "rewritten")
@bounded
@given(data=st.data(), appended=sessions)
def test_every_message_is_shown_or_in_the_summary_or_recorded_as_left_out(policies, data, appended):
    policy = data.draw(policies)
    log, writer = session_of(appended)
    before = [part.id for part in build_context(log, "s").parts if part.kind != "compaction"]
    since = len(events(log, "s"))
    rewritten(policy, writer)
    done = compacted(policy, writer)
    told = set(messages_of(log)) | hidden(log, since, before)
    if done.outcome == "compacted":
        told |= {*done.plan.cut.to_summarize, *done.plan.cut.turn_prefix}
    assert set(before) <= told


@pytest.mark.slow
@each_mended_policy
@bites("compacted", "rewritten")
@bounded
@given(data=st.data(), appended=sessions)
def test_no_call_is_parted_from_its_results(policies, data, appended):
    policy = data.draw(policies)
    log, writer = session_of(appended)
    before = build_context(log, "s").parts
    roles = {part.id: part.role for part in before}
    made_small(policy, writer)
    shown = {part.id for part in build_context(log, "s").parts if roles.get(part.id) == part.role}
    pairs = call_indexes([view_of_part(part) for part in before])
    parted = [
        (before[call].id, before[result].id)
        for result, call in pairs.items()
        if (before[call].id in shown) != (before[result].id in shown)
    ]
    assert parted == []


@bounded
@given(appended=sessions, cut=cuts)
def test_what_is_kept_stays_within_its_budget_or_is_the_newest_group(appended, cut):
    log, _ = session_of(appended)
    policy = msgspec.structs.replace(load_preset("pi"), cut=cut)
    compactor = Compactor(policy=policy, chain=SummarizerChain(summarizers=[]), limits=LIMITS, tokens=TOKENS)
    with log.snapshot() as snapshot:
        plan = compactor.plan(snapshot, "s")
    if isinstance(plan, str):
        return
    starts = [place for place, item in enumerate(plan.window.items) if item.may_start]
    place = len(plan.window.items) - len(plan.cut.kept)
    if isinstance(cut, LastMessages):
        wanted = max(len(plan.window.items) - cut.messages, 0)
        assert place in (wanted, max((each for each in starts if each <= wanted), default=wanted))
        return
    budget = cut.budget(LIMITS) if isinstance(cut, TailTurn) else cut.tokens
    assert plan.tokens_kept <= budget or place == starts[-1]
    if isinstance(cut, TailTurn):
        assert plan.cut.shrinks_to == (None if plan.tokens_kept <= budget else budget)


@pytest.mark.slow
@each_summarizing_policy
@bites("compacted")
@bounded
@given(data=st.data(), appended=sessions)
def test_the_size_that_a_compaction_records_is_that_of_the_context_that_it_leaves(policies, data, appended):
    policy = data.draw(policies)
    log, writer = session_of(appended)
    before = size(log)
    done = compacted(policy, writer)
    if done.outcome == "compacted":
        assert (done.plan.tokens_before, done.tokens_after) == (before, size(log))
        assert size(log) < before
    else:
        assert size(log) == before


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["serialized", "live-prefix"])
@bites("compacted")
@bounded
@given(data=st.data(), appended=sessions)
def test_every_request_for_a_summary_is_one_that_the_api_takes(shape, data, appended):
    policy = data.draw(any_policies)
    asking = Prompting(shape=shape, window=data.draw(st.sampled_from([180_000, 20_000, 100])))
    _, writer = session_of(appended)
    scribe = Scripted(lambda _: "s")
    compacted(msgspec.structs.replace(policy, prompting=asking), writer, scribe=scribe)
    for prompt in scribe.prompts:
        assert validate(messages_request(prompt, "claude-x").body) == []


@pytest.mark.slow
@bites("compacted")
@bounded
@given(data=st.data(), appended=sessions, policy=any_policies, recovery=cuts)
def test_after_a_refusal_any_leaf_is_made_smaller_without_a_loss_or_a_repair(
    data, appended, policy, recovery
):
    log, writer = session_of(appended)
    leaf = data.draw(st.sampled_from([each.id for each in events(log, "s") if each.is_entry] or [None]))
    stood, before = context_json(log, "s"), build_context(log, "s", leaf=leaf)
    repairs = {(repair.rule, repair.event) for repair in render(before, model="claude-x").repairs}
    done = compacted(policy, writer, "overflow", leaf=leaf, cut=recovery)
    if done.outcome != "compacted":
        return
    shown = {part.id for part in build_context(log, "s").parts}
    told = shown | {*done.plan.cut.to_summarize, *done.plan.cut.turn_prefix}
    assert {part.id for part in before.parts if part.kind != "compaction"} <= told
    assert needed(log) <= repairs
    undo(writer, done.events[0])
    assert context_json(log, "s") == stood
