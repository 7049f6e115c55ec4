from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from eventstore.errors import BadInputError, NotFoundError
from tests.cli import long_talk
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
    error = told.refused(NotFoundError, "undo", SESSION)
    assert (error.name, error.remedy.endswith(f": refold undo {SESSION} c1")) == (SESSION, True)
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
    undone, sizes, way_back = told("undo", SESSION, "c1").lines
    event = told("tree", SESSION, "--json").json["leaf"]
    assert undone.endswith(" compaction c1 #12")
    assert [each in sizes.split() for each in ("6", "33", "11", "1,062", "utf16/4,", "estimate")] == [
        True
    ] * 6
    assert way_back.endswith(f": refold undo {SESSION} {event}")


def test_json_tells_what_was_undone_and_the_sizes(told: Refold) -> None:
    found = told("undo", SESSION, "c1", "--json").json
    (event,) = found.pop("events")
    assert told("show", SESSION, event, "--json").json["record"] == {"type": "undone", "targetId": "c1"}
    assert found == {
        "counter": "utf16/4",
        "estimate": True,
        "session": SESSION,
        "undone": [{"id": "c1", "seq": 12, "kind": "compaction"}],
        "before": {"tokens": 33, "messages": 6},
        "after": {"tokens": 1062, "messages": 11},
    }


def test_a_move_and_its_label_are_undone_together(told: Refold) -> None:
    told("go", SESSION, "a3", "--label", "x")
    assert [each["kind"] for each in told("undo", SESSION, "--json").json["undone"]] == [
        "leaf_moved",
        "label",
    ]


@pytest.mark.parametrize("name", ["c1", "#12"])
def test_an_event_may_be_named_by_id_or_number(told: Refold, name: str) -> None:
    assert told("undo", SESSION, name, "--json").json["undone"][0]["id"] == "c1"


def test_what_cannot_be_undone_is_reported_with_the_reason(told: Refold) -> None:
    for event, kind in (("u3", "event"), ("b2", "event"), ("s1", "branch_summary")):
        refused = told.refused(BadInputError, "undo", SESSION, event)
        assert refused.source == f"{kind} {event!r}"
    for event in ("nope", ""):
        missing = told.refused(NotFoundError, "undo", SESSION, event)
        assert (missing.what, missing.name) == ("event", event)
    assert events(told) == 17


def test_where_there_is_nothing_to_undo_it_says_so(told: Refold) -> None:
    told("undo", SESSION, "c1")
    assert told.refused(NotFoundError, "undo", SESSION).name == SESSION


@pytest.mark.parametrize("name", ["it's; echo $HOME", "-x", "a  b"])
def test_the_commands_that_are_printed_work_whatever_the_session_is_called(
    refold: Refold, tmp_path: Path, name: str
) -> None:
    refold("sync", long_talk.write(tmp_path / "talk.jsonl"), "--as", name)
    done = refold("compact", "--keep-recent", "250", "--summarizer", "extractive", "--", name)
    for verb in ("undid compaction", "undid undo"):
        program, *arguments = shlex.split(done.lines[-1].partition(": ")[2])
        done = refold(*arguments)
        assert (program, done.lines[0].startswith(verb)) == ("refold", True)
