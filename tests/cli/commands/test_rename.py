from __future__ import annotations

from tests.cli.running import Refold
from tests.cli.tale import SESSION


def title(refold: Refold) -> str | None:
    found: str | None = refold("sessions", "--json").json["sessions"][0]["title"]
    return found


def test_a_session_gets_a_title(told: Refold) -> None:
    told("rename", SESSION, "Grammar")
    assert title(told) == "Grammar"


def test_a_title_is_trimmed(told: Refold) -> None:
    told("rename", SESSION, "  Grammar ")
    assert title(told) == "Grammar"


def test_an_empty_title_takes_it_away(told: Refold) -> None:
    told("rename", SESSION, " ")
    assert title(told) is None


def test_the_id_stays_as_it_is(told: Refold) -> None:
    told("rename", SESSION, "Grammar")
    assert told("sessions", "--json").json["sessions"][0]["id"] == SESSION


def test_json_tells_the_events_id_and_the_title(told: Refold) -> None:
    found = told("rename", SESSION, "Grammar", "--json").json
    event = told("show", SESSION, found.pop("id"), "--json").json
    assert found == {"session": SESSION, "title": "Grammar"}
    assert event["record"] == {"type": "session_info", "name": "Grammar"}


def test_json_of_a_title_taken_away_is_null(told: Refold) -> None:
    assert told("rename", SESSION, "", "--json").json["title"] is None
