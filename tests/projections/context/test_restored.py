"""Content that is sent again after a compaction has a fate of its own, and belongs to what the compaction made."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventstore.memory import MemoryLog
from eventstore.paths import event
from eventstore.records import RESTORED_FILE, RESTORED_PLAN, Compaction, CustomMessage
from projections.context.build import build_context
from projections.context.cursor import resolve_cursor
from projections.context.incremental import IncrementalContexts, path_of_contexts
from projections.context.parts import Fate
from projections.replacement import end_of_change
from tests.support.claude_code import (
    SESSION,
    answer,
    attached,
    boundary,
    bring,
    said,
    summary,
)
from tests.support.talk import Story, assistant, user

FILE = {"type": "file", "filename": "/a.py", "content": "a = 1"}
QUEUED = {"type": "queued_command", "prompt": "use tabs", "commandMode": "prompt"}
COMPACTED = [said("u", None, "go"), answer("a", "u", "m", "ok"), boundary("b", "a"), summary("s", "b")]
ECHO = said("e", "s", "<command-name>/compact</command-name>")


def fates(tmp_path: Path, *lines: bytes) -> dict[str, Fate]:
    log = MemoryLog()
    bring(log, tmp_path / "s.jsonl", *COMPACTED, *lines)
    return {part.id: part.fate for part in build_context(log, SESSION).parts}


def end(tmp_path: Path, *lines: bytes) -> str:
    """The id of the last entry that belongs to the compaction."""
    log = MemoryLog()
    bring(log, tmp_path / "s.jsonl", *COMPACTED, *lines)
    with log.snapshot() as snapshot:
        compaction = event(snapshot, SESSION, snapshot.locate(SESSION, "s")).decode()
        return event(
            snapshot, SESSION, end_of_change(compaction, snapshot, resolve_cursor(snapshot, SESSION))
        ).id


def test_attachments_behind_a_summary_are_restored(tmp_path: Path) -> None:
    found = fates(tmp_path, attached("x", "s", FILE), attached("y", "x", FILE), said("z", "y", "go on"))
    assert found == {"s": Fate.SUMMARY, "x": Fate.RESTORED, "y": Fate.RESTORED, "z": Fate.KEPT}


def test_attachments_behind_a_message_are_not(tmp_path: Path) -> None:
    found = fates(tmp_path, said("z", "s", "go on"), attached("x", "z", FILE))
    assert found["x"] is Fate.INJECTED


def test_the_echo_of_a_command_is_no_message(tmp_path: Path) -> None:
    found = fates(tmp_path, ECHO, attached("x", "e", FILE))
    assert (found["e"], found["x"]) == (Fate.INJECTED, Fate.RESTORED)


def test_what_a_person_queued_is_not_restored(tmp_path: Path) -> None:
    found = fates(tmp_path, attached("x", "s", QUEUED), attached("y", "x", FILE))
    assert (found["x"], found["y"]) == (Fate.INJECTED, Fate.INJECTED)


def test_a_walk_finds_the_same_fates(tmp_path: Path) -> None:
    """Nothing stops an attachment behind a summary: Claude Code sends it first, as recorded requests show."""
    log = MemoryLog()
    bring(log, tmp_path / "s.jsonl", *COMPACTED, attached("x", "s", FILE), said("z", "x", "go on"))
    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, SESSION)
        walk = IncrementalContexts(snapshot, cursor, path_of_contexts(snapshot, cursor, 1))
        walk.context_at(snapshot.locate(SESSION, "s"))
        parts = walk.context_at(cursor.leaf).parts
    assert [part.fate for part in parts] == ["restored", "summary", "kept"]
    assert parts == build_context(log, SESSION).parts


def test_restored_content_belongs_to_what_the_compaction_made(tmp_path: Path) -> None:
    assert end(tmp_path, ECHO, attached("x", "e", FILE), said("z", "x", "go on")) == "x"


def test_the_echo_of_a_command_alone_does_not(tmp_path: Path) -> None:
    assert end(tmp_path, ECHO, said("z", "e", "go on")) == "s"


@pytest.mark.parametrize("kind", [RESTORED_FILE, RESTORED_PLAN])
def test_refold_s_own_messages_restore_by_their_type(story: Story, kind: str) -> None:
    story.says(user("go"), assistant("ok"))
    story.add(Compaction(summary="so far", first_kept_entry_id="", tokens_before=10))
    story.add(CustomMessage(custom_type=kind, content="a = 1"), CustomMessage(custom_type="x", content="b"))
    fates = [part.fate for part in build_context(story.log, "s").parts]
    assert fates == [Fate.SUMMARY, Fate.RESTORED, Fate.INJECTED]
