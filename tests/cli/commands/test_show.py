"""One event, as JSON, for people and raw."""

from __future__ import annotations

import json

import pytest

from cli.commands.show import record_text
from eventstore.errors import CorruptionError
from tests.cli.running import Refold
from tests.cli.tale import SESSION, tale
from tests.support.pi_files import header
from tests.support.tampering import tables

RECORDS = tale().splitlines()[1:]


def test_json_is_what_log_says_of_the_event_and_its_record(told: Refold) -> None:
    shown = told("show", SESSION, "a1", "--json").json
    assert shown.pop("record") == json.loads(RECORDS[1])
    assert shown == told("log", SESSION, "--json").json_lines[1]


@pytest.mark.parametrize("number", [1, 12, 16])
def test_raw_is_the_record_as_it_came_and_nothing_else(told: Refold, number: int) -> None:
    assert told("show", SESSION, f"#{number}", "--raw").raw == RECORDS[number - 1] + b"\n"


def test_raw_keeps_what_is_no_utf_8(refold: Refold) -> None:
    record = b'{"type":"message","id":"e1","parentId":null,"message":{"role":"user","content":"\xff"}}'
    with open("odd.jsonl", "wb") as file:
        file.write(header() + record + b"\n")
    assert refold("show", "odd.jsonl", "e1", "--raw").raw == record + b"\n"
    assert refold("show", "odd.jsonl", "e1", "--json").json["record"]["message"]["content"] == "\ufffd"


@pytest.mark.parametrize("command", [["log", SESSION], ["export", SESSION, "--format", "pi", "-o", "-"]])
def test_contents_that_no_longer_are_json_are_damage_and_no_fault(told: Refold, command: list[str]) -> None:
    with tables(told.store) as stored:
        key, value = stored.items("events")[0]
        stored.put("events", key, value.replace(b'"type"', b'"type\\'))
    error = told.refused(CorruptionError, *command)
    assert (error.session, error.seq) == (SESSION, 1)


def test_contents_that_are_not_json_are_shown(told: Refold) -> None:
    with tables(told.store) as stored:
        key, value = stored.items("events")[0]
        stored.put("events", key, value.replace(b'"type"', b'"type\\'))
    shown = told("show", SESSION, "#1", code=1)
    assert '\\"type\\' in shown.out
    assert "its record cannot be read" in shown.errors or "digest does not match" in shown.errors


SUMMARY = "# Goal\n\nMend the parser.\n"


@pytest.mark.parametrize("kind", ["compaction", "branch_summary"])
def test_a_summary_is_shown_as_text_behind_the_rest(kind: str) -> None:
    shown = record_text(kind, {"type": kind, "summary": SUMMARY, "tokensBefore": 9})
    rest, _, text = shown.partition("\n\nsummary, 25 characters:\n\n")
    assert json.loads(rest) == {"type": kind, "tokensBefore": 9}
    assert text == "# Goal\n\nMend the parser."


def test_long_texts_beside_a_summary_are_cut_however_deep_they_stand() -> None:
    record = {"summary": "s", "request": {"requests": [{"answer": "word " * 100, "model": "m"}]}}
    rest = json.loads(record_text("compaction", record).partition("\n\n")[0])
    (asked,) = rest["request"]["requests"]
    assert asked["model"] == "m"
    assert asked["answer"].endswith("word… (500 characters; --json has all)")
    assert len(asked["answer"]) < 170


def test_long_paths_beside_a_summary_keep_their_end() -> None:
    record = {"summary": "s", "details": {"readFiles": [f"/{'folder/' * 30}parser.py"]}}
    (path,) = json.loads(record_text("compaction", record).partition("\n\n")[0])["details"]["readFiles"]
    assert "/folder/parser.py" in path


@pytest.mark.parametrize("record", [{"type": "message", "text": "x" * 500}, {"summary": 5}, [1], "x" * 500])
def test_any_other_record_is_shown_whole(record: object) -> None:
    assert json.loads(record_text("compaction", record)) == record


def test_the_field_of_another_kind_is_no_summary() -> None:
    record = {"summary": SUMMARY}
    assert json.loads(record_text("custom", record)) == record


@pytest.mark.parametrize("options", [[], ["--json"], ["--raw"]])
def test_a_damaged_event_is_shown_with_a_warning(told: Refold, options: list[str]) -> None:
    with tables(told.store) as stored:
        key, value = stored.items("events")[0]
        stored.put("events", key, value.replace(b'"user"', b'"uses"'))
    shown = told("show", SESSION, "#1", *options, code=1)
    assert ("uses" in shown.out, "event 1" in shown.errors) == (True, True)
