"""Tell what a person said in an event from the harness's own words."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventstore.memory import MemoryLog
from projections.person_text import GIVEN_BACK, outside_tags, person_text
from tests.support.claude_code import (
    SESSION,
    answer,
    attached,
    boundary,
    bring,
    call,
    record,
    result,
    said,
    summary,
)
from tests.support.events import events
from tests.support.talk import Story, user

REFUSED = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n"


def text_of(tmp_path: Path, line: bytes) -> str:
    """Return what a person said in the event `x`."""
    log = MemoryLog()
    bring(log, tmp_path / "s.jsonl", said("u", None, "go"), answer("a", "u", "m", call("c")), line)
    return next(person_text(event) for event in events(log, SESSION) if event.id == "x")


def typed(*texts: str) -> bytes:
    blocks = [{"type": "text", "text": text} for text in texts]
    return record("x", "a", "user", message={"role": "user", "content": blocks})


def test_a_typed_message_is_trimmed_text(tmp_path: Path) -> None:
    assert text_of(tmp_path, said("x", "a", " use tabs\n")) == "use tabs"


def test_blocks_are_on_lines_of_their_own(tmp_path: Path) -> None:
    assert text_of(tmp_path, typed("use tabs", "and LF")) == "use tabs\nand LF"


def test_a_block_of_the_editor_is_left_out(tmp_path: Path) -> None:
    opened = "<ide_opened_file>The user opened /a.py in the IDE.</ide_opened_file>"
    assert text_of(tmp_path, typed(opened, "use tabs")) == "use tabs"


def test_what_refold_gave_back_is_nobodys(tmp_path: Path) -> None:
    assert text_of(tmp_path, said("x", "a", f"{GIVEN_BACK}\n#3: “use tabs”")) == ""


def test_a_heartbeat_is_nobodys(tmp_path: Path) -> None:
    assert text_of(tmp_path, said("x", "a", "[OpenClaw heartbeat poll]")) == ""
    assert text_of(tmp_path, said("x", "a", "Stop the [OpenClaw heartbeat poll].")) != ""


def test_a_queued_message_is_said(tmp_path: Path) -> None:
    queued = {"type": "queued_command", "prompt": "use tabs", "commandMode": "prompt"}
    assert text_of(tmp_path, attached("x", "a", queued)) == "use tabs"


def test_another_attachment_is_not_said(tmp_path: Path) -> None:
    assert text_of(tmp_path, attached("x", "a", {"type": "nested_memory", "content": "use tabs"})) == ""


def test_words_of_a_refusal_are_said(tmp_path: Path) -> None:
    assert text_of(tmp_path, result("x", "a", "c", f"{REFUSED}use tabs", fails=True)) == "use tabs"


def test_another_result_is_not_said(tmp_path: Path) -> None:
    assert text_of(tmp_path, result("x", "a", "c", "use tabs")) == ""


def test_an_answer_is_not_said(tmp_path: Path) -> None:
    assert text_of(tmp_path, answer("x", "a", "n", "use tabs")) == ""


def test_a_summary_is_not_said(tmp_path: Path) -> None:
    log = MemoryLog()
    bring(log, tmp_path / "s.jsonl", said("u", None, "go"), boundary("b", "u"), summary("s", "b", "use tabs"))
    assert [person_text(event) for event in events(log, SESSION) if event.is_entry] == ["go", "", ""]


def test_a_continuation_is_not_said(story: Story) -> None:
    story.says({**user("continue"), "metadata": {"compaction_continue": True}})
    assert [person_text(event) for event in events(story.log, "s")] == [""]


@pytest.mark.parametrize(
    ("text", "outside"),
    [
        ("<system-reminder>\nb\n</system-reminder>\nc", "\nc"),
        ("<file name='a'>b</file>c<file>d</file>", "c<file>d</file>"),
        ("a\n  <ide_selection>b</ide_selection>\nc", "a\n\nc"),
        ("<file>a <file> b</file> c", " c"),
        ("<file>a", "<file>a"),
        ("see <file>a</file>", "see <file>a</file>"),
        ("<filed>a</filed>", "<filed>a</filed>"),
        ("<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nruntime\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>go on", "go on"),
        ("<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>> is odd", "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>> is odd"),
    ],
)
def test_text_between_tags_of_harnesses_is_left_out(text: str, outside: str) -> None:
    assert outside_tags(text) == outside
