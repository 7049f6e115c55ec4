"""Replay real sessions: what was recorded is reproduced, and all variants share one denominator."""

from __future__ import annotations

from pathlib import Path

import pytest

from compaction.part import Limits
from compaction.replay import replay_session
from compaction.replay.variants import Variant
from compaction.summarizers.chain import SummarizerChain
from eventstore.files.importing import import_file
from eventstore.memory import MemoryLog
from projections.audit.session import audit

COMPACTED = (
    "pi/pi-mono-before-compaction.v1.jsonl",
    "pi/pi-mono-before-compaction.v3.jsonl",
    "claude-code/6113e919-3auto.jsonl",
    "claude-code/67d765b5-manual.jsonl",
)


@pytest.mark.parametrize("name", COMPACTED)
def test_the_recorded_variant_is_the_identity(corpus: Path, name: str) -> None:
    log = MemoryLog()
    session = import_file(log, corpus / name).id
    recorded = Variant(name="recorded", policy=None, chain=SummarizerChain(summarizers=[]))
    with log.snapshot() as snapshot:
        results = list(
            replay_session(snapshot, session, [recorded], at="recorded", limits=Limits(window=200_000))
        )
    compactions = audit(log, session).compactions
    assert [
        (
            each.boundary.needed_count,
            each.trials[0].kept_count,
            each.trials[0].tokens_after,
            each.trials[0].first_kept,
        )
        for each in results
    ] == [
        (
            each.metrics.future_use.total,
            each.metrics.future_use.found,
            each.after.recomputed,
            each.first_kept,
        )
        for each in compactions
    ]
    assert results
