"""Rules and tasks of real sessions, against what a reader labelled in those that were looked at while building."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from eventstore.files.importing import import_file
from eventstore.memory import MemoryLog
from projections.audit.session import audit

LABELS = Path(__file__).with_name("labels")
SESSIONS = {
    "6113e919": "claude-code/6113e919-3auto.jsonl",
    "pi-mono-before-compaction": "pi/pi-mono-before-compaction.v3.jsonl",
}


@pytest.fixture(scope="module")
def pairs(corpus: Path) -> list[tuple[dict[str, Any], Any]]:
    """Each labelled boundary with the rules and tasks that the audit finds there."""
    found = []
    for name, file in SESSIONS.items():
        labels = tomllib.loads((LABELS / f"{name}.toml").read_text("utf-8"))
        log = MemoryLog(clock=lambda: 0)
        compactions = audit(log, import_file(log, corpus / file).id).compactions
        instructions = [each.metrics.instructions for each in compactions]
        found += zip(labels["boundary"], instructions, strict=True)
    return found


def test_nine_of_ten_rules_are_rules_to_a_reader(pairs: list[tuple[dict[str, Any], Any]]) -> None:
    right = [
        any(rule.event in label["ids"] for label in boundary["rule"])
        for boundary, found in pairs
        for rule in found.rules
    ]
    assert len(right) >= 10
    assert sum(right) / len(right) >= 0.9


def test_rules_are_gone_or_kept_as_a_reader_says(pairs: list[tuple[dict[str, Any], Any]]) -> None:
    states = [
        (rule.state, label["state"])
        for boundary, found in pairs
        for rule in found.rules
        for label in boundary["rule"]
        if rule.event in label["ids"]
    ]
    assert len(states) >= 10
    assert sum(state == labelled for state, labelled in states) / len(states) >= 0.9
