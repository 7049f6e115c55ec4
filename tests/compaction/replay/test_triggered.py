"""Let policies decide when a made-up session is compacted."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from compaction.compactor import Compactor
from compaction.cuts import KeepRecent
from compaction.maintainer import Maintainer
from compaction.part import Limits
from compaction.policy.load import load_preset
from compaction.policy.model import Policy
from compaction.replay import triggered
from compaction.replay.triggered import TriggeredRun, triggered_runs
from compaction.replay.variants import Variant
from compaction.summarizers.chain import SummarizerChain
from compaction.summarizers.extractive import ExtractiveSummarizer
from compaction.triggers import Threshold
from eventstore.memory import MemoryLog
from eventstore.records import Compaction
from projections.timeline import timeline
from projections.tokens import counter
from tests.support.replays import flat_prices
from tests.support.talk import Story, assistant, call, result, user

WRITTEN = 2.0
CHAIN = SummarizerChain(summarizers=[ExtractiveSummarizer()])
TURNS = 30


def at(threshold: int, *, keep: int = 2_000) -> Variant:
    policy = msgspec.structs.replace(
        load_preset("refold"), trigger=Threshold(tokens=threshold), cut=KeepRecent(tokens=keep)
    )
    return Variant(name=f"at {threshold}", policy=policy, chain=CHAIN)


@pytest.fixture
def story() -> Story:
    """Thirty turns of about two thousand tokens each."""
    story = Story(MemoryLog(clock=lambda: 0))
    for number in range(TURNS):
        story.says(
            user(f"Read src/part_{number}.py."),
            assistant(call("read", f"c{number}", path=f"src/part_{number}.py")),
            result("def take_line(): ...\n" * 400, tool="read", call_id=f"c{number}"),
            assistant("I have read it."),
        )
    return story


def runs(story: Story, *variants: Variant, **options: Any) -> list[TriggeredRun]:
    options = {"limits": Limits(window=200_000), "prices": flat_prices(WRITTEN)} | options
    with story.log.snapshot() as snapshot:
        return list(triggered_runs(snapshot, story.session, variants, **options))


def test_a_policy_that_never_fires_sends_what_was_recorded(story: Story) -> None:
    recorded, never = runs(story, at(150_000))
    assert never.sent == recorded.sent
    assert len(never.sent) == 2 * TURNS
    assert not never.compactions


def test_a_context_above_the_threshold_is_compacted_before_it_is_sent(story: Story) -> None:
    _, run = runs(story, at(20_000))
    assert len(run.compactions) >= 2
    assert all(each.tokens_before > 20_000 for each in run.compactions)
    assert run.peak_tokens == max(sent.tokens for sent in run.sent) <= 20_000


def test_an_answer_behind_a_compaction_sees_what_it_made(story: Story) -> None:
    _, run = runs(story, at(20_000))
    for compaction in run.compactions:
        following = next(sent for sent in run.sent if sent.seq > compaction.seq)
        assert following.tokens == compaction.tokens_after
        assert following.tokens < compaction.tokens_before


def test_every_answer_is_sent_once_whatever_the_policy(story: Story) -> None:
    recorded, *others = runs(story, at(20_000), at(30_000), at(150_000))
    for run in others:
        assert [sent.seq for sent in run.sent] == [sent.seq for sent in recorded.sent]


def test_a_recorded_compaction_is_left_out_of_the_others_runs(story: Story) -> None:
    sizes = [moment.tokens for moment in timeline(story.log, story.session).moments]
    story.add(Compaction(summary="Everything was read.", first_kept_entry_id="e117", tokens_before=9))
    story.says(user("Go on."), assistant("I go on."))
    recorded, never = runs(story, at(150_000))
    assert [each.tokens_before for each in recorded.compactions] == [sizes[-1]]
    assert recorded.sent[-1].tokens < sizes[-1] < never.sent[-1].tokens


def test_a_compaction_is_followed_by_a_prompt_that_nothing_has_cached(story: Story) -> None:
    _, run = runs(story, at(20_000))
    compacted = {
        next(place for place, sent in enumerate(run.sent) if sent.seq > each.seq) for each in run.compactions
    }
    written = sum(
        sent.tokens - (0 if place in compacted | {0} else min(run.sent[place - 1].tokens, sent.tokens))
        for place, sent in enumerate(run.sent)
    )
    assert run.dollars == pytest.approx(written * WRITTEN / 1e6)


def test_a_recorded_compaction_right_after_an_answer_empties_the_cache(story: Story) -> None:
    (before,) = runs(story)
    story.add(Compaction(summary="Everything was read.", first_kept_entry_id="e117", tokens_before=9))
    story.says(user("Go on."), assistant("I go on."))
    (after,) = runs(story)
    assert before.dollars is not None
    assert after.dollars == pytest.approx(before.dollars + after.sent[-1].tokens * WRITTEN / 1e6)


def maintained(policy: Policy, limits: Limits) -> Story:
    """A session kept small by a policy before each answer; of each eighth file, all is shown."""
    story = Story(MemoryLog(clock=lambda: 0))
    keeper = Maintainer(
        compactor=Compactor(policy=policy, chain=CHAIN, limits=limits, tokens=counter(policy.counter)),
        now=lambda: 0,
    )
    for number in range(TURNS // 2):
        lines = "def take_line(): ...\n" * (12_000 if number % 8 == 0 else 400)
        story.says(user(f"Read src/part_{number}.py."))
        keeper.before_request(story.writer)
        story.says(assistant(call("read", f"c{number}", path=f"src/part_{number}.py")))
        story.says(result(lines, tool="read", call_id=f"c{number}"))
        keeper.before_request(story.writer)
        story.says(assistant("I have read it."))
    return story


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "window"),
    [("layered", 6_000), ("layered", 200_000), ("mask", 60_000), ("opencode", 60_000), ("oh-my-pi", 60_000)],
)
def test_a_maintained_session_is_replayed_as_it_went(name: str, window: int) -> None:
    policy, limits = load_preset(name), Limits(window=window)
    recorded, run = runs(
        maintained(policy, limits), Variant(name=name, policy=policy, chain=CHAIN), limits=limits
    )
    assert run.sent == recorded.sent
    assert sizes_around(run) == sizes_around(recorded)


def sizes_around(run: TriggeredRun) -> list[tuple[int, int | None]]:
    return [(each.tokens_before, each.tokens_after) for each in run.compactions]


@pytest.mark.slow
def test_rewrites_before_requests_are_replayed(story: Story) -> None:
    layered = Variant(name="layered", policy=load_preset("layered"), chain=CHAIN)
    never, run = runs(story, layered)
    assert never.tokens_sent is not None
    assert run.tokens_sent is not None
    assert run.tokens_sent < never.tokens_sent / 4


@pytest.mark.slow
def test_a_policy_without_a_cut_is_replayed(story: Story) -> None:
    _, run = runs(
        story, Variant(name="mask", policy=load_preset("mask"), chain=CHAIN), limits=Limits(window=30_000)
    )
    assert (run.compactions, run.error) == ([], None)
    assert run.peak_tokens is not None
    assert run.peak_tokens < 30_000


def test_answers_to_other_contexts_measure_nothing(story: Story) -> None:
    story.says(
        user("Go on."), assistant("I go on.", tokens=150_000), user("Once more."), assistant("I go on.")
    )
    _, run = runs(story, at(20_000))
    last, before = run.compactions[-1], run.compactions[-2]
    assert last.seq < 4 * TURNS
    assert last.seq - before.seq > 4


def test_a_summary_that_fails_ends_a_run(story: Story) -> None:
    failing = msgspec.structs.replace(at(20_000), chain=SummarizerChain(summarizers=[]))
    _, run = runs(story, failing)
    assert run.tokens_sent is None
    assert run.error


def test_a_variant_that_cannot_compact_by_itself_says_so(story: Story) -> None:
    drop = Variant(name="drop", policy=load_preset("refold"), chain=CHAIN, drops=True)
    _, run = runs(story, drop)
    assert run.error is not None
    assert run.tokens_sent is None


def test_nothing_is_appended(story: Story) -> None:
    with story.log.snapshot() as snapshot:
        before = snapshot.head(story.session)
    runs(story, at(20_000))
    with story.log.snapshot() as snapshot:
        assert snapshot.head(story.session) == before


def test_the_recorded_run_is_there_once(story: Story) -> None:
    asked = Variant(name="recorded", policy=None, chain=CHAIN)
    assert [run.variant for run in runs(story, asked, at(150_000))] == ["recorded", "at 150000"]


@pytest.mark.slow
def test_a_run_is_simulated_once(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    simulated: list[str] = []
    real = triggered.timeline

    def counted(*given: Any, **options: Any) -> Any:
        simulated.append("")
        return real(*given, **options)

    monkeypatch.setattr(triggered, "timeline", counted)
    made = runs(story, at(20_000), log=story.log)
    assert simulated
    simulated.clear()
    assert runs(story, at(20_000), log=story.log) == made
    assert not simulated


@pytest.mark.slow
def test_other_prices_run_again(story: Story) -> None:
    (_, cheap), (_, dear) = (
        runs(story, at(20_000), log=story.log, prices=flat_prices(written)) for written in (2.0, 4.0)
    )
    assert dear.dollars == pytest.approx(2 * cheap.dollars)
