from __future__ import annotations

import json

import pytest

from cli.commands.show import record_text

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
