"""Compactions of oh-my-pi whose history only its provider can read: to everyone else they are no summaries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compaction.cuts import LastMessages
from compaction.window import Window, build_window
from eventstore.files.importing import import_sessions
from eventstore.memory import MemoryLog
from eventstore.writing import SessionWriter
from projections.audit.checks import check_session
from projections.audit.measure import EventRef
from projections.audit.session import audit
from projections.context.build import build_context
from projections.context.cursor import resolve_cursor
from projections.context.parts import view_of_part
from projections.diff import diff
from projections.requests.anthropic import render
from projections.requests.repairs import RepairRule
from projections.search import search
from projections.search.words import Query
from projections.tokens import counter
from tests.compaction.scripted import Scripted, compactor, policy
from tests.support import oh_my_pi_sessions

Json = dict[str, Any]

PLACEHOLDER = "A provider keeps the history."


def said(text: str, role: str = "user") -> Json:
    message: Json = {"role": role, "content": [{"type": "text", "text": text}]}
    return {"type": "message", "message": message | ({"stopReason": "stop"} if role == "assistant" else {})}


def compacted(summary: str = PLACEHOLDER, *, first: int, native: bool = True, sealed: int = 1) -> Json:
    item = {"type": "compaction", "encrypted_content": "x" * sealed}
    history = {"provider": "openai", "replacementHistory": [item]}
    return {
        "type": "compaction",
        "summary": summary,
        "firstKeptEntryId": f"{first:08x}",
        "tokensBefore": 7,
        "details": {"readFiles": [], "modifiedFiles": []},
        **({"preserveData": {"openaiRemoteCompaction": history}} if native else {}),
    }


EARLY = (said("early question"), said("early answer", "assistant"))
LATE = (said("late question"), said("late answer", "assistant"))
"""Entries 0 and 1, and those behind a compaction."""


@pytest.fixture
def log() -> MemoryLog:
    return MemoryLog()


def bring(log: MemoryLog, folder: Path, *entries: Json) -> str:
    ids = [f"{number:08x}" for number in range(len(entries))]
    placed = [
        {"id": name, "parentId": above, "timestamp": oh_my_pi_sessions.time_of(number), **fields}
        for number, (name, above, fields) in enumerate(zip(ids, [None, *ids], entries, strict=False))
    ]
    (folder / "s.jsonl").write_bytes(oh_my_pi_sessions.file_of(placed))
    return import_sessions(log, folder / "s.jsonl")[0].id


def window_of(log: MemoryLog, session: str) -> Window:
    with log.snapshot() as snapshot:
        return build_window(snapshot, resolve_cursor(snapshot, session), counter("utf16/4"))


def places(window: Window) -> list[int]:
    return [int(item.id, 16) for item in window.items]


def texts(log: MemoryLog, session: str, *, readable: bool) -> list[str]:
    context = build_context(log, session, readable=readable)
    return [view_of_part(part).text for part in context.parts]


def test_the_window_begins_before_a_native_history(log: MemoryLog, tmp_path: Path) -> None:
    session = bring(log, tmp_path, *EARLY, compacted(first=1), *LATE)
    found = window_of(log, session)
    assert (places(found), found.previous_summary) == ([0, 1, 3, 4], None)


def test_the_summary_before_a_native_history_counts(log: MemoryLog, tmp_path: Path) -> None:
    summary = compacted("so far", first=1, native=False)
    session = bring(log, tmp_path, *EARLY, summary, said("more"), compacted(first=3), *LATE)
    found = window_of(log, session)
    assert (places(found), found.previous_summary) == ([1, 3, 5, 6], "so far")


def test_a_native_history_can_be_compacted(log: MemoryLog, tmp_path: Path) -> None:
    assert not window_of(log, bring(log, tmp_path, *EARLY, compacted(first=1))).is_compacted


def test_a_compaction_summarizes_what_a_native_history_hides(log: MemoryLog, tmp_path: Path) -> None:
    long = said("early question " * 500)
    session = bring(log, tmp_path, long, EARLY[1], compacted(first=1), *LATE)
    scribe = Scripted(lambda _: "all of it")
    done = compactor(scribe, policy=policy(cut=LastMessages(messages=2))).compact(SessionWriter(log, session))
    assert done.outcome == "compacted"
    asked = scribe.prompts[0].text
    assert ("early question" in asked, "early answer" in asked, PLACEHOLDER in asked) == (True, True, False)
    assert texts(log, session, readable=False) == ["all of it", "late question", "late answer"]
    assert check_session(log, session).failed == []


def test_contexts_are_what_oh_my_pi_sent(log: MemoryLog, tmp_path: Path) -> None:
    session = bring(log, tmp_path, *EARLY, compacted(first=1), *LATE)
    assert texts(log, session, readable=False) == [PLACEHOLDER, "late question", "late answer"]


def test_a_request_has_the_native_historys_messages(log: MemoryLog, tmp_path: Path) -> None:
    session = bring(log, tmp_path, *EARLY, compacted(first=1), *LATE)
    rendered = render(build_context(log, session, readable=True), model="claude-opus-4-8")
    assert b"early question" in rendered.body
    assert PLACEHOLDER.encode() not in rendered.body
    assert [(each.rule, each.event) for each in rendered.repairs] == [(RepairRule.NATIVE_HISTORY, "00000002")]


def test_an_audit_claims_no_native_loss(log: MemoryLog, tmp_path: Path) -> None:
    session = bring(log, tmp_path, *EARLY, compacted(first=1), *LATE)
    found = audit(log, session)
    (compaction,) = found.compactions
    counts = compaction.messages
    assert (counts.summarized, counts.kept, counts.uncovered) == (0, 0, 0)
    assert (compaction.summary, compaction.conditions) == ("", [])


def test_a_sealed_history_is_a_sized_gap(log: MemoryLog, tmp_path: Path) -> None:
    session = bring(log, tmp_path, *EARLY, compacted(first=1, sealed=8_000), *LATE)
    (gap,) = (gap for gap in audit(log, session).gaps if "only openai can read" in gap.what)
    assert (gap.event, gap.tokens) == ("00000002", 1_337)


def test_the_next_summary_covers_the_hidden_messages(log: MemoryLog, tmp_path: Path) -> None:
    again = compacted("all of it", first=4, native=False)
    session = bring(log, tmp_path, *EARLY, compacted(first=1), *LATE, again)
    compaction = audit(log, session).compactions[-1]
    assert compaction.messages.summarized == 3
    assert compaction.uncovered == list[EventRef]()


def test_a_comparison_claims_no_native_loss(log: MemoryLog, tmp_path: Path) -> None:
    session = bring(log, tmp_path, *EARLY, compacted(first=1), *LATE)
    found = diff(log, session, "00000001", "00000004")
    assert [each.change for each in found.changes] == ["native", "native", "new", "new", "new"]
    assert found.summaries == []


def test_a_search_claims_no_native_loss(log: MemoryLog, tmp_path: Path) -> None:
    bring(log, tmp_path, *EARLY, compacted(first=1), *LATE)
    query = Query("question")
    assert [each.state for each in search(log, None, query, limit=9)] == ["context", "native"]
    assert [each.state for each in search(log, None, query, limit=9, gone=True)] == ["native"]
