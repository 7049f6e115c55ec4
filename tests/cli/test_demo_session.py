"""The demo session: it has something of everything, it is sound, and it is the same every time."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from importlib.resources import files

import pytest

from cli.demo.player import SESSION, play
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


def test_each_compaction_claims_what_the_log_says(audited: Audit) -> None:
    for compaction in audited.compactions:
        assert compaction.before.claimed == compaction.before.recomputed
        assert compaction.after.claimed == compaction.after.recomputed


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
