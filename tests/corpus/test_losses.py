"""Compare the losses that the audit lists in two real sessions with a reader's judgement."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

import pytest

from eventstore.files.importing import import_file
from eventstore.memory import MemoryLog
from projections.audit.future_use import future_use
from projections.mentions.message_facts import SessionFacts
from tests.labels.labelled import FOLDER
from tests.projections.test_replacement import replacements

FILES = {
    "6113e919": "claude-code/6113e919-3auto.jsonl",
    "pi-mono-before-compaction": "pi/pi-mono-before-compaction.v3.jsonl",
}
ROWS = tomllib.loads((FOLDER / "losses.toml").read_text("utf-8"))["loss"]


@pytest.fixture(scope="module", params=FILES)
def measured(request, corpus: Path):
    """The session's labels, and its future use by boundary."""
    log = MemoryLog()
    session = import_file(log, corpus / FILES[request.param]).id
    facts = SessionFacts()
    found = {each.event.seq: future_use(each, facts) for each in replacements(log, session)}
    return [row for row in ROWS if row["session"] == request.param], found


def label_of(loss, boundary, rows):
    return next(
        (
            row["verdict"]
            for row in rows
            if (row["boundary"], row["kind"]) == (boundary, loss.kind) and loss.value.endswith(row["value"])
        ),
        "not labelled",
    )


def test_nothing_is_listed_that_a_reader_calls_wrong_or_has_not_read(measured):
    rows, found = measured
    verdicts = Counter(label_of(loss, seq, rows) for seq, use in found.items() for loss in use.losses)
    assert set(verdicts) <= {"right/useful", "right/useless"}


def test_the_list_is_short(measured):
    rows, found = measured
    assert len(rows) >= 6
    assert sum(len(use.losses) for use in found.values()) <= 3


def test_what_is_not_listed_is_counted(measured):
    _, found = measured
    for use in found.values():
        others = use.earlier + use.given + use.searched + use.reread + use.common
        assert use.total - use.found == others + len(use.losses)
