"""Results of trials that a log stores: used again while nothing that they depend on has changed."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pytest

import compaction.replay
from compaction.part import Limits
from compaction.policy.load import load_preset
from compaction.replay import Measures, costs, replay_session, variants
from compaction.replay.program import Program
from compaction.replay.results import ReplayResult
from compaction.replay.variants import Variant
from compaction.summarizers.chain import SummarizerChain
from compaction.summarizers.extractive import ExtractiveSummarizer
from compaction.summarizers.recorded import RecordedSummarizer
from compaction.templates import Template, load_built_in, replace_text
from eventstore.memory import MemoryLog
from eventstore.records import Compaction
from projections.timeline import timeline
from tests.support.replays import flat_prices
from tests.support.talk import Story, assistant, call, reads_files, user

POLICY = load_preset("refold").keeping(2_000)
CHAIN = SummarizerChain(summarizers=[ExtractiveSummarizer()])
VARIANT = Variant(name="refold", policy=POLICY, chain=CHAIN)


class Replays:
    """Replays of one long session, and the number of trials that were made for the newest one."""

    def __init__(self, story: Story) -> None:
        self.story, self.trials = story, 0
        self.stored: dict[bytes, bytes] = {}

    def __call__(self, *variants: Variant, **options: Any) -> list[ReplayResult]:
        self.trials = 0
        log = options.pop("log", self.story.log)
        measures = Measures(**({"limits": Limits(window=200_000)} | options))
        with self.story.log.snapshot() as snapshot:
            return list(replay_session(snapshot, "s", variants or (VARIANT,), measures, log=log))


@pytest.fixture
def replays(monkeypatch: pytest.MonkeyPatch) -> Replays:
    log = MemoryLog(clock=lambda: 0)
    story = Story(log)
    story.says(user("Repair the parser of expressions. Use src/parser.py."))
    reads_files(story, 30)
    story.says(assistant("Done with reading."), user("Now repair src/part_3.py."))
    for _ in range(4):
        story.says(assistant("I look at src/part_3.py again."), user("go on"))
    replays = Replays(story)

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def attempt(*given: Any, **options: Any) -> Any:
            replays.trials += 1
            return real(*given, **options)

        return attempt

    def keep(items: Iterable[tuple[bytes, bytes]]) -> None:
        held = list(items)
        replays.stored.update(held)
        MemoryLog.keep(log, held)

    monkeypatch.setattr(compaction.replay, "try_variant", counted(compaction.replay.try_variant))
    monkeypatch.setattr(log, "keep", keep)
    return replays


def test_a_trial_is_made_once(replays: Replays) -> None:
    made = replays()
    assert replays.trials == len(made) >= 2
    assert replays() == made
    assert replays.trials == 0


def test_a_run_that_ends_early_stores_the_boundaries_that_it_finished(replays: Replays) -> None:
    with replays.story.log.snapshot() as snapshot:
        measures = Measures(limits=Limits(window=200_000))
        run = replay_session(snapshot, "s", [VARIANT], measures, log=replays.story.log)
        next(run)
    assert replays.trials == 1
    found = replays()
    assert len(found) >= 2
    assert replays.trials == len(found) - 1


def test_stored_costs_need_no_sizes_of_calls(replays: Replays, monkeypatch: pytest.MonkeyPatch) -> None:
    story = replays.story
    story.add(Compaction(summary="All parts were read.", first_kept_entry_id="e60", tokens_before=9))
    for _ in range(3):
        story.says(user("go on"), assistant("I look again."))
    recorded = Variant(name="recorded", policy=None, chain=CHAIN)
    options: dict[str, Any] = {"at": "recorded", "prices": flat_prices(4.0)}
    (made,) = replays(recorded, VARIANT, **options)
    assert made.boundary.calls == 3
    with story.log.snapshot() as snapshot:
        newest = timeline(snapshot, "s").moments[-2].tokens
    # Each call writes to the cache what the one before it did not send.
    assert made.trials[0].dollars == pytest.approx(newest * 4.0 / 1e6)
    monkeypatch.setattr(costs, "timeline", None)
    assert replays(recorded, VARIANT, **options) == [made]


@pytest.mark.slow
def test_stored_results_are_those_of_a_log_that_stores_none(replays: Replays) -> None:
    replays()
    assert replays() == replays(log=None)
    assert replays.trials > 0


@pytest.mark.slow
def test_an_event_more_makes_them_anew(replays: Replays) -> None:
    replays()
    replays.story.says(user("more"))
    assert len(replays()) == replays.trials > 0


def own_template(text: str) -> Template:
    built_in = load_built_in("compaction")
    assert built_in is not None
    return replace_text(built_in, text, source="own")


def with_template(text: str) -> Variant:
    own = own_template(text)
    return msgspec.structs.replace(
        VARIANT, sources=[lambda name: own if name == own.name else None], template=own.name
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "options"),
    [
        (msgspec.structs.replace(VARIANT, policy=POLICY.keeping(3_000)), {}),
        (msgspec.structs.replace(VARIANT, drops=True), {}),
        (with_template("Other words."), {}),
        (
            msgspec.structs.replace(
                VARIANT, chain=SummarizerChain(summarizers=[ExtractiveSummarizer(most=99)])
            ),
            {},
        ),
        (VARIANT, {"limits": Limits(window=100_000)}),
    ],
)
def test_what_decides_a_result_decides_whether_it_is_used(
    replays: Replays, variant: Variant, options: dict[str, Any]
) -> None:
    replays()
    assert len(replays(variant, **options)) == replays.trials


@pytest.mark.slow
def test_another_text_of_a_template_is_another_variant(replays: Replays) -> None:
    replays(with_template("Some words."))
    found = replays(with_template("Other words."))
    assert len(found) == replays.trials


def test_the_name_of_a_variant_does_not_matter(replays: Replays) -> None:
    replays()
    (first, *_) = replays(msgspec.structs.replace(VARIANT, name="mine"))
    assert (replays.trials, first.trials[0].variant) == (0, "mine")


@pytest.mark.slow
def test_a_program_is_asked_each_time(replays: Replays) -> None:
    command = shlex.join([sys.executable, "-c", "print('{\"messages\": []}')"])
    program = Variant(name=command, policy=None, chain=CHAIN, program=Program(command=command))
    replays(program)
    assert len(replays(program)) == replays.trials


def test_a_missing_answer_is_looked_for_each_time(replays: Replays) -> None:
    chain = SummarizerChain(summarizers=[RecordedSummarizer(replays.story.log)])
    asking = msgspec.structs.replace(VARIANT, chain=chain)
    found = replays(asking)
    assert found[0].trials[0].error is not None
    assert len(replays(asking)) == replays.trials


def test_names_without_a_form_in_utf_8_stop_no_replay(replays: Replays) -> None:
    for _ in range(2):
        replays.story.says(assistant(call("read", "c1", path="src/\ud800/part_3.py")), user("go on"))
    made = replays()
    assert replays() == made
    assert {trial.error for each in made for trial in each.trials} == {None}


def test_a_vocabulary_that_is_installed_later_makes_them_anew(
    replays: Replays, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = replays()
    estimate = variants.counter(POLICY.counter)
    monkeypatch.setattr(
        variants,
        "counter",
        lambda _name: msgspec.structs.replace(estimate, is_exact=not estimate.is_exact),
    )
    assert len(made) == len(replays()) == replays.trials


@pytest.mark.slow
def test_a_result_that_cannot_be_read_is_made_anew(replays: Replays) -> None:
    made, log = replays(), replays.story.log
    stored = dict(replays.stored)
    for damage in (b"", b"\xc1", next(iter(stored.values()))[:20]):
        log.keep((key, damage) for key in stored)
        assert replays() == made
        assert len(made) == replays.trials
