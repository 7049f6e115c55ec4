"""Build the contexts of Claude Code sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.plain_claude_code import plain_context
from compaction.branching.fork import fork
from compaction.composing import record_compaction
from eventstore.memory import MemoryLog
from eventstore.paths import path
from eventstore.writing import SessionWriter
from projections.audit.session import audit
from projections.context.build import build_context, context_json
from projections.context.cursor import path as context_path
from projections.context.cursor import resolve_cursor
from projections.files import file_operations
from projections.rules import claude_code
from tests.support.claude_code import (
    SESSION,
    answer,
    attached,
    bring,
    call,
    note,
    record,
    result,
    said,
    system,
)
from tests.support.claude_code_contexts import BEFORE, JOINED, PARALLEL, shown


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


def test_progress_between_parallel_calls_hides_none(log: MemoryLog, tmp_path: Path) -> None:
    lines = [
        *PARALLEL[:3],
        record("p1", "a2", "progress", data={"type": "bash_progress"}),
        record("p2", "p1", "progress", data={"type": "bash_progress"}),
        answer("a3", "p2", "m1", call("y")),
        record("p3", "a3", "progress", data={"type": "bash_progress"}),
        PARALLEL[5],
        PARALLEL[4],
        answer("b", "r1", "m2", "done"),
    ]
    bring(log, tmp_path / "s.jsonl", *lines)
    assert shown(log) == [*JOINED[:2], JOINED[3], JOINED[2], ("assistant", ["done"])]


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
    assert [each.line for each in imported.orphans] == [3]


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


def test_what_the_harness_answered_itself_is_sent(log: MemoryLog, tmp_path: Path) -> None:
    """It does so for a prompt without an answer, when it resumes the session."""
    bring(
        log, tmp_path / "s.jsonl", said("u", None, "first"), answer("a", "u", "x", "No.", model="<synthetic>")
    )
    assert shown(log) == [("user", ["first"]), ("assistant", ["No."])]


def test_attachments_move_up_whatever_words_they_have(log: MemoryLog, tmp_path: Path) -> None:
    """Without a record of the words, refold's own say what was attached, and a gap is named."""
    hook = {"type": "hook_additional_context", "content": ["mind the gap"]}
    typed = {"type": "queued_command", "prompt": "hurry"}
    lines = (*PARALLEL, attached("q", "r2", typed), answer("b", "q", "m2", "done"), said("w", "b", "go"))
    bring(log, tmp_path / "s.jsonl", *lines, attached("h", "w", hook))
    sent = json.loads(context_json(log, SESSION))["messages"]
    joined, last = sent[2]["content"][-1], sent[-1]["content"]
    assert joined["content"] == "two\n\n<system-reminder>\nqueued command:\nhurry\n</system-reminder>"
    assert [block["text"].splitlines()[-1] for block in last] == ["</system-reminder>", "go"]
    assert claude_code.WORDS in [gap.what for gap in audit(log, SESSION).gaps]


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
    hurry = attached("h", "r2", {"type": "queued_command", "prompt": "hurry"}, version="2.1.100")
    lines = (*PARALLEL, hurry)
    bring(log, tmp_path / "s.jsonl", *lines, said("w", "h", "please"))
    sent = json.loads(context_json(log, SESSION))["messages"]
    assert [(each["role"], [block["type"] for block in each["content"]]) for each in sent[1:]] == [
        ("assistant", ["text", "tool_use", "tool_use"]),
        ("user", ["tool_result", "tool_result", "text", "text"]),
    ]
    assert sent[0] == {"role": "user", "content": "read both"}
    plain = plain_context((tmp_path / "s.jsonl").read_bytes())
    assert json.loads(plain.replace(b"hurry", rb"hurry\n"))["messages"] == sent


def test_a_prompt_that_comes_with_the_next_import_is_not_lost(log: MemoryLog, tmp_path: Path) -> None:
    hook = {"type": "hook_additional_context", "content": ["mind the gap"]}
    lines = (*BEFORE, attached("h", "w", hook), said("w", "b", "third"), answer("c", "h", "m3", "done"))
    bring(log, tmp_path / "s.jsonl", *lines[:5])
    (imported,) = bring(log, tmp_path / "s.jsonl", *lines)
    assert (imported.rewritten, imported.diverged) == (0, False)
    alone = MemoryLog()
    bring(alone, tmp_path / "s.jsonl", *lines)
    assert context_json(log, SESSION) == context_json(alone, SESSION)
    assert {part.id for part in build_context(log, SESSION).parts} == set("abchuvw")


def test_a_record_that_lost_the_name_of_its_parent_goes_on_from_the_one_before(
    log: MemoryLog, tmp_path: Path
) -> None:
    nameless = json.loads(said("v", None, "second"))
    del nameless["parentUuid"]
    bring(log, tmp_path / "s.jsonl", *BEFORE[:2], json.dumps(nameless).encode())
    assert [part.id for part in build_context(log, SESSION).parts] == ["u", "a", "v"]


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
