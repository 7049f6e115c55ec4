"""The demo session: it has something of everything, it is sound, and it is the same every time."""

from __future__ import annotations

import base64
import itertools
import json
from collections import Counter
from importlib.resources import files
from typing import Any

import pytest

from cli.demo.player import POLICY, SESSION, play
from eventstore.event import Event
from eventstore.files.exporting import export_session
from eventstore.frame import decode
from eventstore.harnesses import node_of
from eventstore.log import EventLog
from eventstore.memory import MemoryLog
from eventstore.verify import verify
from eventstore.views import Message
from projections.audit.checks import check_session
from projections.audit.session import Audit, audit
from projections.context.build import build_context, context_json, harness_json
from projections.context.parts import Context, Fate
from projections.descriptions import title
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
        view for event in events(log) if event.role == role and (view := node_of(event).message) is not None
    ]


def bodies(log: EventLog, kind: str) -> list[dict[str, Any]]:
    return [json.loads(event.body) for event in events(log) if event.kind == kind]


def said(context: Context) -> str:
    return b"\n".join(part.raw for part in context.parts).decode()


@pytest.mark.slow
def test_it_plays_into_every_kind_of_log_and_names_its_session(log: EventLog) -> None:
    assert play(log) == SESSION
    assert verify(log).findings == []


@pytest.mark.slow
def test_two_plays_have_equal_digests(played: EventLog, log: EventLog) -> None:
    play(log)
    with played.snapshot() as first, log.snapshot() as second:
        assert first.head(SESSION).digest == second.head(SESSION).digest


def test_a_log_gets_it_in_one_append() -> None:
    ticks = itertools.count()
    log = MemoryLog(clock=lambda: next(ticks))
    play(log)
    assert len({event.recorded for event in events(log)}) == 1


def test_the_recording_holds_nothing_that_refold_makes() -> None:
    recording = files("cli.demo").joinpath("session.jsonl").read_bytes()
    types = {json.loads(line)["type"] for line in recording.splitlines()}
    assert types >= {"message", "maintain", "compact", "move"}
    assert types.isdisjoint({"compaction", "branch_summary", "rewrite", "leaf_moved", "decision"})


def test_it_has_about_170_events(played: EventLog) -> None:
    assert 160 <= len(events(played)) <= 185


def test_it_has_every_kind_that_a_session_can_have_on_its_paths_and_what_its_harness_decided(
    played: EventLog,
) -> None:
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
        "decision",
        "note",
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
        messages = [view for event in path(played, leaf) if (view := node_of(event).message) is not None]
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
        assert harness_json(context) == context_json(played, SESSION, leaf=leaf)


def test_the_rewrite_clears_results_of_turns_that_are_over(played: EventLog) -> None:
    rewrite = next(event for event in events(played) if event.kind == "rewrite")
    context = build_context(played, SESSION, leaf=rewrite.id)
    rewritten = [part for part in context.parts if part.fate is Fate.REWRITTEN]
    assert len(rewritten) >= 4
    assert all(b"[Old tool result content cleared]" in part.raw for part in rewritten)
    assert json.loads(rewrite.body)["tokensSaved"] > 10_000


def test_the_first_two_compactions_make_the_context_much_smaller(audited: Audit) -> None:
    for compaction in audited.compactions[:2]:
        assert compaction.before.recomputed > 15_000
        assert compaction.after.recomputed < compaction.before.recomputed / 10


def test_each_compaction_claims_what_the_log_says(audited: Audit) -> None:
    for compaction in audited.compactions:
        assert compaction.before.claimed == compaction.before.recomputed
        assert compaction.after.claimed == compaction.after.recomputed


def test_every_summary_was_written_by_the_demos_policy_without_a_model(played: EventLog) -> None:
    records = bodies(played, "compaction")
    assert [record["reason"] for record in records] == ["threshold", "threshold", "manual"]
    assert {record["policy"] for record in records} == {POLICY.name}
    requests = [
        each
        for record in (*records, *bodies(played, "branch_summary"))
        for each in record["request"]["requests"]
    ]
    assert {each["summarizer"] for each in requests} == {"extractive"}


def test_what_its_harness_did_by_itself_it_had_decided(played: EventLog) -> None:
    decisions = bodies(played, "decision")
    triggered = [each for each in decisions if each["outcome"] == "triggered"]
    assert len(triggered) == 2
    for decision in triggered:
        assert decision["numbers"]["tokens"] > decision["numbers"]["threshold"]
    assert {each["outcome"] for each in decisions} == {"triggered", "skipped"}


def test_what_the_provider_counted_is_near_what_the_log_holds(audited: Audit) -> None:
    for compaction in audited.compactions[:2]:
        before, after = compaction.before, compaction.after
        assert before.measured is not None
        assert after.measured is not None
        assert POLICY.trigger.tokens < before.measured < 60_000
        assert before.recomputed < before.measured < before.recomputed * 1.3 + 10_000
        assert after.measured < before.measured / 2


def counted(estimate: int) -> int:
    """Convert an estimate of characters / 4 to the token count of the recording's provider."""
    return estimate * 6 // 5


def test_usage_adds_up_and_counts_what_is_sent(played: EventLog) -> None:
    for event in events(played):
        if event.role == "assistant":
            usage = json.loads(event.message)["usage"]
            parts = [usage[name] for name in ("input", "output", "cacheRead", "cacheWrite")]
            assert usage["totalTokens"] == sum(parts)
            assert min(parts) >= 0
            sent = build_context(played, SESSION, leaf=event.parent).parts
            assert sum(parts) - usage["output"] == sum(counted(part.utf16) for part in sent) + 9_000


def test_the_audit_shows_three_compactions_a_branch_summary_and_a_rewrite(audited: Audit) -> None:
    assert len(audited.compactions) == 3
    assert len(audited.branch_summaries) == 1
    assert len(audited.rewrites) == 1
    assert audited.branch_summaries[0].entries >= 15
    assert all(not compaction.files.missing for compaction in audited.compactions)


RULES = (
    "Never touch anything in migrations/",
    "/healthz and /readyz must never be limited",
    "No new runtime dependency",
    "application/problem+json",
)


def test_the_first_summary_quotes_the_rules(played: EventLog, audited: Audit) -> None:
    first = said(build_context(played, SESSION, leaf=audited.compactions[0].id))
    assert [rule for rule in RULES if rule not in first] == []


def test_the_second_summary_has_no_room_for_them(played: EventLog, audited: Audit) -> None:
    second = said(build_context(played, SESSION, leaf=audited.compactions[1].id))
    assert [rule for rule in (*RULES, "/healthz") if rule in second] == []


def test_two_of_them_are_needed_later(played: EventLog, audited: Audit) -> None:
    later = [event for event in events(played) if event.seq > audited.compactions[1].seq]
    wrote = [
        call.argument("path")
        for event in later
        if (view := node_of(event).message)
        for call in view.tool_calls
    ]
    assert "migrations/0008_api_keys.sql" in wrote
    assert any(
        event.role == "user" and b"/healthz and /readyz are never limited" in event.body for event in later
    )


def test_what_the_second_compaction_lost_is_read_again(audited: Audit) -> None:
    fetched = audited.compactions[1].metrics.rework.fetched
    assert [(each.file, each.again.seq) for each in fetched] == [("src/ferry/limits.py", 144)]


def test_the_person_says_three_things_behind_it(audited: Audit) -> None:
    assert [each.seq for each in audited.compactions[1].metrics.next.messages] == [132, 135, 155]


def test_only_edits_of_a_file_that_is_no_longer_shown_miss(played: EventLog) -> None:
    edits = [view for view in views(played, "toolResult") if view.tool_name == "edit"]
    missed = [edit.text for edit in edits if edit.is_error]
    assert len(edits) >= 10
    assert missed == ["src/ferry/app.py holds the old text 0 times, not once; nothing was changed."] * 2


def test_times_go_forward(played: EventLog) -> None:
    times = [event.time for event in events(played)]
    assert None not in times
    assert times == sorted(times, key=lambda time: time or 0)


def test_every_line_of_its_export_is_an_entry_of_pi(played: EventLog) -> None:
    lines = [json.loads(line) for line in export_session(played, SESSION, "pi")]
    assert lines[0] | {"version": 3, "id": SESSION, "cwd": "/src/ferry"} == lines[0]
    assert (
        len(lines) == len([event for event in events(played) if event.kind not in ("decision", "note")]) + 1
    )
    assert all({"type", "id", "parentId", "timestamp"} <= set(line) for line in lines[1:])


def test_every_check_of_the_session_passes(played: EventLog) -> None:
    found = {each.name: (each.passed, each.checked) for each in check_session(played, SESSION).results}
    assert found == {
        "cached prefixes": (0, 0),
        "compacted contexts": (3, 3),
        "claimed sizes": (3, 3),
        "size jumps": (50, 50),
    }


def test_its_reading_passes_every_check(played: EventLog) -> None:
    (read,) = audit(played, SESSION).readings
    assert [(each.weight, each.verdict) for each in read.losses] == [("serious", "lost")] * 2
    assert [each.said[0].seq for each in read.rules] == [*[18] * 7, 72]
    assert (len(read.facts), read.refused) == (3, [])
    assert "note" not in {event.kind for event in events(played) if event.is_entry}
