"""Findings in real sessions: those that a reader labelled are found, and few where nothing was lost."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from eventstore.files.importing import import_file
from eventstore.memory import MemoryLog
from projections.audit.session import audit
from tests.corpus.imagined import STRETCHES, imagine

LABELS = Path(__file__).parent / "labels"


def labelled(name: str) -> list[dict[str, Any]]:
    boundaries = tomllib.loads((LABELS / f"{name}.toml").read_text("utf-8"))["boundary"]
    return list(boundaries)


def test_every_loss_that_needs_no_model_and_mattered_is_found(corpus: Path) -> None:
    log = MemoryLog()
    session = import_file(log, corpus / "pi/pi-mono-before-compaction.v3.jsonl").id
    compactions = {each.id: each for each in audit(log, session).compactions}
    wanted = 0
    for boundary in labelled("pi-mono-before-compaction"):
        found = compactions[boundary["id"]].findings
        for loss in boundary["loss"]:
            if loss["weight"] == "trivial" or loss["model_needed"]:
                continue
            wanted += 1
            met = [each for each in found if {ref.event for ref in each.trouble} & set(loss["missed"])]
            assert loss["weight"] in [each.weight for each in met], loss["what"]
    assert wanted == 3


@pytest.mark.parametrize("name", STRETCHES)
def test_few_findings_behind_compactions_that_never_were(corpus: Path, name: str) -> None:
    """The model had everything in its context there, so each finding is a false alarm."""
    found = imagine(name, corpus)
    assert found.compactions
    troubles = {alarm.finding.trouble[0].seq for alarm in found.alarms}
    assert len(troubles) <= (name in ("aefcb05b", "pi-mono-before-compaction"))
