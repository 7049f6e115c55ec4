"""A context has one size, whichever command prints it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eventstore import open_store
from eventstore.paths import event
from projections.context.cursor import resolve_cursor
from projections.replacement import end_of_change, start_of_change
from projections.timeline import timeline
from projections.tokens import counter
from tests.cli.running import Refold

FILES = {
    "pi-mono-before-compaction.v3.jsonl": 2,
    "pi.dev-019dbe19-ca83-74b3-b3ca-230160eb3875-1c.jsonl": 1,
    "inspect_scout-b2e732c1-5f16-4ebe-ba84-0a11adc45c66-1c.jsonl": 1,
    "6113e919-3auto.jsonl": 3,
    "cli-4a364c97-9dde-4a98-a973-26edea2c0e8b-1c.jsonl": 2,
    "cli-8ef64fdd-df8c-41f2-ac32-d9471671f062-1c.jsonl": 1,
    "oh-my-posh-030df228-1b4b-482d-b343-0fc9c13a3d1a-1c.jsonl": 1,
}
"""Files of sessions, and how many compactions and rewrites each has at its leaf."""


@pytest.mark.parametrize("file", FILES)
def test_a_context_has_one_size(corpus: Path, tmp_path: Path, file: str) -> None:
    refold = Refold(tmp_path / "store")
    (path,) = corpus.rglob(file)
    refold("sync", path)
    (audit,) = refold("audit", "@last", "--json").json["sessions"]
    session = audit["session"]
    assert refold("context", session, "--json").json["tokens"] == audit["contextTokens"]
    with open_store(refold.store) as log, log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, session)
        plotted = timeline(snapshot, session, tokens=counter("utf16/4")).moments
        assert plotted[-1].tokens == audit["contextTokens"]
        size_at = {event(snapshot, session, each.seq).id: each.tokens for each in plotted}
        replacements = [*audit["compactions"], *audit["rewrites"]]
        ends = []
        for each in replacements:
            replacing = event(snapshot, session, each["seq"]).decode()
            places = start_of_change(replacing, snapshot), end_of_change(replacing, snapshot, cursor)
            ends.append([event(snapshot, session, seq).id if seq else "root" for seq in places])
    assert len(replacements) == FILES[file]
    for each, (start, end) in zip(replacements, ends, strict=True):
        sizes = audited(each)
        assert sizes == [size_at.get(start, 0), size_at[end]]
        assert sizes == [
            refold("context", session, "--leaf", at, "--json").json["tokens"] for at in (start, end)
        ]
        if start != "root":
            compared = refold("diff", session, start, end, "--json").json
            assert sizes == [compared["tokensBefore"], compared["tokensAfter"]]


def audited(replacement: dict[str, Any]) -> list[int]:
    """Return the sizes before and after by an audit, which agree with those of its metrics."""
    size = replacement["metrics"]["size"]
    sizes = [size["before"], size["after"]]
    if "before" in replacement:
        assert sizes == [replacement["before"]["recomputed"], replacement["after"]["recomputed"]]
    return sizes
