"""The files of labels belong to sessions, and refer to their events."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventstore.memory import MemoryLog
from tests.corpus.labelled import CORPUS, FOLDER, HELD_OUT, SESSIONS, STAGED, Labels, labels_of
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


def unknown(session: str, folder: Path) -> set[str]:
    """Return the ids in labels that are no event of their session."""
    source, log = SESSIONS[session], MemoryLog()
    appended = source.append(log, folder / source.file)
    known = {each.id for each in events(log, appended.session)}
    return {name for name in ids_of(labels_of(session)) if not set(appended.points.get(name, ())) & known}


def test_every_file_of_labels_belongs_to_a_session() -> None:
    assert {path.stem for path in (FOLDER / "labels").glob("*.toml")} == set(SESSIONS)
    assert [labels_of(session).session for session in SESSIONS] == list(SESSIONS)


@pytest.mark.parametrize("session", [*STAGED, *HELD_OUT])
def test_labels_refer_to_events_of_staged_sessions(session: str) -> None:
    assert unknown(session, Path()) == set()


@pytest.mark.parametrize("session", CORPUS)
def test_labels_refer_to_events_of_real_sessions(corpus: Path, session: str) -> None:
    assert unknown(session, corpus) == set()
