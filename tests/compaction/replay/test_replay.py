"""Replay made-up sessions with other policies."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest

from compaction.cuts import KeepRecent
from compaction.policy.load import load_preset
from compaction.replay import replay_session
from compaction.replay.boundaries import SMALLEST
from compaction.replay.comparison import figures_of, summaries
from compaction.replay.results import ReplayResult
from compaction.replay.variants import Variant
from compaction.summarizers.chain import SummarizerChain
from compaction.summarizers.extractive import ExtractiveSummarizer
from eventstore.memory import MemoryLog
from eventstore.records import BranchSummary, Compaction
from projections.audit.session import audit
from tests.support.replays import LIMITS, RECORDED, replayed_as_audited
from tests.support.talk import Story, assistant, call, reads_files, result, user

CHAIN = SummarizerChain(summarizers=[ExtractiveSummarizer()])


def variant(preset: str, *, keep: int = 2_000, drops: bool = False) -> Variant:
    policy = msgspec.structs.replace(load_preset(preset), cut=KeepRecent(tokens=keep))
    return Variant(name="drop" if drops else preset, policy=policy, chain=CHAIN, drops=drops)


@pytest.fixture
def story() -> Story:
    """A long session: a file is read, many others follow, and the first is needed again."""
    story = Story(MemoryLog(clock=lambda: 0))
    story.says(user("Repair the parser of expressions. Use src/parser.py."))
    reads_files(story, 30)
    story.says(assistant("Done with reading."), user("Now repair src/part_3.py."))
    for number in range(4):
        story.says(
            assistant(call("edit", f"d{number}", path="src/part_3.py", newText="x")),
            result("done", tool="edit", call_id=f"d{number}"),
        )
    return story


def replayed(story: Story, *variants: Variant, at: str = "clean", **options: Any) -> list[ReplayResult]:
    with story.log.snapshot() as snapshot:
        return list(replay_session(snapshot, story.session, variants, at=at, limits=LIMITS, **options))  # type: ignore[arg-type]


def test_clean_boundaries_are_a_step_apart_and_have_a_future(story: Story) -> None:
    results = replayed(story, variant("refold"))
    sizes = [trial.tokens_before or 0 for each in results for trial in each.trials]
    assert len(results) >= 2
    assert sizes[0] >= SMALLEST
    assert all(later - earlier >= 10_000 for earlier, later in pairwise(sizes))


def test_no_call_is_open_at_a_boundary(story: Story) -> None:
    for each in replayed(story, variant("refold")):
        assert story[each.boundary.leaf].role in ("toolResult", "user")


def test_every_variant_has_the_same_denominator(story: Story) -> None:
    for each in replayed(story, variant("refold"), variant("oh-my-pi"), variant("refold", drops=True)):
        assert all(kept <= each.kept.needed for kept in each.kept.by_variant.values())
        assert len(each.kept.needed) == each.boundary.needed_count


def test_a_summary_keeps_names_that_dropping_loses(story: Story) -> None:
    last = replayed(story, variant("refold"), variant("refold", drops=True))[-1]
    summarized, dropped = (last.kept.by_variant[name] for name in ("refold", "drop"))
    assert {value for _, value in summarized - dropped} >= {"src/part_3.py"}


def test_nothing_is_appended(story: Story) -> None:
    with story.log.snapshot() as snapshot:
        before = snapshot.head(story.session)
    replayed(story, variant("refold"), variant("mask"))
    with story.log.snapshot() as snapshot:
        assert snapshot.head(story.session) == before


def test_what_was_not_compacted_has_no_recorded_result(story: Story) -> None:
    first = replayed(story, RECORDED)[0]
    assert first.trials[0].error is not None
    assert first.trials[0].kept_count is None


def test_figures_of_an_untouched_session_equal_those_of_its_audit(story: Story) -> None:
    story.add(Compaction(summary="Read everything in src/.", first_kept_entry_id="e60", tokens_before=9))
    story.says(user("go on"), assistant("I look at src/part_4.py and src/parser.py."))
    ((trial, compaction),) = replayed_as_audited(story.log, story.session)
    assert trial.first_kept == compaction.first_kept
    assert compaction.metrics.future_use.total > 0


def test_without_compactions_there_is_no_recorded_boundary(story: Story) -> None:
    assert replayed(story, RECORDED, at="recorded") == []


def test_what_was_needed_ends_where_the_audit_stops_looking(story: Story) -> None:
    story.add(Compaction(summary="Read everything in src/.", first_kept_entry_id="e60", tokens_before=9))
    story.says(user("go on"), assistant("I look at src/part_4.py."))
    story.add(BranchSummary(summary="An attempt failed.", from_id="e60"))
    story.says(assistant("I look at src/part_5.py."))
    (only,) = replayed(story, RECORDED, at="recorded")
    (compaction,) = audit(story.log, "s").compactions
    assert only.boundary.needed_count == compaction.metrics.future_use.total == 1


def test_a_policy_that_has_nothing_to_do_is_that_variants_failure(story: Story) -> None:
    everything = variant("refold", keep=500_000)
    each = replayed(story, everything, variant("refold", drops=True))[0]
    assert each.trials[0].error is not None
    assert each.trials[1].error is None


def test_shares_of_all_variants_have_one_denominator(story: Story) -> None:
    keeps_all = variant("refold", keep=45_000)
    names = ["drop", "refold"]
    results = replayed(story, variant("refold", drops=True), keeps_all)
    found = summaries([figures_of(each) for each in results], names)
    assert found[1].failed > 0
    assert found[0].trials == found[1].trials == len(results) - found[1].failed
    assert found[0].needed_count == found[1].needed_count
    shared = [each.boundary for each in results if all(trial.error is None for trial in each.trials)]
    asked = sum(each.probe_count for each in shared)
    assert found[0].probe_count == found[1].probe_count == asked > 0


def test_pairs_are_compared_where_all_variants_have_results(story: Story) -> None:
    variants = [variant("refold"), variant("refold", drops=True), variant("oh-my-pi", keep=45_000)]
    figures = [figures_of(each) for each in replayed(story, *variants)]
    shared = [each for each in figures if all(trial.error is None for trial in each.trials)]
    names = [each.name for each in variants]
    found, expected = (summaries(some, names)[1] for some in (figures, shared))
    assert 0 < len(shared) < len(figures)
    assert (found.overlap, found.difference) == (expected.overlap, expected.difference)


def test_probes_are_asked_of_the_new_context(story: Story) -> None:
    story.add(Compaction(summary="Nothing.", first_kept_entry_id="e69", tokens_before=9))
    story.says(user("go on"), assistant("I look at src/part_4.py."))
    (each,) = replayed(story, RECORDED, at="recorded")
    assert (each.trials[0].answered_count or 0) < each.boundary.probe_count


def test_a_horizon_of_one_answer_needs_what_that_answer_used(story: Story) -> None:
    story.add(Compaction(summary="Read everything in src/.", first_kept_entry_id="e60", tokens_before=9))
    story.says(
        user("go on"), assistant("I look at src/part_4.py."), user("and?"), assistant("Now src/part_5.py.")
    )
    whole, near = (replayed(story, RECORDED, at="recorded", horizon=each)[0] for each in (None, 1))
    assert {value for _, value in near.kept.needed} == {"src/part_4.py"}
    assert {value for _, value in whole.kept.needed} == {"src/part_4.py", "src/part_5.py"}


def test_a_horizon_beyond_the_end_changes_nothing(story: Story) -> None:
    assert replayed(story, variant("refold"), horizon=1_000) == replayed(story, variant("refold"))


def test_contexts_of_matched_size_are_as_large_as_the_recorded_one(story: Story) -> None:
    story.add(Compaction(summary="Read everything. " * 1_000, first_kept_entry_id="e40", tokens_before=9))
    story.says(user("go on"), assistant("I look at src/part_4.py."))
    (each,) = replayed(
        story, RECORDED, variant("refold", drops=True), variant("refold"), at="recorded", matches_size=True
    )
    recorded, *others = each.trials
    sizes = [trial.tokens_after for trial in others if trial.error is None]
    assert sizes
    assert all(size == pytest.approx(recorded.tokens_after, rel=0.02) for size in sizes)


def test_a_size_that_no_tail_reaches_is_the_variants_failure(story: Story) -> None:
    story.add(Compaction(summary="", first_kept_entry_id="e70", tokens_before=9))
    story.says(user("go on"), assistant("I look at src/part_4.py."))
    (each,) = replayed(story, RECORDED, variant("refold"), at="recorded", matches_size=True)
    assert each.trials[1].error is not None
