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

SUBAGENTS = "claude-code/worktrees/ef958aa1-0e93-49f0-bb71-150f63befcd1"
COMPACTED = {
    "pi/pi-mono-before-compaction.v1.jsonl": 2,
    "pi/pi-mono-before-compaction.v3.jsonl": 2,
    "pi/pi-mono-large-session.v1.jsonl": 0,
    "claude-code/0708a5fa-snap1.jsonl": 0,
    "claude-code/0708a5fa-snap2.jsonl": 0,
    "claude-code/0708a5fa-snap3.jsonl": 0,
    "claude-code/6113e919-3auto.jsonl": 3,
    "claude-code/67d765b5-manual.jsonl": 1,
    "claude-code/aefcb05b.jsonl": 0,
    f"{SUBAGENTS}.jsonl": 0,
    **{
        f"{SUBAGENTS}/subagents/agent-{agent}.jsonl": 0
        for agent in (
            "a36efb2a1231c41e2",
            "a4ca7529859c158c2",
            "a52886dc180afb356",
            "a6aa8ad077d9ea083",
            "ab1e6e141221a29ab",
            "aef063ba534d73153",
        )
    },
}
"""The sessions of harnesses that refold imports, with the number of their compactions."""


@pytest.mark.parametrize(("name", "count"), COMPACTED.items())
def test_the_recorded_variant_is_the_identity(corpus: Path, name: str, count: int) -> None:
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
    assert len(results) == count
