"""The files of labels belong to sessions, and refer to their events and lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eventstore.files.importing import import_file
from eventstore.memory import MemoryLog
from tests.corpus.labelled import CORPUS, FOLDER, HELD_OUT, SESSIONS, STAGED, Labels, contents_of, labels_of
from tests.support.events import events


def ids_of(labels: Labels) -> set[str]:
    found = set[str]()
    for boundary in labels.boundaries:
        for rule in boundary.rules:
            found.update(rule.ids, rule.broken, rule.repeated)
        for task in boundary.tasks:
            found.update(task.ids, task.seen)
        for loss in boundary.losses:
            found.update(loss.known, loss.missed)
    return found


def unknown(session: str, contents: bytes, folder: Path) -> set[str]:
    """Return the ids in labels that are no event of their session."""
    log = MemoryLog()
    (file := folder / "session.jsonl").write_bytes(contents)
    return ids_of(labels_of(session)) - {each.id for each in events(log, import_file(log, file).id)}


def test_every_file_of_labels_belongs_to_a_session() -> None:
    assert {path.stem for path in (FOLDER / "labels").glob("*.toml")} == set(SESSIONS)
    assert [labels_of(session).session for session in SESSIONS] == list(SESSIONS)


@pytest.mark.parametrize("session", [*STAGED, *HELD_OUT])
def test_labels_refer_to_events_of_staged_sessions(session: str, tmp_path: Path) -> None:
    assert unknown(session, contents_of(session, None), tmp_path) == set()


@pytest.mark.parametrize("session", CORPUS)
def test_labels_refer_to_events_of_real_sessions(corpus: Path, session: str, tmp_path: Path) -> None:
    assert unknown(session, contents_of(session, corpus), tmp_path) == set()


def test_boundaries_without_ids_name_lines_of_compactions(corpus: Path) -> None:
    lines = contents_of("019d7d08", corpus).splitlines()
    named = [boundary.line for boundary in labels_of("019d7d08").boundaries]
    assert [json.loads(lines[line - 1])["type"] for line in named] == ["compacted"] * len(named)
