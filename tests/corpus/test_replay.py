"""Replay real sessions: what was recorded is reproduced."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventstore.files.exporting import export_session
from eventstore.files.importing import import_file
from eventstore.memory import MemoryLog
from tests.support.replays import replayed_as_audited

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
def test_figures_of_an_untouched_session_equal_those_of_its_audit(
    corpus: Path, name: str, count: int
) -> None:
    log = MemoryLog()
    found = replayed_as_audited(log, import_file(log, corpus / name).id)
    assert [trial.first_kept for trial, _ in found] == [audited.first_kept for _, audited in found]
    assert len(found) == count


@pytest.mark.parametrize("name", [name for name in COMPACTED if name.startswith("pi/")])
def test_figures_of_an_oh_my_pi_session_equal_those_of_its_audit(
    corpus: Path, tmp_path: Path, name: str
) -> None:
    log = MemoryLog()
    file = tmp_path / "session.jsonl"
    file.write_bytes(b"".join(export_session(log, import_file(log, corpus / name).id, "oh-my-pi")))
    found = replayed_as_audited(log, import_file(log, file, name="exported").id)
    assert len(found) == COMPACTED[name]
    assert all(trial.first_kept == audited.first_kept for trial, audited in found)
