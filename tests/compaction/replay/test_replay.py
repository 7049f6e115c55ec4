"""Replay made-up sessions with other policies."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest

from compaction.cuts import KeepRecent
from compaction.policy.load import load_preset
from compaction.replay import Measures, replay_session
from compaction.replay.boundaries import SMALLEST, Where
from compaction.replay.results import ReplayResult, summaries
from compaction.replay.variants import Variant
from compaction.summarizers.chain import SummarizerChain
from compaction.summarizers.extractive import ExtractiveSummarizer
from eventstore.memory import MemoryLog
from eventstore.records import Compaction
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


def replayed(story: Story, *variants: Variant, at: Where = "clean", **options: Any) -> list[ReplayResult]:
    with story.log.snapshot() as snapshot:
        return list(
            replay_session(snapshot, story.session, variants, Measures(at=at, limits=LIMITS, **options))
        )  # type: ignore[arg-type]


def test_clean_boundaries_are_a_step_apart_and_have_a_future(story: Story) -> None:
    results = replayed(story, variant("refold"))
    sizes = [trial.tokens_before or 0 for each in results for trial in each.trials]
    assert len(results) >= 2
    assert sizes[0] >= SMALLEST
    assert all(later - earlier >= 10_000 for earlier, later in pairwise(sizes))


def test_no_call_is_open_at_a_boundary(story: Story) -> None:
    for each in replayed(story, variant("refold")):
        assert story[each.boundary.leaf].role in ("toolResult", "user")


@pytest.mark.slow
def test_nothing_is_appended(story: Story) -> None:
    with story.log.snapshot() as snapshot:
        before = snapshot.head(story.session)
    replayed(story, variant("refold"), variant("mask"))
    with story.log.snapshot() as snapshot:
        assert snapshot.head(story.session) == before


def test_what_was_not_compacted_has_no_recorded_result(story: Story) -> None:
    first = replayed(story, RECORDED)[0]
    assert first.trials[0].error is not None
    assert first.trials[0].tokens_after is None


def test_figures_of_an_untouched_session_equal_those_of_its_audit(story: Story) -> None:
    story.add(Compaction(summary="Read everything in src/.", first_kept_entry_id="e60", tokens_before=9))
    story.says(user("go on"), assistant("I look at src/part_4.py and src/parser.py."))
    ((trial, compaction),) = replayed_as_audited(story.log, story.session)
    assert trial.first_kept == compaction.first_kept


def test_a_trial_keeps_its_summary(story: Story) -> None:
    last = replayed(story, variant("refold"), variant("refold", drops=True))[-1]
    assert "src/part_3.py" in last.summaries["refold"]
    assert "drop" not in last.summaries


def test_without_compactions_there_is_no_recorded_boundary(story: Story) -> None:
    assert replayed(story, RECORDED, at="recorded") == []


def test_a_policy_that_has_nothing_to_do_is_that_variants_failure(story: Story) -> None:
    everything = variant("refold", keep=500_000)
    each = replayed(story, everything, variant("refold", drops=True))[0]
    assert each.trials[0].error is not None
    assert each.trials[1].error is None


def test_all_variants_count_the_same_boundaries(story: Story) -> None:
    keeps_all = variant("refold", keep=45_000)
    names = ["drop", "refold"]
    results = replayed(story, variant("refold", drops=True), keeps_all)
    found = summaries(results, names)
    assert found[1].failed > 0
    assert found[0].trials == found[1].trials == len(results) - found[1].failed
