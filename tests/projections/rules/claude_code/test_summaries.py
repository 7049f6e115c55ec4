"""Build contexts after compactions of Claude Code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compaction.composing import record_compaction
from eventstore.memory import MemoryLog
from eventstore.paths import path
from eventstore.writing import SessionWriter
from projections.audit.checks import STRUCTURE, check_session
from projections.audit.gaps import KEPT, context_gaps
from projections.audit.session import audit
from projections.context.build import build_context, context_at
from projections.context.cursor import resolve_cursor
from projections.context.incremental import IncrementalContexts
from projections.diff import Change, diff
from projections.rules import claude_code
from projections.tokens import counter
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
    system,
)
from tests.support.claude_code_contexts import BEFORE, JOINED, PAID, PARALLEL, shown, turns


def test_a_context_begins_with_the_newest_summary(log: MemoryLog, tmp_path: Path) -> None:
    bring(
        log,
        tmp_path / "s.jsonl",
        *BEFORE,
        boundary("k", "b"),
        summary("s", "k"),
        said("w", "s", "third"),
    )
    assert shown(log) == [("compactionSummary", ["so far"]), ("user", ["third"])]
    assert len(shown(log, "b")) == 4


KEPT_LIST = {"uuids": ["v", "b"], "allUuids": ["v", "b"]}


KEPT_RUN = {"headUuid": "v", "tailUuid": "b"}


def test_what_a_plugin_returns_replaces_the_history(log: MemoryLog, tmp_path: Path) -> None:
    """A result that it keeps names its call as its parent, above the boundary; without that call, it is not sent."""
    lines = (
        *PARALLEL,
        answer("b", "r2", "m2", "done", at=3),
        record(
            "k", None, "system", subtype="compact_boundary", logicalParentUuid="b", compactMetadata={}, at=9
        ),
        said("s", "k", "notes", rowSource="hook", at=8),
        result("r2~", "a3", "y", "two", rowSource="local"),
        answer("b~", "r2~", "m2", "done", at=3),
        said("w", "b~", "third", at=10),
    )
    for count in (9, len(lines)):
        bring(log, tmp_path / "s.jsonl", *lines[:count])
    assert shown(log) == [("compactionSummary", ["notes"]), ("assistant", ["done"]), ("user", ["third"])]
    assert [gap.what for gap in audit(log, SESSION).gaps][1:] == [claude_code.RESUMED]


def test_what_a_plugin_keeps_with_its_call_stays(log: MemoryLog, tmp_path: Path) -> None:
    bring(
        log,
        tmp_path / "s.jsonl",
        *PARALLEL,
        record(
            "k", None, "system", subtype="compact_boundary", logicalParentUuid="r2", compactMetadata={}, at=9
        ),
        said("s", "k", "notes", rowSource="hook", at=8),
        answer("a3~", "s", "m1", call("y"), at=3),
        result("r2~", "a3", "y", "two", at=3),
        said("w", "r2~", "third", at=10),
    )
    assert [role for role, _ in shown(log)] == ["compactionSummary", "assistant", "toolResult", "user"]


def test_messages_from_a_chosen_one_on_are_kept(log: MemoryLog, tmp_path: Path) -> None:
    """The boundary of a summary "up to here" names the last message that is summarized."""
    kept = {"anchorUuid": "s", "uuids": ["v", "b"]}
    lines = (boundary("k", "a", preservedMessages=kept), summary("s", "k"), said("w", "s", "third"))
    bring(log, tmp_path / "s.jsonl", *BEFORE, *lines)
    stay = [("user", ["second"]), ("assistant", ["indeed"])]
    assert shown(log) == [("compactionSummary", ["so far"]), *stay, ("user", ["third"])]


def test_kept_messages_that_are_written_again_stay(log: MemoryLog, tmp_path: Path) -> None:
    """Claude Code writes them again before the boundary, with a field more."""
    again = (said("v", "a", "second", slug="x"), answer("b", "v", "m2", "indeed", slug="x"))
    kept = {"anchorUuid": "s", "uuids": ["v", "b"]}
    lines = (boundary("k", "b", preservedMessages=kept), summary("s", "k"), said("w", "s", "third"))
    bring(log, tmp_path / "s.jsonl", *BEFORE, *again, *lines)
    stay = [("user", ["second"]), ("assistant", ["indeed"])]
    assert shown(log) == [("compactionSummary", ["so far"]), *stay, ("user", ["third"])]


@pytest.mark.parametrize("field", ["preservedSegment", "preservedMessages"])
@pytest.mark.parametrize("is_before", [False, True])
@pytest.mark.parametrize("next_of", ["s", "b"])
def test_what_a_boundary_keeps_stands_before_or_behind_the_summary(
    log: MemoryLog, tmp_path: Path, field: str, next_of: str, *, is_before: bool
) -> None:
    kept = KEPT_RUN if field == "preservedSegment" else KEPT_LIST
    bring(
        log,
        tmp_path / "s.jsonl",
        *BEFORE,
        boundary("k", "b", **{field: {**kept, "anchorUuid": "k" if is_before else "s"}}),
        summary("s", "k"),
        said("w", "s" if is_before else next_of, "third"),
    )
    stay = [("user", ["second"]), ("assistant", ["indeed"])]
    told = [("compactionSummary", ["so far"])]
    assert shown(log) == [*(stay + told if is_before else told + stay), ("user", ["third"])]


@pytest.mark.parametrize("kept", [{"preservedSegment": KEPT_RUN}, {"preservedMessages": KEPT_LIST}])
@pytest.mark.parametrize("first", [1, 7, 8])
def test_a_rewind_to_a_kept_message_shows_the_summary_and_what_is_kept_up_to_it(
    log: MemoryLog, tmp_path: Path, kept: Any, first: int
) -> None:
    metadata = {field: {**value, "anchorUuid": "s"} for field, value in kept.items()}
    lines = (
        *BEFORE,
        boundary("k", "b", **metadata),
        summary("s", "k"),
        said("w", "b", "third"),
        answer("c", "w", "m3", "done"),
        said("x", "v", "other"),
        answer("d", "x", "m4", "well"),
    )
    assert len(BEFORE) == 4
    bring(log, tmp_path / "s.jsonl", *lines[:first])
    bring(log, tmp_path / "s.jsonl", *lines)
    told = ("compactionSummary", ["so far"])
    rewound = [told, ("user", ["second"]), ("user", ["other"]), ("assistant", ["well"])]
    assert shown(log) == rewound
    assert shown(log, "c") == [
        told,
        ("user", ["second"]),
        ("assistant", ["indeed"]),
        ("user", ["third"]),
        ("assistant", ["done"]),
    ]
    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, SESSION)
        entries = [each.decode() for each in path(snapshot, SESSION, cursor.leaf)]
        along = IncrementalContexts(snapshot, cursor, entries)
        for entry in entries:
            assert along.context_at(entry.seq).parts == context_at(snapshot, cursor.at_leaf(entry.seq)).parts


@pytest.mark.parametrize("last", ["v", "b"])
def test_a_listed_message_that_is_missing_changes_nothing_for_the_others(
    log: MemoryLog, tmp_path: Path, last: str
) -> None:
    kept = {"uuids": ["v", "b", "gone"], "anchorUuid": "s"}
    lines = (*BEFORE, boundary("k", "b", preservedMessages=kept), summary("s", "k"))
    bring(log, tmp_path / "s.jsonl", *lines, said("w", last, "third"))
    kept_until = [("user", ["second"]), ("assistant", ["indeed"])][: 1 + (last == "b")]
    assert shown(log) == [("compactionSummary", ["so far"]), *kept_until, ("user", ["third"])]


@pytest.mark.parametrize("kept", [{"preservedSegment": KEPT_RUN}, {"preservedMessages": KEPT_LIST}])
def test_what_a_boundary_snips_is_not_kept(log: MemoryLog, tmp_path: Path, kept: Any) -> None:
    metadata = {field: {**value, "anchorUuid": "s"} for field, value in kept.items()}
    mark = system(
        "k",
        None,
        "compact_boundary",
        logicalParentUuid="b",
        compactMetadata=metadata,
        snipMetadata={"removedUuids": ["v"]},
    )
    bring(
        log,
        tmp_path / "s.jsonl",
        *BEFORE,
        mark,
        summary("s", "k"),
        said("w", "b", "third"),
    )
    assert shown(log) == [
        ("compactionSummary", ["so far"]),
        ("assistant", ["indeed"]),
        ("user", ["third"]),
    ]


def test_a_broken_run_keeps_nothing(log: MemoryLog, tmp_path: Path) -> None:
    bring(
        log,
        tmp_path / "s.jsonl",
        *BEFORE,
        boundary("k", "b", preservedSegment={"headUuid": "gone", "tailUuid": "b", "anchorUuid": "s"}),
        summary("s", "k"),
        said("w", "s", "third"),
    )
    assert shown(log) == [("compactionSummary", ["so far"]), ("user", ["third"])]


@pytest.mark.parametrize(
    "kept",
    [
        {"preservedMessages": {"uuids": ["a1", "a2", "a3", "r1", "r2"], "anchorUuid": "s"}},
        {"preservedSegment": {"headUuid": "a1", "tailUuid": "r2", "anchorUuid": "s"}},
    ],
)
def test_parallel_results_are_kept_with_their_calls(log: MemoryLog, tmp_path: Path, kept: Any) -> None:
    bring(
        log,
        tmp_path / "s.jsonl",
        *PARALLEL,
        boundary("k", "r2", **kept),
        summary("s", "k"),
        said("w", "s", "third"),
    )
    assert shown(log) == [("compactionSummary", ["so far"]), *JOINED[1:], ("user", ["third"])]


def test_parallel_results_beside_the_path_are_in_the_summary(log: MemoryLog, tmp_path: Path) -> None:
    bring(
        log,
        tmp_path / "s.jsonl",
        *PARALLEL,
        boundary("k", "r2"),
        summary("s", "k"),
        answer("b", "s", "m2", "done"),
    )
    (compaction,) = audit(log, SESSION).compactions
    assert (compaction.messages.uncovered, compaction.uncovered) == (0, [])
    assert compaction.messages.summarized == 4
    changes = {each.event: each.change for each in diff(log, SESSION, "r2", "b").changes}
    assert changes["r1"] is Change.SUMMARIZED


@pytest.mark.slow
def test_parallel_results_that_a_compaction_of_refold_keeps_pass_its_check(
    log: MemoryLog, tmp_path: Path
) -> None:
    bring(log, tmp_path / "s.jsonl", said("t", None, "before"), said("u", "t", "go"), *PARALLEL[1:])
    record_compaction(SessionWriter(log, SESSION), summary="so far", first_kept="u")
    assert "r1" in [part.id for part in build_context(log, SESSION).parts]
    results = {each.name: each for each in check_session(log, SESSION).results}
    assert (results[STRUCTURE].passed, results[STRUCTURE].checked) == (1, 1)


@pytest.mark.parametrize(
    ("kept", "shown", "at"),
    [
        ({"preservedMessages": {"uuids": ["v", "b"], "anchorUuid": "s"}}, 3, set()),
        ({"preservedMessages": {"uuids": ["v", "gone", "b"], "anchorUuid": "s"}}, 3, {"s"}),
        ({"preservedSegment": {"headUuid": "v", "tailUuid": "b", "anchorUuid": "s"}}, 3, set()),
        ({"preservedSegment": {"headUuid": "v", "tailUuid": "gone", "anchorUuid": "s"}}, 1, {"s"}),
    ],
)
def test_kept_messages_of_no_record_are_gaps(
    log: MemoryLog, tmp_path: Path, kept: Any, shown: int, at: set[str]
) -> None:
    bring(log, tmp_path / "s.jsonl", *BEFORE, boundary("k", "b", **kept), summary("s", "k"))
    context = build_context(log, SESSION)
    (structure,) = (each for each in check_session(log, SESSION).results if each.name == STRUCTURE)
    with log.snapshot() as snapshot:
        gaps = {
            each.event for each in context_gaps(snapshot, context, counter("utf16/4")) if each.what == KEPT
        }
    assert (len(context.parts), structure.passed, gaps) == (shown, 1, at)


@pytest.mark.parametrize(
    "version", ["2.0.14", "2.0.76", "2.1.7", "2.1.25", "2.1.37", "2.1.88", "2.1.110", "2.1.170", "2.1.251"]
)
@pytest.mark.parametrize("kept", ["nothing", "a run", "a list", "a list before the summary"])
def test_sessions_of_every_version_pass_their_checks(
    log: MemoryLog, tmp_path: Path, version: str, kept: str
) -> None:
    """Parallel calls, attachments, a compaction in each version's shape, and what follows it."""
    ids = ["u1", "a1", "b1", "r1", "q1", "d1"]
    anchor = "k" if kept == "a list before the summary" else "s"
    metadata: dict[str, Any] = {}
    if kept == "a run":
        metadata = {"preservedSegment": {"headUuid": "u1", "tailUuid": "d1", "anchorUuid": anchor}}
    elif kept != "nothing":
        metadata = {"preservedMessages": {"uuids": ids, "allUuids": ids, "anchorUuid": anchor}}
    below = "d1" if kept in ("a run", "a list") else "s"
    lines = [
        *turns(2, counts=[5, 11]),
        boundary("k", "d1", **metadata),
        summary("s", "k"),
        attached("h", below, {"type": "hook_additional_context", "content": ["mind"]}),
        said("w", "h", "and now?"),
        answer("c", "w", "m9", "done", usage=PAID),
    ]
    as_written = [each.replace(b'"version":"2.1.170"', f'"version":"{version}"'.encode()) for each in lines]
    bring(log, tmp_path / "s.jsonl", *as_written)
    results = {each.name: each for each in check_session(log, SESSION).results}
    assert [each.failures for each in results.values() if each.exact] == [[], [], []]
    assert (results[claude_code.COUNTS].checked, results[STRUCTURE].checked) == (2, 1)
    shown_ids = {part.id for part in build_context(log, SESSION).parts}
    assert {"s", "h", "w", "c"} <= shown_ids
    assert ("u1" in shown_ids) == (kept != "nothing")
