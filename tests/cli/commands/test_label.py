from __future__ import annotations

from pathlib import Path

import click
import pytest

from tests.cli.running import Refold
from tests.cli.tale import SESSION, tale


def label_of(refold: Refold, entry: str) -> str | None:
    nodes = refold("tree", SESSION, "--json").json["nodes"]
    return next(node["label"] for node in nodes if node["id"] == entry)


def test_an_entry_gets_a_label(told: Refold) -> None:
    told("label", SESSION, "u3", "the end")
    assert label_of(told, "u3") == "the end"


def test_without_a_text_the_label_is_shown_and_stays(told: Refold) -> None:
    assert "'halfway'" in told("label", SESSION, "u2").out
    assert "'" not in told("label", SESSION, "u3").out
    assert told("sessions", "--json").json["sessions"][0]["events"] == 17


def test_a_label_is_taken_away_where_that_is_asked_for_and_it_is_told_which(told: Refold) -> None:
    assert "'halfway'" in told("label", SESSION, "u2", "").out
    assert label_of(told, "u2") is None


def test_where_there_is_no_label_to_take_away_nothing_is_stored(told: Refold) -> None:
    assert told("label", SESSION, "u3", "", "--json").json["id"] is None
    assert told("sessions", "--json").json["sessions"][0]["events"] == 17


def test_json_tells_the_events_id_and_its_target(told: Refold) -> None:
    found = told("label", SESSION, "u3", "the end", "--json").json
    event = told("show", SESSION, found.pop("id"), "--json").json
    assert found == {"session": SESSION, "target": "u3", "label": "the end", "before": None}
    assert event["record"] == {"type": "label", "targetId": "u3", "label": "the end"}


def test_json_of_a_label_taken_away_tells_which_it_was(told: Refold) -> None:
    found = told("label", SESSION, "u2", "", "--json").json
    assert (found["label"], found["before"]) == (None, "halfway")
    assert told("show", SESSION, found["id"], "--json").json["record"]["targetId"] == "u2"


def test_json_of_a_label_that_is_looked_up_has_no_event(told: Refold) -> None:
    assert told("label", SESSION, "#7", "--json").json == {
        "session": SESSION,
        "id": None,
        "target": "u2",
        "label": "halfway",
        "before": "halfway",
    }


def title(refold: Refold) -> str | None:
    found: str | None = refold("sessions", "--json").json["sessions"][0]["title"]
    return found


def test_json_tells_the_event_and_the_title(told: Refold) -> None:
    found = told("label", SESSION, "--title", "Grammar", "--json").json
    event = told("show", SESSION, found.pop("id"), "--json").json
    assert found == {"session": SESSION, "target": None, "label": "Grammar", "before": "The parser"}
    assert event["record"] == {"type": "session_info", "name": "Grammar"}


def test_json_of_a_removed_title_is_null(told: Refold) -> None:
    assert told("label", SESSION, "--title", "", "--json").json["label"] is None


@pytest.mark.parametrize("arguments", [(), ("u2", "--title", "Grammar")])
def test_either_an_entry_or_a_title(told: Refold, arguments: tuple[str, ...]) -> None:
    told.refused(click.UsageError, "label", SESSION, *arguments, code=2)
    assert title(told) != "Grammar"


def test_an_odd_id_is_reported_on_one_line(refold: Refold, tmp_path: Path) -> None:
    (tmp_path / "odd.jsonl").write_bytes(tale().replace(SESSION.encode(), rb"a\nb\u001b[31m"))
    assert [line.split()[0] for line in refold("sync", "odd.jsonl").lines] == [r"a\nb\x1b[31m"]
    for text in ("Grammar", ""):
        lines = refold("label", "@last", "--title", text).lines
        assert [line.split()[0] for line in lines] == [r"a\nb\x1b[31m"]
