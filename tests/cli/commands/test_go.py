from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from eventstore.errors import BadInputError, NotFoundError
from tests.cli.running import Refold
from tests.cli.tale import SESSION, write
from tests.support.local_http import answers


def leaf(refold: Refold) -> Any:
    return refold("show", SESSION, refold("tree", SESSION, "--json").json["leaf"], "--json").json


def events(refold: Refold) -> int:
    count: int = refold("sessions", "--json").json["sessions"][0]["events"]
    return count


def test_what_is_printed_to_be_pasted_names_the_store_that_was_given_by_option(
    refold: Refold, tmp_path: Path
) -> None:
    store = ("--store", tmp_path / "another one")
    refold(*store, "sync", write(tmp_path / "tale.jsonl"))
    before = refold(*store, "context", SESSION, "--format", "pi").raw
    *_, undo = refold(*store, "go", SESSION, "b2").lines
    refold(*shlex.split(undo.partition(": refold ")[2]))
    assert refold(*store, "context", SESSION, "--format", "pi").raw == before


def test_what_people_are_told_takes_a_move_back(told: Refold) -> None:
    before = told("context", SESSION, "--format", "pi").raw
    *_, undo = told("go", SESSION, "b2", "--summary", "It was fixed.").lines
    told(*undo.partition(": refold ")[2].split())
    assert told("context", SESSION, "--format", "pi").raw == before


def test_a_summary_may_come_from_standard_input(told: Refold) -> None:
    told("go", SESSION, "b2", "--summary", "-", stdin="It was\nfixed.\n")
    assert "\n\nIt was\nfixed.\n\n<modified-files>" in leaf(told)["record"]["summary"]


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


@pytest.mark.parametrize("options", [[], ["--summary", "Fixed.", "--label", "x"]])
def test_a_dry_run_stores_nothing(told: Refold, options: list[str]) -> None:
    told("go", SESSION, "b1", "--dry-run", *options)
    assert events(told) == 17


def test_json_of_a_move_has_its_events_and_its_plan(told: Refold) -> None:
    planned = told("go", SESSION, "b1", "--dry-run", "--json").json
    done = told("go", SESSION, "b1", "--json").json
    assert done == {
        "session": SESSION,
        "outcome": "moved",
        "reason": "",
        "summarized": False,
        "events": [leaf(told)["id"]],
        **planned,
        "missingSections": [],
        "hookErrors": [],
    }


IMPOSSIBLE: list[tuple[list[str], type[NotFoundError | BadInputError], tuple[str, str]]] = [
    (["nope"], NotFoundError, ("event", "nope")),
    (["i1", "--summary", "Nothing."], NotFoundError, ("entries to summarize before", "i1")),
    (["a3", "--summary", ""], BadInputError, ("summary of the branch", "")),
    (["root", "--label", "x"], BadInputError, ("label 'x'", "")),
]


def test_what_cannot_be_done_is_reported_and_nothing_is_stored(told: Refold) -> None:
    for arguments, error, about in IMPOSSIBLE:
        for options in ([], ["--dry-run"]):
            found = told.refused(error, "go", SESSION, *arguments, *options)
            named = (found.what, found.name) if isinstance(found, NotFoundError) else (found.source, "")
            assert named == about
    assert events(told) == 17


def test_a_summary_that_is_no_utf_8_is_reported(told: Refold) -> None:
    error = told.refused(BadInputError, "go", SESSION, "b2", "--summary", "-", stdin=b"\xff")
    assert error.source == "standard input"


class TestSummarize:
    EXTRACTING = ("--summarize", "--summarizer", "extractive")

    def test_programs_are_told_that_it_is_summarized(self, told: Refold) -> None:
        assert told("go", SESSION, "b2", *self.EXTRACTING, "--json").json["summarized"] is True

    def test_instructions_take_the_place_of_the_template(self, told: Refold, service: Any) -> None:
        own = service(answers({"summary": "It was fixed."}))
        asking = ("--summarizer", "http")
        told("go", SESSION, "b2", "--summarize", "Say what was fixed.", *asking)
        assert own.requests[0].json["prompt"].endswith("\n\nSay what was fixed.")
        assert "It was fixed." in leaf(told)["record"]["summary"]

    def test_a_dry_run_asks_nobody_and_stores_nothing(self, told: Refold) -> None:
        asking = ("--summarize", "--summarizer", "http")
        told("go", SESSION, "b2", *asking, "--dry-run")
        assert events(told) == 17
