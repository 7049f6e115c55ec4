from __future__ import annotations

import pytest

from cli.demo.rehearsal import Rehearsal
from eventstore import EventLog, SessionWriter
from eventstore.errors import VersionConflictError
from eventstore.records import Label


def test_another_log_has_it_all_in_one_append(store: EventLog) -> None:
    rehearsal = Rehearsal()
    writer = SessionWriter(rehearsal, "s", clock=lambda: 7)
    first = writer.message({"role": "user", "content": "a"})
    writer.append(Label(target_id=first, label="here"))
    store.append("s", rehearsal.appended)
    with rehearsal.snapshot() as played, store.snapshot() as stored:
        assert stored.head("s").version == 2
        assert stored.head("s").digest == played.head("s").digest


def test_what_was_refused_is_not_remembered() -> None:
    rehearsal = Rehearsal()
    with pytest.raises(VersionConflictError):
        SessionWriter(rehearsal, "s").message({"role": "user", "content": "a"}, expected=3)
    assert rehearsal.appended == []
