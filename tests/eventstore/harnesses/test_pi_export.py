from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eventstore import EventLog, SessionWriter
from eventstore.frame import decode
from eventstore.harnesses.pi.export import pi_line
from eventstore.records import (
    BranchSummary,
    Compaction,
    CustomMessage,
    FileOperations,
    LeafMoved,
    Record,
    Rewrite,
    TextReplacement,
)
from tests.support.pi_files import SESSION, bring, header, kept, said


def exported(log: EventLog, session: str = "s") -> list[dict[str, Any]]:
    with log.snapshot() as snapshot:
        events = [decode(frame, session) for frame in snapshot.frames(session)]
        return [json.loads(pi_line(snapshot, event)) for event in events if event.is_entry]


def written(log: EventLog, *records: Record) -> list[dict[str, Any]]:
    ids = iter(f"{number:08x}" for number in range(100))
    SessionWriter(log, "s", clock=lambda: 1_700_000_000_000, new_id=lambda: next(ids)).append(*records)
    return exported(log)


def test_an_entry_of_ours_gets_id_parent_and_time(log: EventLog) -> None:
    _, second = written(
        log, CustomMessage(custom_type="x", content="a"), CustomMessage(custom_type="x", content="b")
    )
    assert second == {
        "type": "custom_message",
        "id": "00000001",
        "parentId": "00000000",
        "timestamp": "2023-11-14T22:13:20.000Z",
        "customType": "x",
        "content": "b",
        "display": True,
    }


def test_a_compaction_of_ours_has_the_fields_that_pi_reads(log: EventLog) -> None:
    files = FileOperations(read_files=["a"], modified_files=["b"])
    record = Compaction(summary="s", first_kept_entry_id="00000000", tokens_before=9, details=files)
    *_, found = written(log, CustomMessage(custom_type="x", content="a"), record)
    assert found["firstKeptEntryId"] == "00000000"
    assert found["details"] == {"readFiles": ["a"], "modifiedFiles": ["b"]}
    assert found["fromHook"] is False


def test_a_branch_summary_at_the_root_says_so(log: EventLog) -> None:
    assert written(log, BranchSummary(from_id="", summary="s"))[0]["fromId"] == "root"


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (LeafMoved(from_id="x"), "leaf_moved"),
        (Rewrite(reason="r", targets=[TextReplacement(target="a", text="b")]), "rewrite"),
    ],
)
def test_kinds_that_pi_does_not_have_become_custom_entries(log: EventLog, record: Record, kind: str) -> None:
    (found,) = written(log, record)
    assert (found["type"], found["customType"]) == ("custom", f"refold.{kind}")


def test_records_of_version_1_get_ids_and_a_kept_id_in_place_of_an_index(
    log: EventLog, tmp_path: Path
) -> None:
    bring(log, tmp_path, header(1) + said("one") + said("two") + kept(2))
    first, second, compaction = exported(log, SESSION)
    assert second["parentId"] == first["id"]
    assert compaction["firstKeptEntryId"] == second["id"]
    assert "firstKeptEntryIndex" not in compaction


def test_hook_messages_are_custom_ones(log: EventLog, tmp_path: Path) -> None:
    bring(log, tmp_path, header(2) + said("one", "a", None, role="hookMessage"))
    assert exported(log, SESSION)[0]["message"]["role"] == "custom"
