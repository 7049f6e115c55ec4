"""The demo session: it has something of everything, it is sound, and it is the same every time."""

from __future__ import annotations

import base64
import json
from collections import Counter
from typing import Any

import pytest

from cli.demo.script import SESSION, play
from eventstore.event import Event
from eventstore.exporting import export_pi
from eventstore.formats import view_of_event
from eventstore.frame import decode
from eventstore.log import EventLog
from eventstore.memory_log import MemoryLog
from eventstore.verify import verify
from eventstore.views import Message
from projections.audit import Audit, audit
from projections.context import Context, Fate, build_context, context_json
from projections.title import title
from projections.tree import tree


@pytest.fixture(scope="module")
def played() -> EventLog:
    log = MemoryLog(clock=lambda: 0)
    play(log)
    return log


@pytest.fixture(scope="module")
def audited(played: EventLog) -> Audit:
    return audit(played, SESSION)


def events(log: EventLog) -> list[Event]:
    with log.snapshot() as snapshot:
        return [decode(frame, SESSION) for frame in snapshot.frames(SESSION)]


def path(log: EventLog, leaf: str) -> list[Event]:
    with log.snapshot() as snapshot:
        return [decode(frame, SESSION) for frame in snapshot.path(SESSION, snapshot.locate(SESSION, leaf))]


def leaves(log: EventLog) -> list[str]:
    return [node.id for node in tree(log, SESSION).nodes if not node.children]


def views(log: EventLog, role: str) -> list[Message]:
    return [
        view for event in events(log) if event.role == role and (view := view_of_event(event)) is not None
    ]


def bodies(log: EventLog, kind: str) -> list[dict[str, Any]]:
    return [json.loads(event.body) for event in events(log) if event.kind == kind]


def said(context: Context) -> str:
    return b"\n".join(part.raw for part in context.parts).decode()


def test_it_plays_into_every_kind_of_log_and_names_its_session(log: EventLog) -> None:
    assert play(log) == SESSION
    assert verify(log).findings == []


def test_two_plays_have_equal_digests(played: EventLog, log: EventLog) -> None:
    play(log)
    with played.snapshot() as first, log.snapshot() as second:
        assert first.head(SESSION).digest == second.head(SESSION).digest


def test_it_has_about_150_events(played: EventLog) -> None:
    assert 140 <= len(events(played)) <= 165


def test_it_has_every_kind_that_a_session_can_have_on_its_paths(played: EventLog) -> None:
    kinds = Counter(event.kind for event in events(played))
    assert set(kinds) == {
        "message",
        "session_info",
        "model_change",
        "thinking_level_change",
        "label",
        "custom_message",
        "rewrite",
        "compaction",
        "branch_summary",
        "leaf_moved",
    }
    assert (kinds["compaction"], kinds["branch_summary"], kinds["rewrite"]) == (3, 1, 1)


def test_it_has_a_title_and_a_folder(played: EventLog) -> None:
    assert title(played, SESSION) == "Rate limiter for the ferry API"
    assert bodies(played, "session_info")[0]["cwd"] == "/src/ferry"


def test_the_model_changes_half_way(played: EventLog) -> None:
    models = [view.model for view in views(played, "assistant")]
    half = len(models) // 2
    assert len(set(models)) == 2
    assert abs(models.index("claude-opus-4-5") - half) <= half // 3


def test_tools_are_called_in_parallel_and_some_fail(played: EventLog) -> None:
    calls = [len(view.tool_calls) for view in views(played, "assistant")]
    assert sum(count > 1 for count in calls) >= 10
    assert sum(view.is_error for view in views(played, "toolResult")) >= 5
    assert {call.name for view in views(played, "assistant") for call in view.tool_calls} == {
        "read",
        "write",
        "edit",
        "bash",
    }


def test_the_person_shows_an_image_that_is_a_png(played: EventLog) -> None:
    images = [
        block
        for event in events(played)
        if event.role == "user"
        for block in json.loads(event.message)["content"]
        if block["type"] == "image"
    ]
    assert [image["mimeType"] for image in images] == ["image/png"]
    assert base64.b64decode(images[0]["data"], validate=True).startswith(b"\x89PNG\r\n\x1a\n")


def test_the_person_runs_commands_and_an_extension_speaks(played: EventLog) -> None:
    roles = Counter(event.role for event in events(played))
    assert roles["bashExecution"] == 2
    assert roles["custom"] == 1


def test_an_entry_has_a_label(played: EventLog) -> None:
    labels = [node.label for node in tree(played, SESSION).nodes if node.label]
    assert labels == ["works in one process"]


def test_every_call_has_its_result_right_behind_it_on_every_path(played: EventLog) -> None:
    for leaf in leaves(played):
        messages = [view for event in path(played, leaf) if (view := view_of_event(event)) is not None]
        for index, message in enumerate(messages):
            asked = [(call.id, call.name) for call in message.tool_calls]
            answered = messages[index + 1 : index + 1 + len(asked)]
            assert [(result.tool_call_id, result.tool_name) for result in answered] == asked


def test_no_result_is_without_a_call_in_any_context(played: EventLog) -> None:
    for node in tree(played, SESSION).nodes:
        called: set[str] = set()
        for message in json.loads(context_json(played, SESSION, leaf=node.id))["messages"]:
            if message["role"] == "assistant":
                called |= {block["id"] for block in message["content"] if block["type"] == "toolCall"}
            elif message["role"] == "toolResult":
                assert message["toolCallId"] in called


def test_the_context_at_every_leaf_builds(played: EventLog) -> None:
    assert len(leaves(played)) == 3
    for leaf in leaves(played):
        context = build_context(played, SESSION, leaf=leaf)
        assert context.parts
        assert context.pi_json() == context_json(played, SESSION, leaf=leaf)


def test_the_rewrite_shows_old_results_as_their_sizes(played: EventLog) -> None:
    rewrite = next(event for event in events(played) if event.kind == "rewrite")
    context = build_context(played, SESSION, leaf=rewrite.id)
    rewritten = [part for part in context.parts if part.fate is Fate.REWRITTEN]
    assert len(rewritten) >= 4
    assert all(b"[Output truncated - " in part.raw for part in rewritten)
    assert json.loads(rewrite.body)["tokensSaved"] > 10_000


def test_the_first_two_compactions_make_the_context_much_smaller(audited: Audit) -> None:
    for compaction in audited.compactions[:2]:
        assert compaction.before.recomputed > 20_000
        assert compaction.after.recomputed < compaction.before.recomputed / 10


def test_each_compaction_claims_what_the_log_says(audited: Audit) -> None:
    for compaction in audited.compactions:
        assert compaction.before.claimed == compaction.before.recomputed
        assert compaction.after.claimed == compaction.after.recomputed


def test_the_last_compaction_is_a_policys_and_was_made_without_a_model(played: EventLog) -> None:
    record = bodies(played, "compaction")[-1]
    assert (record["policy"], record["reason"], record["template"]) == ("pi", "manual", "compaction-update@1")
    assert {each["summarizer"] for each in record["request"]["requests"]} == {"extractive"}


def test_its_summary_keeps_the_rule_that_the_one_before_had_lost(played: EventLog, audited: Audit) -> None:
    last = build_context(played, SESSION, leaf=audited.compactions[-1].id)
    assert "never touch anything in migrations/" in said(last).lower()


def test_what_the_provider_counted_is_near_what_the_log_holds(audited: Audit) -> None:
    for compaction in audited.compactions[:2]:
        before, after = compaction.before, compaction.after
        assert before.measured is not None
        assert after.measured is not None
        assert 30_000 < before.measured < 60_000
        assert before.recomputed < before.measured < before.recomputed * 1.3 + 10_000
        assert after.measured < before.measured / 3


def test_usage_adds_up_and_counts_what_is_sent(played: EventLog) -> None:
    for event in events(played):
        if event.role == "assistant":
            usage = json.loads(event.message)["usage"]
            parts = [usage[name] for name in ("input", "output", "cacheRead", "cacheWrite")]
            assert usage["totalTokens"] == sum(parts)
            assert min(parts) >= 0
            sent = build_context(played, SESSION, leaf=event.parent).parts
            assert sum(parts) - usage["output"] >= sum(part.utf16 for part in sent) + 9_000


def test_the_audit_shows_three_compactions_a_branch_summary_and_a_rewrite(audited: Audit) -> None:
    assert len(audited.compactions) == 3
    assert len(audited.branch_summaries) == 1
    assert len(audited.rewrites) == 1
    assert audited.branch_summaries[0].attached_to == audited.compactions[0].id
    assert audited.branch_summaries[0].entries >= 15
    assert all(not compaction.files.missing for compaction in audited.compactions)


def test_the_second_summary_loses_a_rule_and_a_decision_of_the_first(
    played: EventLog, audited: Audit
) -> None:
    first, second = (build_context(played, SESSION, leaf=each.id) for each in audited.compactions[:2])
    for lost in ("never touch anything in migrations/", "/healthz and /readyz are never limited"):
        assert lost in said(first).lower()
        assert lost not in said(second).lower()
    for kept in ("`pytest -q`", "No new runtime dependency", "application/problem+json"):
        assert kept in said(first)
        assert kept in said(second)


def test_what_was_lost_is_needed_later(played: EventLog, audited: Audit) -> None:
    second = audited.compactions[1]
    later = [event for event in events(played) if event.seq > second.seq]
    wrote = [call for event in later if (view := view_of_event(event)) for call in view.tool_calls]
    assert any(call.argument("path") == "migrations/0008_api_keys.sql" for call in wrote)
    assert any(
        event.role == "user" and b"never touch anything in migrations/" in event.body for event in later
    )


def test_only_the_edit_from_memory_misses(played: EventLog) -> None:
    edits = [view for view in views(played, "toolResult") if view.tool_name == "edit"]
    missed = [edit.text for edit in edits if edit.is_error]
    assert len(edits) >= 10
    assert missed == ["src/ferry/app.py holds the old text 0 times, not once; nothing was changed."]


def test_times_go_forward(played: EventLog) -> None:
    times = [event.time for event in events(played)]
    assert None not in times
    assert times == sorted(times, key=lambda time: time or 0)


def test_every_line_of_its_export_is_an_entry_of_pi(played: EventLog) -> None:
    lines = [json.loads(line) for line in export_pi(played, SESSION)]
    assert lines[0] | {"version": 3, "id": SESSION, "cwd": "/src/ferry"} == lines[0]
    assert len(lines) == len(events(played)) + 1
    assert all({"type", "id", "parentId", "timestamp"} <= set(line) for line in lines[1:])
