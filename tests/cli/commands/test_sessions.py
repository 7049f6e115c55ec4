from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import Refold
from tests.cli.tale import SESSION
from tests.support.pi_files import entry, header, line


@pytest.fixture
def three(refold: Refold, tmp_path: Path) -> Refold:
    """Three sessions, written in the order b, c, a; c the one that ended last, a the longest."""
    for name, request, entries, hour in (("b", "Beta", 2, 10), ("c", "Gamma", 1, 12), ("a", "Alpha", 3, 11)):
        time = f"2025-12-08T{hour}:00:00.000Z"
        said = {"role": "user", "content": request}
        lines = [
            entry(f"{name}{number}", None, "message", message=said, timestamp=time)
            for number in range(entries)
        ]
        (tmp_path / f"{name}.jsonl").write_bytes(header(session=f"session-{name}") + b"".join(lines))
        refold("import", f"{name}.jsonl")
    return refold


def listed(refold: Refold, *options: str) -> str:
    """The letters of the sessions in the order in which they are listed."""
    found = refold("sessions", *options, "--json").json["sessions"]
    return "".join(each["id"][-1] for each in found)


def test_json_tells_what_is_known_of_each_session(told: Refold, tmp_path: Path) -> None:
    (session,) = told("sessions", "--json").json["sessions"]
    assert len(session.pop("digest")) == 64
    assert session == {
        "id": SESSION,
        "title": "The parser",
        "firstRequest": "Fix the parser.",
        "events": 17,
        "entries": 16,
        "started": "2025-12-08T22:00:01.000Z",
        "ended": "2025-12-08T22:00:16.000Z",
        "source": str(tmp_path / "tale.jsonl"),
    }


def test_what_is_not_known_of_a_session_is_null(refold: Refold) -> None:
    refold("append", "s", stdin=line({"type": "custom", "customType": "x"}))
    (session,) = refold("sessions", "--json").json["sessions"]
    assert (session["title"], session["firstRequest"], session["source"]) == (None, None, None)


def test_sessions_are_listed_with_the_one_that_was_written_to_last_at_the_end(three: Refold) -> None:
    assert listed(three) == "bca"
    three("rename", "session-b", "")
    assert listed(three) == "cab"


@pytest.mark.parametrize(
    ("order", "expected"),
    [("written", "bca"), ("ended", "bac"), ("entries", "cba"), ("title", "abc"), ("id", "abc")],
)
def test_sessions_are_sorted_as_asked_for(three: Refold, order: str, expected: str) -> None:
    assert listed(three, "--sort", order) == expected
    assert listed(three, "--sort", order, "--reverse") == expected[::-1]


def test_a_limit_leaves_the_last_of_the_list(three: Refold) -> None:
    assert listed(three, "--limit", "2") == "ca"
    assert listed(three, "--limit", "9") == "bca"


@pytest.mark.parametrize("text", ["gamma", "SESSION-C", "nightly"])
def test_a_text_is_looked_for_in_id_title_and_first_request_whatever_its_case(
    three: Refold, text: str
) -> None:
    three("rename", "session-c", "Nightly run")
    assert listed(three, "--match", text) == "c"


def test_a_text_that_is_nowhere_leaves_nothing(three: Refold) -> None:
    assert listed(three, "--match", "delta") == ""


def test_people_see_the_title_or_else_the_first_request(three: Refold) -> None:
    three("rename", "session-c", "Nightly run")
    rows = [line.split() for line in three("sessions", "--sort", "id").lines[1:]]
    assert rows[:2] == [
        ["session-a", "3", "2025-12-08", "11:00", "Alpha"],
        ["session-b", "2", "2025-12-08", "10:00", "Beta"],
    ]
    assert (rows[2][:2], rows[2][4:]) == (["session-c", "2"], ["Nightly", "run"])


def test_an_empty_store_lists_nothing(refold: Refold) -> None:
    refold("append", "s")
    assert refold("sessions", "--json").json == {"sessions": []}


def test_on_a_terminal_a_title_keeps_the_end_of_a_path(told: Refold) -> None:
    told("rename", SESSION, f"/{'folder/' * 30}parser.py")
    assert told.on_terminal("sessions").split()[-1].endswith("/parser.py")
