"""Variants compact their own contexts again, round by round."""

from __future__ import annotations

import msgspec
import pytest

from compaction.policy.load import load_preset
from compaction.prompts import Prompt
from compaction.replay import Measures, replay_session
from compaction.replay.program import Program
from compaction.replay.results import ReplayResult
from compaction.replay.variants import Variant
from compaction.summarizers import Answer, Cancellation
from compaction.summarizers.chain import SummarizerChain
from compaction.templates import find_template
from eventstore.memory import MemoryLog
from eventstore.records import Compaction, Note
from projections.audit.readings import Quotation, Reading, Rule, RuleState
from tests.support.replays import LIMITS, RECORDED
from tests.support.talk import Story, assistant, user

RULES = ("Never push to the main branch.", "Write no comments in the tests.")
HEADINGS = [f"## {each}\nall" for each in find_template("compaction", ()).sections]


class Forgetful:
    """Write the rules into the first two summaries, and forget one in round 3."""

    name = "forgetful"
    identity = ("forgetful",)

    def __init__(self) -> None:
        self.previous: list[str] = []

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        del is_cancelled
        if prompt.template.name == "turn-prefix":
            return Answer(text="all", model="m")
        self.previous.append(prompt.previous)
        rules = RULES if len(self.previous) < 3 else RULES[1:]
        return Answer(text="\n".join([*HEADINGS, *rules, f"round {len(self.previous)}"]), model="m")


def story_of(rounds: int) -> Story:
    """A session that was compacted so often, whose rules come first; one reading names them."""
    story = Story(MemoryLog(clock=lambda: 0))
    said = story.says(user(RULES[0]), user(RULES[1]))
    for number in range(1, rounds + 1):
        for place in range(3):
            story.says(user(f"Round {number}, {place}. " + "more words " * 200), assistant("Done. " * 200))
        compacted = story.add(Compaction(summary=f"S{number}", first_kept_entry_id="", tokens_before=9))
    story.says(assistant("Go on."))
    rules = [
        Rule(
            rule=quote,
            said=[Quotation(event=each, seq=story[each].seq, quote=quote)],
            state=RuleState.GONE,
            in_summary=None,
            broken=[],
        )
        for each, quote in zip(said, RULES, strict=True)
    ]
    reading = Reading(
        boundary=compacted,
        until=compacted,
        input="",
        rules=rules,
        facts=[],
        losses=[],
        refused=[],
        request={},
    )
    story.writer.append(Note(target_id=compacted, data=msgspec.to_builtins(reading)))
    return story


def replayed(story: Story, *variants: Variant, rounds: int = 0) -> list[ReplayResult]:
    measures = Measures(at="recorded", limits=LIMITS, rounds=rounds)
    with story.log.snapshot() as snapshot:
        return list(replay_session(snapshot, story.session, variants, measures, log=story.log))


def variant(summarizer: Forgetful | None = None, *, drops: bool = False) -> Variant:
    return Variant(
        name="v",
        policy=load_preset("refold").keeping(0),
        chain=SummarizerChain(summarizers=[summarizer or Forgetful()]),
        drops=drops,
    )


def rules(results: list[ReplayResult], place: int = 0) -> list[int | None]:
    return [None if (kept := each.trials[place].kept) is None else kept.rules for each in results]


def test_a_summary_can_lose_rules_in_round_three() -> None:
    summarizer = Forgetful()
    results = replayed(story_of(3), variant(summarizer), RECORDED, rounds=3)
    assert [each.boundary.round for each in results] == [1, 2, 3]
    assert rules(results) == [2, 2, 1]
    assert rules(results, 1) == [0, 0, 0]
    assert {each.boundary.asked.rules for each in results if each.boundary.asked} == {2}
    # Each summary is made from the one before, not from the recorded one.
    assert ["round 1" in each for each in summarizer.previous] == [False, True, False]
    assert "round 2" in summarizer.previous[2]
    assert not any("S1" in each for each in summarizer.previous)


def test_round_one_is_the_ordinary_trial() -> None:
    story = story_of(2)
    (alone, *_), (first, *_) = replayed(story, variant()), replayed(story, variant(), rounds=2)
    assert alone.summaries == first.summaries
    assert (alone.trials[0].tokens_before, alone.trials[0].tokens_after) == (
        first.trials[0].tokens_before,
        first.trials[0].tokens_after,
    )


def test_recorded_rounds_are_the_identity() -> None:
    story = story_of(3)
    alone, rounds = replayed(story, RECORDED), replayed(story, RECORDED, rounds=3)
    sizes = [
        [(each.trials[0].tokens_before, each.trials[0].tokens_after) for each in found]
        for found in (alone, rounds)
    ]
    assert sizes[0] == sizes[1]


def test_a_later_round_has_only_new_messages() -> None:
    results = replayed(story_of(3), variant(), rounds=3)
    first, second, third = (each.trials[0].tokens_before or 0 for each in results)
    assert second < 1.2 * first
    assert third < 1.2 * first


def test_programs_and_drops_go_on_from_theirs() -> None:
    command = 'python -c \'import json,sys; print(json.dumps({"messages": json.load(sys.stdin)["messages"][-1:]}))\''
    program = Variant(
        name="p", policy=None, chain=SummarizerChain(summarizers=[]), program=Program(command=command)
    )
    dropping = msgspec.structs.replace(variant(drops=True), policy=load_preset("refold").keeping(500))
    results = replayed(story_of(3), program, dropping, rounds=3)
    assert [trial.error for each in results for trial in each.trials] == [None] * 6
    assert rules(results) == rules(results, 1) == [0, 0, 0]
    before = [each.trials[0].tokens_before or 0 for each in results]
    assert max(before[1:]) < 1.5 * before[0]


def test_a_run_of_rounds_is_made_once() -> None:
    story, summarizer = story_of(2), Forgetful()
    made = replayed(story, variant(summarizer), rounds=2)
    asked = len(summarizer.previous)
    assert replayed(story, variant(summarizer), rounds=2) == made
    assert len(summarizer.previous) == asked == 2


@pytest.mark.parametrize("rounds", [1, 5])
def test_a_session_has_only_its_own_rounds(rounds: int) -> None:
    assert len(replayed(story_of(2), variant(), rounds=rounds)) == min(rounds, 2)
