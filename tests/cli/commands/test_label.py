from __future__ import annotations

from tests.cli.running import Refold
from tests.cli.tale import SESSION


def label_of(refold: Refold, entry: str) -> str | None:
    nodes = refold("tree", SESSION, "--json").json["nodes"]
    return next(node["label"] for node in nodes if node["id"] == entry)


def test_an_entry_gets_a_label(told: Refold) -> None:
    told("label", SESSION, "u3", "the end")
    assert label_of(told, "u3") == "the end"


def test_another_label_replaces_the_first(told: Refold) -> None:
    told("label", SESSION, "u2", "middle")
    assert label_of(told, "u2") == "middle"


def test_without_a_text_the_label_goes(told: Refold) -> None:
    assert told("label", SESSION, "u2").lines == ["u2 has no label"]
    assert label_of(told, "u2") is None


def test_a_label_is_an_event_and_what_was_before_stays(told: Refold) -> None:
    told("label", SESSION, "u2", "middle")
    before = told("tree", SESSION, "--as-of", "17", "--json").json["nodes"]
    assert next(node["label"] for node in before if node["id"] == "u2") == "halfway"


def test_an_entry_may_be_named_by_number_or_beginning(told: Refold) -> None:
    assert told("label", SESSION, "#13", "x", "--json").json["target"] == "u3"


def test_json_tells_the_events_id_and_its_target(told: Refold) -> None:
    found = told("label", SESSION, "u3", "the end", "--json").json
    event = told("show", SESSION, found.pop("id"), "--json").json
    assert found == {"session": SESSION, "target": "u3", "label": "the end"}
    assert event["record"] == {"type": "label", "targetId": "u3", "label": "the end"}


def test_json_of_a_label_taken_away_is_null(told: Refold) -> None:
    assert told("label", SESSION, "u2", "--json").json["label"] is None


def test_people_are_told_what_is_labelled(told: Refold) -> None:
    assert told("label", SESSION, "u3", "the end").lines == ["u3 is labelled 'the end'"]


def test_an_entry_that_is_not_there_is_told_and_nothing_is_stored(told: Refold) -> None:
    assert told.problem("label", SESSION, "nope", "x").startswith("no event 'nope'; ")
    assert told("sessions", "--json").json["sessions"][0]["events"] == 17
