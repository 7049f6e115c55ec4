"""Check properties of replays of any session: recorded ones are the identity, and all variants share boundaries."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from compaction.policy.load import load_preset, preset_names
from compaction.replay import Measures, boundaries, replay_session
from compaction.replay.results import ReplayResult, summaries
from compaction.replay.variants import Variant
from compaction.summarizers.chain import SummarizerChain
from compaction.summarizers.extractive import ExtractiveSummarizer
from eventstore.files.importing import import_sessions
from eventstore.log import EventLog
from eventstore.memory import MemoryLog
from tests.compaction.sessions import sessions, small
from tests.support import claude_code, oh_my_pi_sessions, pi_sessions
from tests.support.examples import examples
from tests.support.replays import LIMITS, RECORDED, replayed_as_audited

CHAIN = SummarizerChain(summarizers=[ExtractiveSummarizer()])
POLICIES = [
    Variant(name=name, policy=small(load_preset(name)), chain=CHAIN) for name in ("refold", *preset_names())
]
VARIANTS = [
    RECORDED,
    *{each.name: each for each in POLICIES}.values(),
    msgspec.structs.replace(POLICIES[0], name="drop", drops=True),
]
NAMES = [each.name for each in VARIANTS]


def replayed(log: EventLog, session: str, *variants: Variant, at: str) -> list[ReplayResult]:
    with log.snapshot() as snapshot:
        return list(replay_session(snapshot, session, variants, Measures(at=at, limits=LIMITS)))  # type: ignore[arg-type]


FILES: dict[str, st.SearchStrategy[bytes]] = {
    "pi": pi_sessions.pi_entries().map(pi_sessions.file_of),
    "oh-my-pi": st.integers(0, 2**32).map(
        lambda seed: oh_my_pi_sessions.file_of(oh_my_pi_sessions.entries_of(Random(seed), 40))
    ),
    "claude-code": st.integers(0, 2**32).map(
        lambda seed: b"\n".join(claude_code.some_session(Random(seed), most=30)) + b"\n"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("harness", FILES)
@settings(max_examples=examples(100))
@given(data=st.data())
def test_the_recorded_variant_is_the_identity(
    tmp_path_factory: pytest.TempPathFactory, harness: str, data: st.DataObject
) -> None:
    file = tmp_path_factory.mktemp("session") / "session.jsonl"
    file.write_bytes(data.draw(FILES[harness]))
    log = MemoryLog()
    # A file of Claude Code may have no session, or several.
    for each in import_sessions(log, file):
        event(f"compactions: {len(replayed_as_audited(log, each.id))}")


def assert_shared(results: list[ReplayResult]) -> None:
    """Check that all variants are tried everywhere, and count the same boundaries."""
    for each in results:
        assert [trial.variant for trial in each.trials] == NAMES
        for trial in each.trials:
            assert (trial.error is None) == (trial.tokens_after is not None)
    working = [each for each in summaries(results, NAMES) if each.trials]
    assert len({each.trials for each in working}) <= 1


@pytest.mark.slow
@settings(max_examples=examples(100))
@given(events=sessions)
def test_all_variants_share_boundaries_at_recorded_boundaries(events: list[Any]) -> None:
    log = MemoryLog()
    log.append("s", events)
    results = replayed(log, "s", *VARIANTS, at="recorded")
    event(f"boundaries: {len(results)}")
    assert_shared(results)


@pytest.mark.slow
@settings(max_examples=examples(40))
@given(events=sessions)
def test_all_variants_share_boundaries_at_clean_boundaries(events: list[Any]) -> None:
    log = MemoryLog()
    log.append("s", events)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boundaries, "SMALLEST", 10)
        patch.setattr(boundaries, "STEP", 30)
        results = replayed(log, "s", *VARIANTS, at="clean")
    event(f"boundaries: {len(results)}")
    assert_shared(results)
