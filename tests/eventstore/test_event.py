"""Events before and after they are stored."""

from __future__ import annotations

import pytest

from eventstore import NewEvent, Parent
from eventstore.event import OWN_FLAGS, ROLES, EventFacts, Flag
from tests.support.events import decision, events, message


def test_the_codes_of_roles_on_disk_are_those_that_were_fixed() -> None:
    assert ROLES[:13] == (
        "",
        "user",
        "assistant",
        "toolResult",
        "bashExecution",
        "custom",
        "branchSummary",
        "compactionSummary",
        "hookMessage",
        "developer",
        "pythonExecution",
        "fileMention",
        "other",
    )


def test_the_bits_of_flags_on_disk_are_those_that_were_fixed() -> None:
    assert [flag.name for flag in Flag][:7] == [
        "SETS_MODEL",
        "SETS_THINKING",
        "ORPHAN",
        "MIGRATED_ROLE",
        "OFF_PATH",
        "OVERLAID",
        "REPLACED_TEXT",
    ]
    assert [flag.value for flag in Flag][:7] == [1, 2, 4, 8, 16, 32, 64]


def test_flags_of_the_place_do_not_come_with_an_event() -> None:
    assert not OWN_FLAGS & Flag.OFF_PATH
    assert not OWN_FLAGS & Flag.OVERLAID


def test_a_new_event_goes_to_the_leaf_at_a_time_that_nobody_knows() -> None:
    new = NewEvent(id="a", kind="custom", body=b"", format="refold/1")
    assert (new.parent, new.time, new.cause, new.facts) == (Parent.LEAF, None, "", EventFacts())


def test_events_cannot_be_changed(log) -> None:
    log.append("s", [message("a")])
    for event in (message("a"), events(log, "s")[0]):
        with pytest.raises(AttributeError):
            event.id = "b"


def test_a_stored_event_knows_whether_it_is_an_entry(log) -> None:
    log.append("s", [message("a"), decision("d")])
    assert [event.is_entry for event in events(log, "s")] == [True, False]


def test_the_message_of_a_stored_event_is_the_json_that_came(log) -> None:
    log.append("s", [message("a", "hé"), decision("d")])
    assert [event.message for event in events(log, "s")] == [b'{"role": "user", "content": "h\\u00e9"}', b""]
