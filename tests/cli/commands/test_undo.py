from __future__ import annotations

import pytest

from tests.cli.running import Refold
from tests.cli.tale import SESSION


def context(refold: Refold, *arguments: str) -> bytes:
    return refold("context", SESSION, *arguments, "--format", "pi").raw


def events(refold: Refold) -> int:
    count: int = refold("sessions", "--json").json["sessions"][0]["events"]
    return count


def test_the_newest_that_refold_wrote_is_taken_back(told: Refold) -> None:
    told("go", SESSION, "a4")
    told("append", SESSION, stdin='{"type":"rewrite","id":"w1","reason":"x","targets":[]}')
    assert told("undo", SESSION, "--json").json["undone"][0]["id"] == "w1"


def test_a_compaction_that_came_with_an_import_is_taken_back_by_name_alone(told: Refold) -> None:
    assert told.problem("undo", SESSION) == (
        f"no compaction, rewrite or move to undo in session '{SESSION}'; compaction 'c1' came with an import and is "
        f"undone by name alone: refold undo {SESSION} c1"
    )
    told("undo", SESSION, "c1")
    kinds = [part["kind"] for part in told("context", SESSION, "--json").json["messages"]]
    assert (kinds.count("compaction"), len(kinds)) == (0, 11)


def test_a_move_is_taken_back(told: Refold) -> None:
    before = context(told)
    told("go", SESSION, "a3")
    told("undo", SESSION)
    assert context(told) == before


def test_an_undo_is_taken_back(told: Refold) -> None:
    before = context(told)
    undone = told("undo", SESSION, "c1", "--json").json["events"][0]
    told("undo", SESSION, undone)
    assert context(told) == before


def test_people_are_told_what_was_undone_the_sizes_and_the_way_back(told: Refold) -> None:
    undone = told("undo", SESSION, "c1")
    event = told("tree", SESSION, "--json").json["leaf"]
    assert undone.lines == [
        "undid compaction c1 #12",
        "context: 6 messages, 33 tokens -> 11 messages, 1,062 tokens by utf16/4",
        f"back again with: refold undo {SESSION} {event}",
    ]


def test_a_dry_run_says_the_same_and_stores_nothing(told: Refold) -> None:
    assert told("undo", SESSION, "c1", "--dry-run").lines == [
        "would undo compaction c1 #12",
        "context: 6 messages, 33 tokens -> 11 messages, 1,062 tokens by utf16/4",
    ]
    assert events(told) == 17


def test_json_tells_what_was_undone_and_the_sizes(told: Refold) -> None:
    found = told("undo", SESSION, "c1", "--json").json
    (event,) = found.pop("events")
    assert told("show", SESSION, event, "--json").json["record"] == {"type": "undone", "targetId": "c1"}
    assert found == {
        "counter": "utf16/4",
        "session": SESSION,
        "undone": [{"id": "c1", "seq": 12, "kind": "compaction"}],
        "before": {"tokens": 33, "messages": 6},
        "after": {"tokens": 1062, "messages": 11},
    }


def test_json_of_a_dry_run_is_that_of_the_undo_without_events(told: Refold) -> None:
    foreseen = told("undo", SESSION, "c1", "--dry-run", "--json").json
    done = told("undo", SESSION, "c1", "--json").json
    assert foreseen == {**done, "events": []}


def test_a_move_and_its_label_are_undone_together(told: Refold) -> None:
    told("go", SESSION, "a3", "--label", "x")
    assert [each["kind"] for each in told("undo", SESSION, "--json").json["undone"]] == [
        "leaf_moved",
        "label",
    ]


@pytest.mark.parametrize("name", ["c1", "#12"])
def test_an_event_may_be_named_by_id_or_number(told: Refold, name: str) -> None:
    assert told("undo", SESSION, name, "--json").json["undone"][0]["id"] == "c1"


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        ("u3", "event 'u3': a message cannot be undone; "),
        ("b2", "event 'b2': lies on another branch; "),
        ("s1", "branch_summary 's1': the session has gone on from it; "),
        ("nope", "no event 'nope'; "),
        ("", "no event ''; "),
    ],
)
@pytest.mark.parametrize("dry_run", [[], ["--dry-run"]])
def test_what_cannot_be_undone_is_told_with_the_reason(
    told: Refold, event: str, problem: str, dry_run: list[str]
) -> None:
    assert told.problem("undo", SESSION, event, *dry_run).startswith(problem)
    assert events(told) == 17


def test_where_there_is_nothing_to_undo_it_says_so(told: Refold) -> None:
    told("undo", SESSION, "c1")
    assert told.problem("undo", SESSION).startswith(
        f"no compaction, rewrite or move to undo in session '{SESSION}'; "
    )
