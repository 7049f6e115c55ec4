"""Find the events of a path that are in effect, undos considered."""

from __future__ import annotations

import pytest

from eventstore import EventLog, NewEvent
from eventstore.frame import decode
from eventstore.runs import append_of, in_effect
from tests.support.events import frames, message, stored, undone


def effective(log: EventLog, *story: NewEvent, undoing: str = "") -> str:
    """The ids that are in effect at the end of a path of these events, oldest first."""
    log.append("s", story)
    with log.snapshot() as snapshot:
        found = in_effect(
            snapshot.frames("s", backward=True),
            lambda seq: snapshot.frame("s", seq),
            undoing=snapshot.locate("s", undoing),
        )
        return "".join(reversed([decode(frame, "s").id for frame in found]))


def test_without_an_undo_everything_is_in_effect(log: EventLog) -> None:
    assert effective(log, message("a"), message("b"), message("c")) == "abc"


def test_what_is_undone_is_not_in_effect(log: EventLog) -> None:
    assert effective(log, message("a"), message("b"), undone("u", "b"), message("c")) == "auc"


def test_an_undo_of_an_undo_brings_back_what_was_undone(log: EventLog) -> None:
    assert effective(log, message("a"), undone("u", "a"), undone("v", "u")) == "av"


def test_an_undo_undoes_every_event_of_the_same_cause(log: EventLog) -> None:
    story = [message("a", cause="x"), message("b"), message("c", cause="x"), undone("u", "a"), message("d")]
    assert effective(log, *story) == "bud"


def test_an_undo_that_is_part_of_what_is_undone_is_without_effect(log: EventLog) -> None:
    story = [message("a"), undone("u", "a", cause="x"), message("b", cause="x"), undone("v", "b")]
    assert effective(log, *story) == "av"


def test_an_undo_of_what_is_not_there_is_without_effect(log: EventLog) -> None:
    assert effective(log, message("a"), undone("u", "zzz")) == "au"


def test_an_append_may_count_as_undone_from_the_start(log: EventLog) -> None:
    assert effective(log, message("a"), message("b", cause="x"), undoing="b") == "a"


def test_what_comes_after_an_undo_under_the_same_cause_is_in_effect(log: EventLog) -> None:
    story = [message("a", cause="x"), undone("u", "a"), message("b", cause="x")]
    assert effective(log, *story) == "ub"


@pytest.mark.parametrize(("cause", "name"), [("", "a"), ("x", "x")])
def test_an_append_goes_by_its_cause_or_by_the_id_of_its_event(log: EventLog, cause: str, name: str) -> None:
    log.append("s", [message("a", cause=cause)])
    frame = frames(log, "s")[0]
    assert append_of(frame) == name
    assert stored(log, "s", "a").cause == cause
