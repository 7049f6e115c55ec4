from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from compaction.replay.model_answers import answers_session
from eventstore import SessionWriter, open_store
from eventstore.records import Attempt
from tests.cli.running import Refold
from tests.cli.tale import SESSION
from tests.support import claude_code
from tests.support.pi_files import entry, header, line, said
from tests.support.stores import damage, make_store

NAMES = (
    *("SESSION", "PROJECT", "HARNESS", "MODEL", "EVENTS", "TOKENS", "COMPACTED", "BRANCHES", "SUBAGENTS"),
    *("COST", "LAST ENTRY (UTC)", "AGE", "TITLE OR FIRST REQUEST"),
)


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
        refold("sync", f"{name}.jsonl")
    return refold


def listed(refold: Refold, *options: str) -> str:
    """The letters of the sessions in the order in which they are listed."""
    found = refold("sessions", *options, "--json").json["sessions"]
    return "".join(each["id"][-1] for each in found)


def test_a_compaction_that_was_undone_neither_counts_nor_makes_a_session_newer(told: Refold) -> None:
    def known() -> tuple[int, str]:
        (session,) = told("sessions", "--json").json["sessions"]
        return session["compactions"], session["ended"]

    before = known()
    summary = {"summary": "Done.", "firstKeptEntryId": "a4", "tokensBefore": 9}
    told("append", SESSION, stdin=line({"type": "compaction", "id": "cc", **summary}))
    assert known() == (before[0] + 1, before[1])
    told("undo", SESSION, "cc")
    assert known() == before


def test_json_tells_what_is_known_of_each_session(told: Refold, tmp_path: Path) -> None:
    (session,) = told("sessions", "--json").json["sessions"]
    assert len(session.pop("digest")) == 64
    tokens = {"input": 5272, "cacheRead": 0, "cacheWrite": 0, "output": 28}
    spent = {"calls": 4, **tokens, "cost": None, "withoutCost": 4, "understated": 0}
    assert session == {
        "id": SESSION,
        "title": "The parser",
        "firstRequest": "Fix the parser.",
        "harness": "pi",
        "project": "project",
        "folder": "/home/user/project",
        "model": "p/m",
        "events": 17,
        "entries": 16,
        "compactions": 1,
        "branches": 2,
        "started": "2025-12-08T22:00:01.000Z",
        "ended": "2025-12-08T22:00:16.000Z",
        "parent": None,
        "newer": None,
        "original": None,
        "subagents": 0,
        "spent": spent,
        "total": spent,
        "source": str(tmp_path / "tale.jsonl"),
        "problem": None,
    }


def test_what_is_not_known_of_a_session_is_null(refold: Refold) -> None:
    refold("append", "s", stdin=line({"type": "custom", "customType": "x"}))
    (session,) = refold("sessions", "--json").json["sessions"]
    unknown = ("title", "firstRequest", "source", "project", "folder", "model", "parent", "original", "newer")
    assert [session[name] for name in unknown] == [None] * len(unknown)
    assert session["spent"]["cost"] is None


def test_sessions_are_listed_with_the_newest_entry_at_the_end(three: Refold) -> None:
    assert listed(three) == "bac"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--harness", "pi"], "bac"),
        (["--harness", "claude-code"], ""),
        (["--project", "project"], "bac"),
        (["--project", "/home/user"], "bac"),
        (["--project", "proj"], ""),
        (["--since", "2025-12-08T11:00"], "ac"),
        (["--since", "2025-12-08T12:00:00.001Z"], ""),
        (["--since", "2025-12-08T13:00:00+01:00"], "c"),
        (["--since", "2025-12-08"], "bac"),
        (["--since", "2d"], "bac"),
        (["--since", "25h"], "ac"),
        (["--since", "1d", "--harness", "pi"], "c"),
        (["--since", "0w"], ""),
    ],
)
def test_sessions_are_chosen_by_harness_project_and_age(
    three: Refold, options: list[str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    noon = 1_765_281_600_000  # 2025-12-09T12:00:00Z
    monkeypatch.setattr("eventstore.event.epoch_milliseconds", lambda: noon)
    assert listed(three, *options) == expected


def test_a_relative_folder_is_a_project(
    three: Refold, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/user")
    assert listed(three, "--project", "~/project") == "bac"
    assert listed(three, "--project", ".") == ""
    (tmp_path / "here.jsonl").write_bytes(
        header(session="session-h", cwd=str(Path.cwd() / "sub")) + entry("h1", None)
    )
    three("sync", "here.jsonl")
    assert listed(three, "--project", ".") == "h"


@pytest.mark.parametrize("value", ["yesterday", "3", "3m", "-3d", "", "2025-13-01", "9999999d"])
def test_what_is_neither_date_nor_age_is_refused(three: Refold, value: str) -> None:
    assert "--since" in three("sessions", "--since", value, code=2).errors


@pytest.fixture
def family(refold: Refold, tmp_path: Path) -> Refold:
    """A session with a subagent, one call each."""
    for name, lines in (("", ()), ("7", ({"isSidechain": True, "agentId": "7"},))):
        more = lines[0] if lines else {}
        said = claude_code.said(f"u{name}", None, f"ask {name}", cwd="/code/alpha", **more)
        answered = claude_code.answer(f"a{name}", f"u{name}", f"m{name}", "yes", **more)
        folder = tmp_path / "subagents" if name else tmp_path
        folder.mkdir(exist_ok=True)
        file = folder / (f"agent-{name}.jsonl" if name else "main.jsonl")
        file.write_bytes(said + b"\n" + answered + b"\n")
        refold("sync", str(file))
    return refold


def test_subagents_are_counted_and_what_they_used_is_added(family: Refold) -> None:
    (session,) = family("sessions", "--json").json["sessions"]
    assert (session["id"], session["subagents"]) == (claude_code.SESSION, 1)
    assert (session["spent"]["calls"], session["total"]["calls"]) == (1, 2)
    assert (session["spent"]["input"], session["total"]["input"]) == (10, 20)
    assert session["total"]["cost"] == pytest.approx(2 * session["spent"]["cost"])


def test_subagents_are_listed_below_the_session_that_started_them(family: Refold) -> None:
    found = family("sessions", "--all", "--json").json["sessions"]
    assert [(each["id"], each["parent"], each["project"], each["firstRequest"]) for each in found] == [
        (claude_code.SESSION, None, "alpha", "ask"),
        (f"{claude_code.SESSION}/agent-7", claude_code.SESSION, "alpha", "ask 7"),
    ]
    assert [each["total"] == each["spent"] for each in found] == [False, True]
    lines = family("sessions", "--all").lines[1:]
    assert [line.startswith("└ ") for line in lines] == [False, True]


def test_prices_may_be_ones_own(family: Refold, tmp_path: Path) -> None:
    fields = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
    prices = "\n".join(["date = 2026-11-01", '[models."claude"]', *(f"{name} = 100000" for name in fields)])
    (tmp_path / "prices.toml").write_text(prices)
    (session,) = family("--prices", "prices.toml", "sessions", "--json").json["sessions"]
    assert session["total"]["cost"] == pytest.approx(3.0)


def test_a_damaged_session_is_listed_and_told(refold: Refold) -> None:
    make_store(refold.store, 2)
    damage(refold.store, 1, 5)
    outcome = refold("sessions", "--json", code=1)
    assert [bool(each["problem"]) for each in outcome.json["sessions"]] == [True, False]
    assert "session-00000" in outcome.errors


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "names"), [(80, 4), (100, 5), (140, 9), (220, 12)])
def test_a_wider_terminal_shows_more_columns(family: Refold, columns: int, names: int) -> None:
    family("label", claude_code.SESSION, "--title", "A title of more than a few words for the list")
    found = family.on_terminal("sessions", columns=columns)
    shown = {name for name in NAMES if name in found}
    assert len(shown) >= names
    # A narrow terminal breaks the heading TIMES COMPACTED in two.
    assert {"SESSION", "TITLE OR FIRST REQUEST"} < shown
    assert "COMPACTED" in found
    assert max(map(cell_len, re.sub(r"\x1b\[[0-9;]*m", "", found).splitlines())) <= columns


def test_people_see_the_title_or_else_the_first_request(three: Refold) -> None:
    three("label", "session-c", "--title", "Nightly run")
    rows = [line.split() for line in three("sessions", "--all").lines[1:]]
    assert [(row[0], row[-1]) for row in rows] == [
        ("session-b", "Beta"),
        ("session-a", "Alpha"),
        ("session-c", "run"),
    ]
    assert rows[1][1:6] == ["2025-12-08", "11:00", "project", "pi", "4"]


def test_sessions_without_answers_are_counted_in_one_line(told: Refold, tmp_path: Path) -> None:
    (tmp_path / "begun.jsonl").write_bytes(header(session="begun") + said("hello", "m1", None))
    told("sync", "begun.jsonl")
    *_, row, folded = told("sessions").lines
    assert row.startswith("0199aaaa-0000")
    assert folded == "1 session of a few events without an answer: refold sessions --all"
    assert "begun" in told("sessions", "--all").out
    assert len(told("sessions", "--json").json["sessions"]) == 2


def test_an_empty_store_lists_nothing(refold: Refold) -> None:
    refold("append", "s")
    assert refold("sessions", "--json").json == {"sessions": []}
    (note,) = refold("sessions").notes
    assert "refold sync" in note


def test_an_empty_list_says_so(three: Refold) -> None:
    assert (len(three("sessions", "--project", "x").notes), three("sessions").notes) == (1, [])
    assert three("sessions", "--project", "x", "--json").notes == []


@pytest.mark.slow
def test_on_a_terminal_a_title_keeps_the_end_of_a_path(told: Refold) -> None:
    told("label", SESSION, "--title", f"/{'folder/' * 30}parser.py")
    assert told.on_terminal("sessions").split()[-1].endswith("/parser.py")


@pytest.mark.slow
def test_a_wide_terminal_shows_more_of_a_title(refold: Refold, tmp_path: Path) -> None:
    request = "look at " + "each of the words " * 5
    said = entry("m1", None, "message", message={"role": "user", "content": request})
    (tmp_path / "long.jsonl").write_bytes(header(session="long") + said)
    refold("sync", "long.jsonl")
    assert request.strip() in refold.on_terminal("sessions", "--all", columns=260)


@pytest.fixture
def answered(told: Refold) -> Refold:
    """A store with a session, and with an answer that a model gave in a replay."""
    with open_store(told.store) as log:
        SessionWriter(log, answers_session("http", "")).append(Attempt(request={}, error=""))
    return told


def test_answers_of_replays_are_no_sessions_of_a_person(answered: Refold) -> None:
    assert [each["id"] for each in answered("sessions", "--json").json["sessions"]] == [SESSION]
    assert len(answered("audit", "--all", "--json").json_lines) == 1


def test_answers_of_replays_have_a_title_and_a_time(answered: Refold) -> None:
    listed_all = answered("sessions", "--all", "--json").json["sessions"]
    (found,) = (each for each in listed_all if each["id"] == "replay-answers-http")
    assert found["title"] == "stored answers of replays"
    assert found["ended"] is not None
