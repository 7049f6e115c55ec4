"""Findings in real sessions: those that a reader labelled are found, and few where nothing was lost."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from eventstore.files.importing import import_file
from eventstore.memory import MemoryLog
from projections.audit.findings import findings
from projections.audit.session import audit
from projections.context.build import context_at
from projections.context.cursor import path, resolve_cursor
from projections.mentions.message_facts import SessionFacts
from projections.replacement import Replacement

LABELS = Path(__file__).parent / "labels"
WHOLE = (
    "pi/pi-mono-large-session.v1.jsonl",
    "claude-code/aefcb05b.jsonl",
    "claude-code/0708a5fa-snap3.jsonl",
)
"""Sessions in which nothing was ever compacted."""
KEPT = 20_000
"""Tokens that an imagined compaction keeps."""


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


@pytest.mark.parametrize("name", WHOLE)
def test_few_findings_behind_compactions_that_never_were(corpus: Path, name: str) -> None:
    """The model had everything in its context there, so each finding is a false alarm."""
    log = MemoryLog()
    session = import_file(log, corpus / name).id
    imagined, alarms = 0, set[tuple[int, ...]]()
    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, session)
        entries = path(snapshot, cursor)
        facts = SessionFacts()
        for place in range(40, len(entries) - 20, 20):
            context = context_at(snapshot, cursor.at_leaf(entries[place - 1].seq))
            first, size = len(context.parts), 0
            while first and size < KEPT:
                first -= 1
                size += context.parts[first].utf16
            if not first:
                continue
            replacement = Replacement(
                event=entries[place],
                before=context,
                after=msgspec.structs.replace(context, parts=context.parts[first:]),
                removed=tuple(context.parts[:first]),
                kept=tuple(context.parts[first:]),
                added=(),
                returned=(),
                earlier=entries[:place],
                later=entries[place:],
            )
            imagined += 1
            alarms |= {tuple(each.seq for each in found.trouble) for found in findings(replacement, facts)}
    assert imagined >= 4
    assert len(alarms) <= 2
