"""Needs that were read against real sessions are still found."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import pytest

from compaction.replay.boundaries import Boundary
from compaction.replay.needs import needs
from eventstore.files.importing import import_file
from eventstore.memory import MemoryLog
from projections.context.cursor import path, resolve_cursor
from projections.mentions.message_facts import SessionFacts

Row = dict[str, str]
_LINES = Path(__file__).with_name("needs.tsv").read_text("utf-8").splitlines()
ROWS = list(csv.DictReader((line for line in _LINES if line[:1] != "#"), delimiter="\t"))
COUNTED = defaultdict[str, list[Row]](list)
for _row in ROWS:
    if _row["counted"] == "yes":
        COUNTED[_row["file"]].append(_row)


def test_nearly_all_that_counts_was_read_as_needed() -> None:
    verdicts = [row["verdict"] for rows in COUNTED.values() for row in rows]
    assert len(verdicts) >= 40
    assert verdicts.count("needed") >= 0.8 * len(verdicts)


@pytest.mark.parametrize("name", COUNTED)
def test_the_needs_of_the_sample_are_still_found(corpus: Path, name: str) -> None:
    log, facts = MemoryLog(), SessionFacts()
    session = import_file(log, corpus / name).id
    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, session)
        entries = path(snapshot, cursor)
        for row in COUNTED[name]:
            at = next(place for place, each in enumerate(entries) if each.seq == int(row["boundary"])) + 1
            compaction = entries[at] if row["at"] == "recorded" else None
            boundary = Boundary(
                leaf=entries[at - 1],
                compaction=compaction,
                earlier=entries[:at],
                later=entries[at + bool(compaction) :],
            )
            found = {(need.seq, need.thing) for need in needs(snapshot, cursor, boundary, facts)}
            assert any(seq == int(row["event"]) and thing.endswith(row["thing"]) for seq, thing in found)
