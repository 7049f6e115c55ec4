"""A new event as a log stores it."""

from __future__ import annotations

from eventstore import EventLog
from eventstore.append import build_stored_event
from eventstore.log import Head
from tests.support.events import NOW, events, message, undone


def test_it_is_what_a_log_of_any_kind_stores(log: EventLog) -> None:
    log.append("another", [message("x")])
    log.append("s", [message("a"), message("b"), message("c", parent="a")])
    new = undone("u", "b", parent="b", cause="why")
    with log.snapshot() as snapshot:
        made = build_stored_event(
            new,
            snapshot.head("s"),
            parent_seq=2,
            parent="b",
            target_seq=2,
            position=5,
            recorded=NOW,
            read=lambda seq: snapshot.frame("s", seq),
        )
    log.append("s", [new])
    assert events(log, "s")[-1] == made


def test_the_first_of_a_session_stands_below_nothing(log: EventLog) -> None:
    log.append("another", [message("x")])
    with log.snapshot() as snapshot:
        made = build_stored_event(
            message("a"),
            Head(name="s", number=2),
            parent_seq=0,
            parent=None,
            target_seq=0,
            position=2,
            recorded=NOW,
            read=lambda seq: snapshot.frame("s", seq),
        )
    log.append("s", [message("a")])
    assert events(log, "s") == [made]
