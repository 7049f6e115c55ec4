from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import Refold
from tests.cli.tale import tale
from tests.support import claude_code
from tests.support.pi_files import entry, header
from tests.support.tampering import tables


def test_json_tells_what_the_store_holds_and_its_size(told: Refold) -> None:
    found = told("stats", "--json").json
    kinds = {each["kind"]: each["events"] for each in found["kinds"]}
    assert kinds == {
        "message": 12,
        "import": 1,
        "compaction": 1,
        "label": 1,
        "session_info": 1,
        "branch_summary": 1,
    }
    assert (found["store"], found["sessions"], found["events"]) == (str(told.store), 1, 17)
    assert 0 <= found["freeBytes"] < found["fileBytes"]
    assert found["bodyBytes"] == sum(each["bytes"] for each in found["kinds"])


def test_the_bytes_of_imported_records_are_those_of_the_file(told: Refold) -> None:
    kinds = {each["kind"]: each["bytes"] for each in told("stats", "--json").json["kinds"]}
    del kinds["import"]
    records = tale().splitlines()[1:]
    assert sum(kinds.values()) == sum(map(len, records))


def test_kinds_with_the_most_bytes_come_first(told: Refold) -> None:
    sizes = [each["bytes"] for each in told("stats", "--json").json["kinds"]]
    assert sizes == sorted(sizes, reverse=True)


def test_people_see_the_sizes_and_a_line_a_kind(told: Refold) -> None:
    lines, found = told("stats").lines, told("stats", "--json").json
    assert [f"{found[name]:,}" in lines[2].split() for name in ("fileBytes", "freeBytes")] == [True, True]
    kinds = [[each["kind"], f"{each['events']:,}", f"{each['bytes']:,}"] for each in found["kinds"]]
    assert [line.split() for line in lines[5:]] == kinds


def test_an_empty_store_has_numbers_too(refold: Refold) -> None:
    refold("append", "s")
    found = refold("stats", "--json").json
    assert (found["sessions"], found["events"], found["bodyBytes"]) == (0, 0, 0)
    assert refold("stats").out


def test_a_kind_that_is_damaged_is_reported_as_damage_of_its_event(told: Refold) -> None:
    with tables(told.store) as stored:
        key, value = stored.items("events")[3]
        stored.put("events", key, value[:1] + b"\xfa" + value[2:])
    (problem,) = told("stats", "--json", code=1).json["problems"]
    assert ("event 4" in problem, "index" in problem) == (True, False)


@pytest.fixture
def used(refold: Refold, tmp_path: Path) -> Refold:
    """Sessions of two harnesses in three projects, one with a subagent; one call each, of 10 and 5 tokens."""
    for name, folder in (("a", "/code/one/web"), ("b", "/code/two/web"), ("c", "/code/two/web"), ("d", "")):
        message = {"role": "assistant", "content": [], "provider": "p", "model": f"m{name}"}
        usage = {"input": 10, "output": 5, "cost": {"total": 1}}
        time = f"2025-12-0{3 if name == 'd' else 2}T10:00:00.000Z"
        called = entry(f"{name}1", None, "message", message={**message, "usage": usage}, timestamp=time)
        (tmp_path / f"{name}.jsonl").write_bytes(header(session=name, cwd=folder) + called)
        refold("sync", f"{name}.jsonl")
    claude_code_lines = (
        claude_code.said("u", None, "hi", cwd="/code/alpha"),
        claude_code.answer("a", "u", "m1", "yes"),
    )
    (tmp_path / "main.jsonl").write_bytes(b"\n".join(claude_code_lines))
    more = {"isSidechain": True, "agentId": "7", "cwd": "/code/alpha/.claude/worktrees/7"}
    agent_lines = (
        claude_code.said("x", None, "look", **more),
        claude_code.answer("y", "x", "m2", "ok", **more),
    )
    (tmp_path / "subagents").mkdir()
    (tmp_path / "subagents" / "agent-7.jsonl").write_bytes(b"\n".join(agent_lines))
    refold("sync", "main.jsonl")
    refold("sync", "subagents/agent-7.jsonl")
    return refold


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("project", {"/code/two/web": 2, "/code/one/web": 1, None: 1, "/code/alpha": 2}),
        ("day", {"2025-12-02": 3, "2025-12-03": 1, "2026-07-01": 2}),
        ("model", {"p/ma": 1, "p/mb": 1, "p/mc": 1, "p/md": 1, "anthropic/claude-opus-4-8": 2}),
        ("harness", {"pi": 4, "claude-code": 2}),
    ],
)
def test_calls_are_added_up_by_group(used: Refold, by: str, expected: dict[str | None, int]) -> None:
    found = used("stats", "--by", by, "--json").json
    assert found["by"] == by
    assert {each[by]: each["calls"] for each in found["groups"]} == expected
    assert {each[by]: each["sessions"] for each in found["groups"]} == expected
    for each in found["groups"]:
        assert (each["input"], each["output"]) == (10 * each["calls"], 5 * each["calls"])


@pytest.mark.parametrize("by", ["project", "day", "model", "harness"])
def test_groups_add_up_to_the_listed_sessions(used: Refold, by: str) -> None:
    found = used("stats", "--by", by, "--json").json
    alone = used("sessions", "--all", "--json").json["sessions"]
    folded = used("sessions", "--json").json["sessions"]
    for name in ("calls", "input", "cacheRead", "cacheWrite", "output", "cost", "withoutCost"):
        whole = pytest.approx(sum(each["spent"][name] or 0 for each in alone))
        assert (found["total"][name] or 0) == whole
        assert sum(each[name] or 0 for each in found["groups"]) == whole
        assert sum(each["total"][name] or 0 for each in folded) == whole
    assert found["total"]["sessions"] == len(alone)


def test_days_are_in_order_and_of_others_the_dearest_comes_first(used: Refold) -> None:
    days = [each["day"] for each in used("stats", "--by", "day", "--json").json["groups"]]
    costs = [each["cost"] for each in used("stats", "--by", "project", "--json").json["groups"]]
    assert (days, costs) == (sorted(days), sorted(costs, reverse=True))


def test_people_see_projects_by_the_names_that_tell_them_apart(used: Refold) -> None:
    rows = [line.split()[0] for line in used("stats", "--by", "project").lines[1:]]
    assert sorted(rows) == ["all", "alpha", "one/web", "two/web", "unknown"]


def test_without_calls_the_table_is_empty(refold: Refold) -> None:
    refold("append", "s")
    found = refold("stats", "--by", "day", "--json").json
    assert (found["groups"], found["total"]["calls"], found["total"]["cost"]) == ([], 0, None)
    shown = refold("stats", "--by", "day")
    assert (len(shown.lines), len(shown.notes)) == (1, 1)


def test_earlier_generations_of_a_rewritten_file_are_not_added_up(refold: Refold, tmp_path: Path) -> None:
    for version in (1, 2):
        message = {"role": "assistant", "content": [], "usage": {"input": 10, "cost": {"total": 1}}}
        lines = [entry(f"{version}-{at}", None, "message", message=message) for at in range(5)]
        (tmp_path / "s.jsonl").write_bytes(header(session="s") + b"".join(lines))
        refold("sync", "s.jsonl")
    assert refold("stats", "--by", "harness", "--json").json["total"]["calls"] == 5
    assert [each["id"] for each in refold("sessions", "--json").json["sessions"]] == ["s~2"]
    every = refold("sessions", "--all", "--json").json["sessions"]
    assert [(each["id"], each["newer"]) for each in every] == [("s~2", None), ("s", "s~2")]


def test_projects_of_one_name_and_releases_of_a_model_look_the_same_in_both_lists(used: Refold) -> None:
    sessions, projects = used("sessions").out, used("stats", "--by", "project").out
    for name in ("one/web", "two/web", "alpha"):
        assert name in sessions
        assert name in projects
    models = {line.split()[0] for line in used("stats", "--by", "model").out.splitlines()[1:]}
    assert {"ma", "claude-opus-4-8"} <= models
    assert not any("/" in model for model in models)
