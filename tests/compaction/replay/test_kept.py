"""Contexts keep something of a boundary's reading: quotations that stand there word for word."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import msgspec
import pytest

from compaction.judge.reading import find_templates, judge
from compaction.policy.load import load_preset
from compaction.replay import Measures, replay_session
from compaction.replay.intervals import FEWEST_SESSIONS, interval
from compaction.replay.kept import claims_of, kept_in
from compaction.replay.program import Program
from compaction.replay.results import Counts, Kept, ReplayedBoundary, ReplayResult, Trial, summaries
from compaction.replay.variants import Variant
from compaction.summarizers.chain import SummarizerChain
from compaction.summarizers.extractive import ExtractiveSummarizer
from eventstore.memory import MemoryLog
from eventstore.records import Note
from eventstore.writing import SessionWriter
from projections.audit.readings import Fact, Quotation, Reading, readings
from projections.context.build import context_at
from projections.context.cursor import resolve_cursor
from projections.context.parts import Part
from tests.compaction.judge.lossy import (
    FACT_CLAIM,
    LOOK,
    LOSS_CLAIM,
    RULE_CLAIM,
    Scripted,
    answer,
    lossy,
    material_of,
)
from tests.compaction.test_native_histories import EARLY, LATE, bring, compacted
from tests.support.replays import LIMITS, RECORDED
from tests.support.talk import Story, assistant, user

WORDS = "tests hang stdin port cache never main branch token limit file parser retry flag line".split()


def reading_of(facts: Sequence[str]) -> Reading:
    known = [
        Fact(fact="f", kind="remedy", known=[Quotation(event="e1", seq=1, quote=each)]) for each in facts
    ]
    return Reading(
        boundary="e2", until="e2", input="", rules=[], facts=known, losses=[], refused=[], request={}
    )


def parts_of(*texts: str) -> Sequence[Part]:
    """The context in which a person and a model say these in turn."""
    story = Story(MemoryLog(clock=lambda: 0))
    story.says(*((assistant if place % 2 else user)(each) for place, each in enumerate(texts)))
    with story.log.snapshot() as snapshot:
        return context_at(snapshot, resolve_cursor(snapshot, story.session)).parts


def has(quote: str, *texts: str) -> bool:
    return kept_in(parts_of(*texts), claims_of([reading_of([quote])])).facts == 1


@pytest.mark.parametrize("seed", range(5))
def test_planted_facts_are_found(seed: int) -> None:
    random = Random(seed)
    facts = [f"{' '.join(random.choices(WORDS, k=6))} is {number}" for number in range(100)]
    planted = set(random.sample(facts, 50))
    # What was cut leaves most of its words behind.
    texts = [
        f"{random.choice(WORDS)} {each.replace(' ', random.choice([' ', chr(10), '  ']))}; go on"
        if each in planted
        else f"{each.rpartition(' ')[0]} unknown, and {each.partition(' ')[2]}0"
        for each in facts
    ]
    parts = parts_of(*texts)
    found = {each for each in facts if kept_in(parts, claims_of([reading_of([each])])).facts}
    assert len(found & planted) / len(found) >= 0.95
    assert len(found & planted) / len(planted) >= 0.95


def test_a_short_quotation_is_a_whole_piece() -> None:
    assert has("yes", "go on?", "yes")
    assert not has("yes", "go on?", "yes, but later")


def test_a_quotation_ends_where_words_end() -> None:
    assert has("the limit is 10 requests", "so the limit is 10 requests.")
    assert not has("the limit is 10 requests", "the limit is 10 requestsets")


def test_a_quotation_never_spans_two_messages() -> None:
    assert not has("the limit is 10 requests", "the limit is", "10 requests")


def read() -> Story:
    """A session whose boundary was read: a rule, a fact and a loss."""
    story = lossy()
    claims = answer(rules=[RULE_CLAIM], facts=[FACT_CLAIM], losses=[LOSS_CLAIM])
    looks = [
        msgspec.json.encode(LOOK | {"because": each}).decode()
        for each in ({"event": 7, "quote": "it hangs"},)
    ]
    judge(
        story.writer,
        SummarizerChain(summarizers=[Scripted(claims, *looks, *looks)]),
        material_of(story),
        find_templates(()),
    )
    return story


def replayed(story: Story, *variants: Variant) -> ReplayResult:
    with story.log.snapshot() as snapshot:
        (found,) = replay_session(
            snapshot, story.session, variants, Measures(at="recorded", limits=LIMITS), log=story.log
        )
        return found


def keeping(tokens: int) -> Variant:
    chain = SummarizerChain(summarizers=[ExtractiveSummarizer()])
    return Variant(name="refold", policy=load_preset("refold").keeping(tokens), chain=chain)


def test_what_was_recorded_lacks_what_it_lost() -> None:
    found = replayed(read(), RECORDED)
    assert found.boundary.asked is not None
    assert (found.boundary.asked.rules, found.boundary.asked.facts) == (1, 1)
    assert found.trials[0].kept == Kept()
    claims = [(each.kind, each.claim) for each in found.boundary.claims]
    assert claims[:2] == [("rule", "Work in pull requests"), ("fact", "stdin must be closed")]


def test_all_variants_are_asked_for_the_same() -> None:
    drops = msgspec.structs.replace(keeping(20), name="drop", drops=True)
    found = replayed(read(), RECORDED, keeping(0), drops)
    asked = [each.asked for each in summaries([found], ["recorded", "refold", "drop"]) if each.judged]
    assert len(asked) >= 2
    assert {(each.rules, each.facts, each.losses) for each in asked} == {
        (1, 1, found.boundary.asked.losses if found.boundary.asked else -1)
    }


def test_a_reading_counts_once_it_is_stored() -> None:
    story = lossy()
    assert replayed(story, RECORDED).trials[0].kept is None
    assert replayed(story, RECORDED).boundary.asked is None
    assert replayed(read(), RECORDED).trials[0].kept is not None


def test_recorded_counts_are_those_of_its_context() -> None:
    story = read()
    with story.log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, story.session)
        reading = readings(snapshot, story.session)["e5"]
        parts = context_at(snapshot, cursor.at_leaf(5)).parts
        whole = context_at(snapshot, cursor.at_leaf(4)).parts
    claims = claims_of([reading])
    assert replayed(story, RECORDED).trials[0].kept == kept_in(parts, claims)
    assert [each.claim for each in kept_in(whole, claims).standings] == [*range(len(claims))]


def test_sealed_summaries_are_not_counted(tmp_path: Path) -> None:
    def recorded(*, native: bool) -> Trial:
        log = MemoryLog()
        session = bring(log, tmp_path, *EARLY, compacted(first=1, native=native), *LATE)
        with log.snapshot() as snapshot:
            seq = snapshot.locate(session, f"{0:08x}")
        known = [Quotation(event=f"{0:08x}", seq=seq, quote="early question")]
        reading = msgspec.structs.replace(
            reading_of([]), boundary=f"{2:08x}", facts=[Fact(fact="f", kind="task", known=known)]
        )
        SessionWriter(log, session).append(Note(target_id=f"{2:08x}", data=msgspec.to_builtins(reading)))
        with log.snapshot() as snapshot:
            (found,) = replay_session(snapshot, session, [RECORDED], Measures(at="recorded", limits=LIMITS))
        assert found.boundary.asked == Counts(facts=1)
        return found.trials[0]

    assert recorded(native=False).kept == Kept()
    assert (recorded(native=True).kept, recorded(native=True).is_sealed) == (None, True)


def result(session: str, *kept: Kept | None) -> ReplayResult:
    asked = Counts(rules=4, facts=2)
    trials = [
        Trial(variant=str(place), tokens_before=100, tokens_after=10 * (place + 1), kept=each)
        for place, each in enumerate(kept)
    ]
    boundary = ReplayedBoundary(session=session, leaf="e", seq=1, at="recorded", asked=asked)
    return ReplayResult(boundary=boundary, trials=trials, summaries={})


def test_what_one_cannot_answer_counts_for_none() -> None:
    results = [result("a", Kept(rules=1), Kept(rules=4)), result("b", None, Kept(rules=4))]
    first, second = summaries(results, ["0", "1"])
    assert (first.judged, first.asked.rules, first.kept.rules) == (1, 4, 1)
    assert (second.judged, second.asked.rules, second.kept.rules) == (1, 4, 4)


def test_intervals_are_paired_over_sessions() -> None:
    results = [
        result(str(each), Kept(rules=each % 3), Kept(rules=each % 3 + 2)) for each in range(FEWEST_SESSIONS)
    ]
    against = summaries(results, ["0", "1"])[1].against
    assert against is not None
    assert (against.rules, against.facts) == ((0.5, 0.5), (0.0, 0.0))
    assert against.size == pytest.approx((0.1, 0.1))
    few = summaries(results[1:], ["0", "1"])[1].against
    assert few is not None
    assert few.rules is few.size is None


def test_an_interval_holds_the_difference() -> None:
    low, high = interval([(float(each % 4), 4.0) for each in range(12)]) or (1, 0)
    assert 0 < low < 0.375 < high < 0.75
    assert interval([(1.0, 4.0)] * 7 + [(0.0, 0.0)] * 5) is None


def test_a_failed_program_hides_no_count() -> None:
    failing = Variant(
        name="false", policy=None, chain=SummarizerChain(summarizers=[]), program=Program(command="false")
    )
    first, second = summaries([replayed(read(), RECORDED, failing)], ["recorded", "false"])
    assert (first.judged, second.judged) == (1, 0)


def test_words_stand_in_a_quotation_of_lines():
    claims = claims_of([reading_of(["Never push. 2. Never touch main."])])
    assert kept_in(parts_of("The user:\n> 1. Never push.\n> 2. Never touch main."), claims).facts == 1


def test_no_size_is_left_of_an_unknown_one() -> None:
    boundary = ReplayedBoundary(session="s", leaf="l", seq=1, at="recorded")
    trials = [Trial(variant="v", tokens_before=0, tokens_after=0), Trial(variant="w", error="none")]
    results = [ReplayResult(boundary=boundary, trials=trials, summaries={})]
    assert [each.size for each in summaries(results, ["v", "w"])] == [None, None]
