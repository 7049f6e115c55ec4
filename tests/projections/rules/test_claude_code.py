"""Build the contexts of Claude Code sessions."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from compaction import record_compaction
from compaction.branching.fork import fork
from eventstore.imports import recorded_id
from eventstore.log import Snapshot
from eventstore.memory import MemoryLog
from eventstore.paths import path
from eventstore.writing import SessionWriter
from projections.audit.checks import STRUCTURE, check_session
from projections.audit.session import audit
from projections.context.build import build_context, context_at, context_json, harness_json
from projections.context.cursor import path as context_path
from projections.context.cursor import resolve_cursor
from projections.context.incremental import IncrementalContexts
from projections.diff import Change, diff
from projections.files import file_operations
from projections.rules import claude_code
from projections.timeline import timeline
from tests.support.claude_code import (
    SESSION,
    answer,
    attached,
    boundary,
    bring,
    call,
    note,
    record,
    result,
    said,
    summary,
    system,
)
from tests.support.recording_snapshot import RecordingSnapshot


@pytest.fixture
def log() -> MemoryLog:
    return MemoryLog()


def shown(log: MemoryLog, leaf: str | None = None) -> list[tuple[str, list[str]]]:
    """The messages of a context: the role, and what each block is or says."""
    context = build_context(log, SESSION, leaf=leaf)
    if leaf is None:
        assert context_json(log, SESSION) == harness_json(context)
    found = []
    for part in context.parts:
        content = json.loads(part.raw)["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found.append((part.role, [_told(block) for block in blocks]))
    return found


def _told(block: dict[str, Any]) -> str:
    if block["type"] == "tool_use":
        return f"call {block['id']}"
    if block["type"] == "tool_result":
        return f"{block['tool_use_id']}: {block['content']}"
    return str(block["text"])


PARALLEL = (
    said("u", None, "read both"),
    answer("a1", "u", "m1", "reading"),
    answer("a2", "a1", "m1", call("x")),
    answer("a3", "a2", "m1", call("y")),
    result("r1", "a2", "x", "one"),
    result("r2", "a3", "y", "two"),
)
JOINED = [
    ("user", ["read both"]),
    ("assistant", ["reading", "call x", "call y"]),
    ("toolResult", ["x: one"]),
    ("toolResult", ["y: two"]),
]


def test_parallel_results_are_joined_and_the_records_of_a_message_are_one(
    log: MemoryLog, tmp_path: Path
) -> None:
    bring(log, tmp_path / "s.jsonl", *PARALLEL, answer("b", "r2", "m2", "done"))
    assert shown(log) == [*JOINED, ("assistant", ["done"])]
    assert shown(log, "r2") == JOINED


def test_a_result_beside_the_path_brings_what_hangs_on_it(log: MemoryLog, tmp_path: Path) -> None:
    hook = {"type": "hook_additional_context", "content": ["mind the gap"]}
    bring(
        log,
        tmp_path / "s.jsonl",
        *PARALLEL[:5],
        attached("h", "r1", hook),
        PARALLEL[5],
        answer("b", "r2", "m2", "done"),
    )
    assert [role for role, _ in shown(log)] == [
        "user",
        "assistant",
        "toolResult",
        "custom",
        "toolResult",
        "assistant",
    ]


def test_a_rewind_is_a_branch(log: MemoryLog, tmp_path: Path) -> None:
    bring(
        log,
        tmp_path / "s.jsonl",
        said("u", None, "first"),
        answer("a", "u", "m1", "yes"),
        said("v", "a", "second"),
        answer("b", "v", "m2", call("x")),
        result("r", "b", "x", "never mind"),
        said("w", "a", "second, better"),
        answer("c", "w", "m3", "done"),
    )
    assert shown(log) == [
        ("user", ["first"]),
        ("assistant", ["yes"]),
        ("user", ["second, better"]),
        ("assistant", ["done"]),
    ]
    assert shown(log, "r")[-1] == ("toolResult", ["x: never mind"])


def test_what_tools_print_and_models_write_ends_no_process(log: MemoryLog, tmp_path: Path) -> None:
    lines = [
        *PARALLEL,
        answer("b", "r2", "m2", call("z", "Grep", pattern="exit")),
        result("r3", "b", "z", "grep: <command-name>/exit</command-name>"),
        answer("c", "r3", "m3", "It prints <command-name>/exit</command-name>"),
        said("w", "c", "go on"),
    ]
    old = [line.replace(b'"version":"2.1.170"', b'"version":"2.1.30"') for line in lines]
    bring(log, tmp_path / "s.jsonl", *old)
    assert "x: one" in [text for _, blocks in shown(log) for text in blocks]


def test_a_version_among_the_arguments_of_a_call_is_not_the_programs(log: MemoryLog, tmp_path: Path) -> None:
    quoted = json.loads(answer("b", "r2", "m2", call("z", "Write", version="1.0.0")))
    quoted = {"message": quoted.pop("message"), **quoted}
    exit_ = said("q", "b", "<command-name>/exit</command-name>")
    lines = [json.dumps(quoted, separators=(",", ":")).encode(), exit_, said("w", "q", "go on")]
    bring(log, tmp_path / "s.jsonl", *PARALLEL, *lines)
    assert "x: one" in [text for _, blocks in shown(log) for text in blocks]


@pytest.mark.parametrize(("version", "is_lost"), [("2.1.7", True), ("2.1.170", False)])
def test_results_beside_the_path_are_lost_where_an_old_version_resumed(
    log: MemoryLog, tmp_path: Path, version: str, *, is_lost: bool
) -> None:
    bring(
        log,
        tmp_path / "s.jsonl",
        *PARALLEL,
        said("q", "r2", "<command-name>/exit</command-name>", version=version),
        said("w", "q", "go on", version=version),
        answer("b", "w", "m2", "done", version=version),
    )
    kept = [text for _, blocks in shown(log) for text in blocks]
    assert ("x: one" not in kept) == is_lost
    assert "y: two" in kept
    with log.snapshot() as snapshot:
        head = snapshot.head(SESSION)
        gaps = list(claude_code.RULES.gaps(snapshot, path(snapshot, SESSION, head.leaf)))
    assert [each.event for each in gaps] == (["w"] if is_lost else [])


def test_a_record_whose_parent_is_missing_goes_on_from_the_one_before(log: MemoryLog, tmp_path: Path) -> None:
    (imported,) = bring(
        log,
        tmp_path / "s.jsonl",
        said("u", None, "first"),
        answer("a", "u", "m1", "yes"),
        said("v", "gone", "second"),
    )
    assert shown(log) == [("user", ["first"]), ("assistant", ["yes"]), ("user", ["second"])]
    assert [each.line for each in imported.differs_from_harness] == [3]


def test_a_parent_may_come_later(log: MemoryLog, tmp_path: Path) -> None:
    (imported,) = bring(
        log,
        tmp_path / "s.jsonl",
        said("u", None, "read"),
        result("r", "a", "x", "one"),
        answer("a", "u", "m1", call("x")),
        answer("b", "r", "m2", "done"),
    )
    assert [role for role, _ in shown(log)] == ["user", "assistant", "toolResult", "assistant"]
    assert (imported.orphans, imported.differs_from_harness) == ([], [])


BEFORE = (
    said("u", None, "first"),
    answer("a", "u", "m1", "yes"),
    said("v", "a", "second"),
    answer("b", "v", "m2", "indeed"),
)


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


def test_cleared_results_are_cleared_from_there_on(log: MemoryLog, tmp_path: Path) -> None:
    cleared = {"trigger": "auto", "compactedToolIds": ["x"]}
    bring(
        log,
        tmp_path / "s.jsonl",
        *PARALLEL,
        system("k", "r2", "microcompact_boundary", microcompactMetadata=cleared),
        answer("b", "k", "m2", "done"),
    )
    assert shown(log)[2:4] == [
        ("toolResult", ["x: [Old tool result content cleared]"]),
        ("toolResult", ["y: two"]),
    ]
    assert shown(log, "r2")[2] == ("toolResult", ["x: one"])


def test_a_replacement_without_an_id_holds_from_its_place_on(log: MemoryLog, tmp_path: Path) -> None:
    replaced = [{"kind": "tool-result", "toolUseId": "y", "replacement": "kept in a file"}]
    bring(
        log,
        tmp_path / "s.jsonl",
        *PARALLEL,
        note("content-replacement", replacements=replaced),
        answer("b", "r2", "m2", "done"),
        said("w", "b", "more"),
    )
    assert shown(log)[3] == ("toolResult", ["y: kept in a file"])
    assert shown(log, "r2")[3] == ("toolResult", ["y: two"])


@pytest.mark.parametrize(
    "fields",
    [
        {"subtype": "snip_boundary", "snipMetadata": {"removedUuids": ["u", "a"]}},
        {"subtype": "model_refusal_fallback", "retractedMessageUuids": ["u", "a"]},
    ],
)
def test_what_is_snipped_or_retracted_is_gone(log: MemoryLog, tmp_path: Path, fields: Any) -> None:
    bring(log, tmp_path / "s.jsonl", *BEFORE, system("k", "b", **fields), said("w", "k", "third"))
    assert [blocks for _, blocks in shown(log)] == [["second"], ["indeed"], ["third"]]


def test_a_collapsed_run_is_its_summary(log: MemoryLog, tmp_path: Path) -> None:
    commit = {"firstArchivedUuid": "u", "lastArchivedUuid": "a", "summaryContent": "they agreed"}
    bring(
        log,
        tmp_path / "s.jsonl",
        *BEFORE,
        note("marble-origami-commit", **commit),
        said("w", "b", "third"),
    )
    assert [blocks for _, blocks in shown(log)] == [["they agreed"], ["second"], ["indeed"], ["third"]]


def test_what_the_harness_made_up_was_never_sent(log: MemoryLog, tmp_path: Path) -> None:
    bring(
        log,
        tmp_path / "s.jsonl",
        said("u", None, "first"),
        answer("a", "u", "m1", "overloaded", model="<synthetic>", isApiErrorMessage=True),
        said("v", "a", "again"),
    )
    assert shown(log) == [("user", ["first"]), ("user", ["again"])]


def test_several_results_in_one_record_are_messages_each(log: MemoryLog, tmp_path: Path) -> None:
    blocks = [
        {"type": "tool_result", "tool_use_id": "x", "content": "one"},
        {"type": "tool_result", "tool_use_id": "y", "content": "two"},
        {"type": "text", "text": "and now?"},
    ]
    bring(
        log,
        tmp_path / "s.jsonl",
        *PARALLEL[:4],
        record("r", "a3", "user", message={"role": "user", "content": blocks}),
    )
    assert shown(log)[2:] == [
        ("toolResult", ["x: one"]),
        ("toolResult", ["y: two"]),
        ("user", ["and now?"]),
    ]


def test_a_count_in_a_record_is_checked(log: MemoryLog, tmp_path: Path) -> None:
    bring(
        log,
        tmp_path / "s.jsonl",
        *PARALLEL,
        system("d", "r2", "turn_duration", messageCount=6),
        system("e", "d", "turn_duration", messageCount=9),
    )
    with log.snapshot() as snapshot:
        checks = list(claude_code.RULES.checks(snapshot, SESSION))
    assert [(each.event, each.found, each.passed) for each in checks] == [("d", 6, True), ("e", 7, False)]


def test_a_fork_shows_what_the_branch_shows(log: MemoryLog, tmp_path: Path) -> None:
    bring(log, tmp_path / "s.jsonl", *PARALLEL, answer("b", "r2", "m2", "done"))
    forked = fork(log, SESSION, leaf="b", name="copy")
    assert [part.raw for part in build_context(log, forked.session).parts] == [
        part.raw for part in build_context(log, SESSION, leaf="b").parts
    ]


def test_a_context_is_sent_in_turns_with_results_first(log: MemoryLog, tmp_path: Path) -> None:
    lines = (*PARALLEL, attached("h", "r2", {"type": "queued_command", "prompt": "hurry"}))
    bring(log, tmp_path / "s.jsonl", *lines, said("w", "h", "please"))
    sent = json.loads(context_json(log, SESSION))["messages"]
    assert [(each["role"], [block["type"] for block in each["content"]]) for each in sent[1:]] == [
        ("assistant", ["text", "tool_use", "tool_use"]),
        ("user", ["tool_result", "tool_result", "text", "text"]),
    ]
    assert sent[0] == {"role": "user", "content": "read both"}
    plain = claude_code.RULES.plain_fold((tmp_path / "s.jsonl").read_bytes())
    assert plain is not None
    assert json.loads(plain)["messages"] == sent


def test_a_prompt_that_comes_with_the_next_import_is_not_lost(log: MemoryLog, tmp_path: Path) -> None:
    hook = {"type": "hook_additional_context", "content": ["mind the gap"]}
    lines = (*BEFORE, attached("h", "w", hook), said("w", "b", "third"), answer("c", "h", "m3", "done"))
    bring(log, tmp_path / "s.jsonl", *lines[:5])
    (imported,) = bring(log, tmp_path / "s.jsonl", *lines)
    assert (imported.rewritten, imported.diverged) == (0, False)
    alone = MemoryLog()
    bring(alone, tmp_path / "s.jsonl", *lines)
    assert context_json(log, SESSION) == context_json(alone, SESSION)
    assert {recorded_id(part.id) for part in build_context(log, SESSION).parts} == set("abchuvw")


def test_a_record_that_lost_the_name_of_its_parent_goes_on_from_the_one_before(
    log: MemoryLog, tmp_path: Path
) -> None:
    nameless = json.loads(said("v", None, "second"))
    del nameless["parentUuid"]
    bring(log, tmp_path / "s.jsonl", *BEFORE[:2], json.dumps(nameless).encode())
    assert [part.id for part in build_context(log, SESSION).parts] == ["u", "a", "v"]


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
    assert (compaction.messages.dropped, compaction.dropped) == (0, [])
    assert compaction.messages.summarized == 4
    changes = {each.event: each.change for each in diff(log, SESSION, "r2", "b").changes}
    assert changes["r1"] is Change.SUMMARIZED


def test_parallel_results_that_a_compaction_of_refold_keeps_pass_its_check(
    log: MemoryLog, tmp_path: Path
) -> None:
    bring(log, tmp_path / "s.jsonl", said("t", None, "before"), said("u", "t", "go"), *PARALLEL[1:])
    record_compaction(SessionWriter(log, SESSION), summary="so far", first_kept="u")
    assert "r1" in [part.id for part in build_context(log, SESSION).parts]
    results = {each.name: each for each in check_session(log, SESSION).results}
    assert (results[STRUCTURE].passed, results[STRUCTURE].checked) == (1, 1)


def turns(number: int, *, compact_every: int = 0, counts: Sequence[int] = ()) -> list[bytes]:
    """The lines of a session of several turns, each with parallel calls and a count of the records in memory."""
    lines: list[bytes] = []
    parent = None
    for turn in range(number):
        u, a, b, r, q, d = (f"{name}{turn}" for name in ("u", "a", "b", "r", "q", "d"))
        lines += [
            said(u, parent, "go on", at=turn),
            answer(a, u, f"m{turn}", call(f"x{turn}"), usage=PAID, at=turn),
            answer(b, a, f"m{turn}", call(f"y{turn}"), usage=PAID, at=turn),
            result(r, a, f"x{turn}", "one", at=turn),
            result(q, b, f"y{turn}", "two", at=turn),
            system(d, q, "turn_duration", messageCount=counts[turn] if counts else 1, at=turn),
        ]
        parent = d
        if compact_every and turn % compact_every == compact_every - 1:
            lines += [boundary(f"k{turn}", parent), summary(f"s{turn}", f"k{turn}")]
            parent = f"s{turn}"
    return lines


PAID = {"input_tokens": 100, "output_tokens": 5}


@pytest.mark.parametrize("compact_every", [0, 10])
@pytest.mark.parametrize("look", [check_session, audit, timeline])
def test_the_work_of_looking_at_a_session_grows_with_its_length(
    tmp_path: Path, compact_every: int, look: Callable[[Snapshot, str], object]
) -> None:
    """Four times as many turns take about four times as many reads of events, not sixteen."""

    def events_read(number: int) -> int:
        log = MemoryLog()
        bring(log, tmp_path / "s.jsonl", *turns(number, compact_every=compact_every))
        with log.snapshot() as snapshot:
            recording = RecordingSnapshot(snapshot)
            look(cast("Snapshot", recording), SESSION)
        return recording.read

    assert events_read(160) < 5 * events_read(40)


@pytest.mark.parametrize(
    ("kept", "found"),
    [
        ({"preservedMessages": {"uuids": ["v", "b"], "anchorUuid": "s"}}, (3, 3)),
        ({"preservedMessages": {"uuids": ["v", "gone", "b"], "anchorUuid": "s"}}, (4, 3)),
        ({"preservedSegment": {"headUuid": "v", "tailUuid": "b", "anchorUuid": "s"}}, (3, 3)),
        ({"preservedSegment": {"headUuid": "v", "tailUuid": "gone", "anchorUuid": "s"}}, (2, 1)),
    ],
)
def test_a_kept_message_that_the_file_lacks_fails_a_check(
    log: MemoryLog, tmp_path: Path, kept: Any, found: tuple[int, int]
) -> None:
    bring(log, tmp_path / "s.jsonl", *BEFORE, boundary("k", "b", **kept), summary("s", "k"))
    (structure,) = (each for each in check_session(log, SESSION).results if each.name == STRUCTURE)
    failed = [(each.expected, each.found) for each in structure.failures]
    assert (structure.checked, failed) == (1, [] if found[0] == found[1] else [found])


def test_few_messages_of_a_growing_context_can_still_change(log: MemoryLog, tmp_path: Path) -> None:
    bring(log, tmp_path / "s.jsonl", *turns(50))
    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, SESSION)
        entries = context_path(snapshot, cursor)
        along = IncrementalContexts(snapshot, cursor, entries)
        arranged = [along.advance(entry.seq) for entry in entries]
    assert max(len(each.others) for each in arranged) == 4
    assert all(each.settled is arranged[0].settled for each in arranged)


@pytest.mark.parametrize("version", ["2.1.7", "2.1.170"])
def test_files_of_parallel_calls_beside_the_path_count(log: MemoryLog, tmp_path: Path, version: str) -> None:
    """Files that were read stay read, even if a resumed session lost the results."""
    bring(
        log,
        tmp_path / "s.jsonl",
        said("u", None, "read both", version=version),
        answer("a1", "u", "m1", call("x", file_path="/one"), version=version),
        answer("a2", "a1", "m1", call("y", file_path="/two"), version=version),
        result("r1", "a1", "x", "one", version=version),
        result("r2", "a2", "y", "two", version=version),
        system("e", "r1", "local_command", content="<command-name>/exit</command-name>", version=version),
        answer("b", "e", "m2", "done", version=version),
    )
    assert ("r2" in {part.id for part in build_context(log, SESSION).parts}) == (version == "2.1.170")
    assert file_operations(log, SESSION).read_files == ["/one", "/two"]
    record_compaction(SessionWriter(log, SESSION), summary="so far", first_kept="b")
    (compaction,) = audit(log, SESSION).compactions
    assert compaction.files.recomputed.read_files == ["/one", "/two"]


def test_messages_of_refold_are_role_and_content_in_a_request_of_claude_code(
    log: MemoryLog, tmp_path: Path
) -> None:
    bring(log, tmp_path / "s.jsonl", *BEFORE)
    record_compaction(SessionWriter(log, SESSION), summary="so far", first_kept="b")
    writer = SessionWriter(log, SESSION)
    writer.message({"role": "user", "content": "and now?"})
    writer.message({"role": "assistant", "content": [call("x")]})
    writer.message({"role": "toolResult", "toolCallId": "x", "content": [{"type": "text", "text": "one"}]})
    sent = json.loads(context_json(log, SESSION))["messages"]
    assert [(each["role"], set(each)) for each in sent] == [
        ("user", {"role", "content"}),
        ("assistant", {"role", "content"}),
        ("user", {"role", "content"}),
        ("assistant", {"role", "content"}),
        ("user", {"role", "content"}),
    ]
    assert "<summary>\nso far" in sent[0]["content"]
    (block,) = sent[-1]["content"]
    assert (block["type"], block["tool_use_id"], block["content"][0]["text"]) == ("tool_result", "x", "one")


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


def test_a_parent_that_can_be_no_id_is_not_looked_for(log: MemoryLog, tmp_path: Path) -> None:
    bring(
        log,
        tmp_path / "s.jsonl",
        said("u", None, "go"),
        answer("a1", "u", "m1", call("x")),
        answer("a2", "\ud800", "m1", call("y")),
        result("r1", "a1", "x", "one"),
    )
    assert [part.id for part in build_context(log, SESSION).parts] == ["u", "a1", "r1"]


def test_other_rules_show_nothing_beside_the_path(log: MemoryLog, tmp_path: Path) -> None:
    bring(log, tmp_path / "s.jsonl", *PARALLEL, answer("b", "r2", "m2", "done"))
    with log.snapshot() as snapshot:
        on_path = {entry.id for entry in context_path(snapshot, resolve_cursor(snapshot, SESSION))}
    assert {part.id for part in build_context(log, SESSION).parts} - on_path
    assert {part.id for part in build_context(log, SESSION, rules="pi").parts} <= on_path
