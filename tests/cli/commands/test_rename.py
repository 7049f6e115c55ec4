from __future__ import annotations

from pathlib import Path

from tests.cli.running import Refold
from tests.cli.tale import SESSION, tale


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


def test_an_id_with_a_line_end_is_reported_on_one_line(refold: Refold, tmp_path: Path) -> None:
    (tmp_path / "odd.jsonl").write_bytes(tale().replace(SESSION.encode(), rb"a\nb\u001b[31m"))
    assert [line.split()[0] for line in refold("import", "odd.jsonl").lines] == [r"a\nb\x1b[31m"]
    for title in ("Grammar", ""):
        assert [line.split()[0] for line in refold("rename", "@last", title).lines] == [r"a\nb\x1b[31m"]
