from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from eventstore.errors import BadInputError, NotFoundError
from tests.cli.running import Refold
from tests.cli.tale import SESSION, write
from tests.support.local_http import NO_SERVER, answers, refuses


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
    moved, way_back = told("go", SESSION, "a3").lines
    by = leaf(told)["id"]
    assert [each in moved for each in (" a3 ", f" {by}, ", " 6 ")] == [True] * 3
    assert way_back.endswith(f": refold undo {SESSION} {by}")


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


def test_of_a_persons_message_the_text_is_printed_to_be_edited(told: Refold) -> None:
    moved = told("go", SESSION, "u2")
    assert moved.lines[3:] == ["Now the tests."]
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
    assert len(told("go", SESSION, "i1").lines) == 1
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
    to, left, files, _, text = told("go", SESSION, "b1", "--dry-run").lines
    assert [to.endswith(" a3"), " 6 " in left, left.endswith(" a3")] == [True] * 3
    assert (files.split(), text) == (["modified", "src/expressions.py"], "Try a regular expression.")


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

    def test_where_what_is_left_holds_no_message_that_is_told(self, told: Refold) -> None:
        told("label", SESSION, "a3", "here")
        moved = told("go", SESSION, leaf(told)["parent"], *self.EXTRACTING)
        assert (len(moved.notes), leaf(told)["kind"]) == (1, "label")

    def test_a_small_window_is_no_reason_to_summarize_nothing(self, told: Refold) -> None:
        told("go", SESSION, "b2", *self.EXTRACTING, "--window", "8000")
        assert leaf(told)["kind"] == "branch_summary"

    def test_what_is_left_is_summarized_at_the_new_leaf(self, told: Refold) -> None:
        told("go", SESSION, "b2", *self.EXTRACTING)
        found = leaf(told)
        assert (found["kind"], found["parent"]) == ("branch_summary", "b2")
        assert "Thanks!" in found["record"]["summary"]

    def test_programs_are_told_that_it_is_summarized(self, told: Refold) -> None:
        assert told("go", SESSION, "b2", *self.EXTRACTING, "--json").json["summarized"] is True

    def test_how_it_was_asked_for_is_recorded(self, told: Refold) -> None:
        told("go", SESSION, "b2", *self.EXTRACTING)
        (request,) = leaf(told)["record"]["request"]["requests"]
        assert (request["summarizer"], request["template"]) == ("extractive", "branch")

    def test_instructions_take_the_place_of_the_template(self, told: Refold, service: Any) -> None:
        own = service(answers({"summary": "It was fixed."}))
        asking = ("--summarizer", "http")
        told("go", SESSION, "b2", "--summarize", "Say what was fixed.", *asking)
        assert own.requests[0].json["prompt"].endswith("\n\nSay what was fixed.")
        assert "It was fixed." in leaf(told)["record"]["summary"]

    def test_a_label_goes_on_the_summary(self, told: Refold) -> None:
        done = told("go", SESSION, "b2", *self.EXTRACTING, "--label", "once more", "--json").json
        nodes = told("tree", SESSION, "--json").json["nodes"]
        assert next(node["label"] for node in nodes if node["id"] == done["events"][0]) == "once more"

    def test_where_nothing_is_left_nobody_is_asked(
        self, told: Refold, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("REFOLD_SUMMARIZER_ENDPOINT", NO_SERVER)
        told("go", SESSION, "root")
        told("go", SESSION, "i1", "--summarize", "--summarizer", "http")
        assert leaf(told)["kind"] == "leaf_moved"

    def test_a_dry_run_asks_nobody_and_stores_nothing(self, told: Refold) -> None:
        asking = ("--summarize", "--summarizer", "http")
        told("go", SESSION, "b2", *asking, "--dry-run")
        assert events(told) == 17

    def test_a_request_that_fails_leaves_the_session_where_it_was_and_an_attempt(
        self, told: Refold, service: Any
    ) -> None:
        service(refuses(400, "no"))
        before = told("tree", SESSION, "--json").raw
        asking = ("--summarize", "--summarizer", "http")
        refused = told("go", SESSION, "b2", *asking, code=1)
        assert refused.errors.count("\n") == 1
        assert told("tree", SESSION, "--json").raw == before
        assert told("log", SESSION, "--json").json_lines[-1]["kind"] == "attempt"

    def test_sections_that_it_lacks_are_reported(self, told: Refold, service: Any) -> None:
        service(answers({"summary": "## Goal\nto fix it"}))
        asking = ("--summarize", "--summarizer", "http")
        (note,) = told("go", SESSION, "b2", *asking).notes
        assert ["Constraints & Preferences" in note, "Goal" in note] == [True, False]

    def test_without_a_choice_it_is_said_who_is_asked(self, told: Refold) -> None:
        assert len(told("go", SESSION, "b2", "--summarize").notes) == 1

    @pytest.mark.parametrize("options", [["--summary", "x", "--summarize"], ["--summarizer", "extractive"]])
    def test_options_that_make_no_sense_are_reported(self, told: Refold, options: list[str]) -> None:
        told.refused(click.UsageError, "go", SESSION, "b2", *options, code=2)


def test_instructions_that_nobody_follows_are_reported(told: Refold) -> None:
    done = told("go", SESSION, "a3", "--summarize", "Be brief.", "--summarizer", "extractive")
    assert len(done.notes) == 1
