from __future__ import annotations

from typing import Any

import pytest

from tests.cli.running import Refold
from tests.cli.tale import SESSION


def leaf(refold: Refold) -> Any:
    return refold("show", SESSION, refold("tree", SESSION, "--json").json["leaf"], "--json").json


def events(refold: Refold) -> int:
    count: int = refold("sessions", "--json").json["sessions"][0]["events"]
    return count


def test_what_comes_next_stands_at_the_target(told: Refold) -> None:
    told("go", SESSION, "a3")
    told("append", SESSION, stdin='{"type":"message","id":"n1","message":{"role":"user","content":"On."}}')
    context = told("context", SESSION, "--leaf", "n1", "--json").json
    assert [part["event"] for part in context["messages"]][-2:] == ["a3", "n1"]


def test_the_move_is_an_event_below_the_target(told: Refold) -> None:
    told("go", SESSION, "a3")
    found = leaf(told)
    assert (found["kind"], found["parent"], found["record"]["fromId"]) == ("leaf_moved", "a3", "i1")


def test_people_are_told_where_the_session_stands_and_what_is_left(told: Refold) -> None:
    moved = told("go", SESSION, "a3")
    assert moved.lines == [f"stands at a3 by {leaf(told)['id']}, 6 entries left behind"]


def test_of_a_persons_message_the_text_is_printed_to_be_edited(told: Refold) -> None:
    moved = told("go", SESSION, "u2")
    assert moved.lines[1:] == ["to edit:", "Now the tests."]
    assert leaf(told)["parent"] == "r3"


def test_root_is_a_place_to_go_to(told: Refold) -> None:
    told("go", SESSION, "root")
    assert told("context", SESSION, "--json").json["messages"] == []


def test_a_target_may_be_named_by_its_number_or_a_beginning(told: Refold) -> None:
    told("append", SESSION, stdin='{"type":"custom","id":"longer-id","customType":"x"}')
    told("go", SESSION, "#10")
    assert leaf(told)["parent"] == "b2"
    told("go", SESSION, "longer")
    assert leaf(told)["parent"] == "longer-id"


def test_where_the_session_stands_already_nothing_is_stored(told: Refold) -> None:
    assert told("go", SESSION, "i1").lines == ["stands at i1 already"]
    assert told("go", SESSION, "i1", "--json").json["events"] == []
    assert events(told) == 17


def test_a_summary_is_kept_at_the_new_leaf(told: Refold) -> None:
    told("go", SESSION, "b2", "--summary", "It was fixed.")
    found = leaf(told)
    assert (found["kind"], found["parent"]) == ("branch_summary", "b2")
    assert "It was fixed." in found["record"]["summary"]


def test_a_summary_may_come_from_standard_input(told: Refold) -> None:
    told("go", SESSION, "b2", "--summary", "-", stdin="It was\nfixed.\n")
    assert "\n\nIt was\nfixed.\n\n<modified-files>" in leaf(told)["record"]["summary"]


def test_a_label_is_the_targets(told: Refold) -> None:
    told("go", SESSION, "a3", "--label", "once more")
    nodes = told("tree", SESSION, "--json").json["nodes"]
    assert {node["id"]: node["label"] for node in nodes if node["label"]} == {
        "a3": "once more",
        "u2": "halfway",
    }


def test_with_a_summary_a_label_is_the_summarys(told: Refold) -> None:
    summary, _ = told("go", SESSION, "a3", "--summary", "Fixed.", "--label", "once more", "--json").json[
        "events"
    ]
    nodes = told("tree", SESSION, "--json").json["nodes"]
    assert next(node["label"] for node in nodes if node["id"] == summary) == "once more"


def test_a_dry_run_says_what_a_move_would_do(told: Refold) -> None:
    assert told("go", SESSION, "b1", "--dry-run", "--json").json == {
        "commonAncestor": "a3",
        "toSummarize": ["s1", "c1", "u3", "a4", "l1", "i1"],
        "newLeaf": "a3",
        "editorText": "Try a regular expression.",
        "readFiles": [],
        "modifiedFiles": ["src/expressions.py"],
    }


def test_a_dry_run_has_null_for_the_root_and_for_no_text(told: Refold) -> None:
    found = told("go", SESSION, "root", "--dry-run", "--json").json
    assert (found["commonAncestor"], found["newLeaf"], found["editorText"]) == (None, None, None)


def test_a_dry_run_tells_people_the_same(told: Refold) -> None:
    assert told("go", SESSION, "b1", "--dry-run").lines == [
        "would stand at a3",
        "would leave 6 entries behind, back to a3",
        "  modified  src/expressions.py",
        "to edit:",
        "Try a regular expression.",
    ]


@pytest.mark.parametrize("options", [[], ["--summary", "Fixed.", "--label", "x"]])
def test_a_dry_run_stores_nothing(told: Refold, options: list[str]) -> None:
    told("go", SESSION, "b1", "--dry-run", *options)
    assert events(told) == 17


def test_json_of_a_move_has_its_events_and_its_plan(told: Refold) -> None:
    planned = told("go", SESSION, "b1", "--dry-run", "--json").json
    done = told("go", SESSION, "b1", "--json").json
    assert done == {"session": SESSION, "events": [leaf(told)["id"]], **planned}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["nope"], "no event 'nope'; "),
        (["i1", "--summary", "Nothing."], "no entries to summarize before 'i1'; "),
        (["a3", "--summary", ""], "summary of the branch: it is empty; "),
        (["root", "--label", "x"], "label 'x': the root is no entry that could have one; "),
    ],
)
@pytest.mark.parametrize("dry_run", [[], ["--dry-run"]])
def test_what_cannot_be_done_is_told_and_nothing_is_stored(
    told: Refold, arguments: list[str], problem: str, dry_run: list[str]
) -> None:
    assert told.problem("go", SESSION, *arguments, *dry_run).startswith(problem)
    assert events(told) == 17


def test_a_summary_that_is_no_utf_8_is_told(told: Refold) -> None:
    problem = told.problem("go", SESSION, "b2", "--summary", "-", stdin=b"\xff")
    assert problem.startswith("standard input: is not UTF-8; ")
