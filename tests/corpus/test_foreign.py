"""Converted sessions of Codex and opencode: contexts and links are those of the raw files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eventstore.memory import MemoryLog
from projections.audit.calls import session_calls
from projections.audit.session import audit
from projections.context.build import build_context
from projections.context.cursor import resolve_cursor
from projections.context.parts import view_of_part
from projections.usage import answers
from tests.support.events import events
from tests.support.foreign import ENCRYPTED, Foreign, append_codex, append_opencode

Json = dict[str, Any]
CODEX = "codex/rollout-019d7d08-parent.jsonl"
CODEX_PLAIN = "codex/rollout-019d86e6-0.120.jsonl"
OPENCODE = "opencode/k1-first-300-messages.json"


def texts(log: MemoryLog, session: str, leaf: str | None = None) -> list[str]:
    """Return the text of each message of a context, "" for calls alone."""
    return [view_of_part(part).text for part in build_context(log, session, leaf=leaf).parts]


@pytest.fixture
def codex(corpus: Path) -> tuple[MemoryLog, Foreign, list[Json]]:
    log = MemoryLog()
    path = corpus / CODEX
    found = append_codex(log, path)
    return log, found, [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture
def opencode(corpus: Path) -> tuple[MemoryLog, Foreign, list[Json]]:
    log = MemoryLog()
    found = append_opencode(log, corpus / OPENCODE)
    return log, found, json.loads((corpus / OPENCODE).read_bytes())["messages"]


def parent_of(log: MemoryLog, session: str, event: str) -> str:
    (parent,) = (each.parent for each in events(log, session) if each.id == event)
    assert parent is not None
    return parent


def item_texts(items: list[Json]) -> list[str]:
    return ["\n".join(each["text"] for each in item["content"]) for item in items]


def test_a_rollout_shows_every_text_and_result_before_its_compaction(
    codex: tuple[MemoryLog, Foreign, list[Json]],
) -> None:
    log, found, records = codex
    at = next(line for line, each in enumerate(records, 1) if each["type"] == "compacted")
    before = [each["payload"] for each in records[:at] if each["type"] == "response_item"]
    said = item_texts([each for each in before if each["type"] == "message"])
    results = [each["output"] for each in before if each["type"].endswith("_output")]
    shown = texts(log, found.session, parent_of(log, found.session, f"line-{at}"))
    assert sorted(filter(None, shown)) == sorted((*said, *results))


def test_a_rollout_shows_its_replacement_history_after_its_compaction(
    codex: tuple[MemoryLog, Foreign, list[Json]],
) -> None:
    log, found, records = codex
    at = next(line for line, each in enumerate(records, 1) if each["type"] == "compacted")
    history = records[at - 1]["payload"]["replacement_history"]
    shown = texts(log, found.session, f"line-{at}/{len(history)}")
    assert shown == [ENCRYPTED, *item_texts(history)]
    (compaction,) = audit(log, found.session).compactions
    assert compaction.messages.uncovered == 0
    assert compaction.metrics.size.after < compaction.metrics.size.before


@pytest.mark.parametrize("name", [CODEX, CODEX_PLAIN])
def test_the_calls_of_a_rollout_add_up_to_its_total(corpus: Path, name: str) -> None:
    log, path = MemoryLog(), corpus / name
    found = append_codex(log, path)
    payloads = [json.loads(line)["payload"] for line in path.read_bytes().splitlines()]
    totals = [each["info"] for each in payloads if each.get("type") == "token_count" and each["info"]]
    with log.snapshot() as snapshot:
        calls = session_calls(answers(snapshot, resolve_cursor(snapshot, found.session)))
    total = totals[-1]["total_token_usage"]
    assert sum(call.usage.output for call in calls) == total["output_tokens"]
    assert sum(call.usage.prompt for call in calls) == total["input_tokens"]


def test_an_export_shows_its_messages_before_and_its_tail_after_the_compaction(
    opencode: tuple[MemoryLog, Foreign, list[Json]],
) -> None:
    log, found, messages = opencode
    ids = [each["info"]["id"] for each in messages]
    (at,) = (place for place, each in enumerate(messages) if each["info"].get("summary") is True)
    tail = ids.index(messages[at - 1]["parts"][0]["tail_start_id"])

    def raw(first: int, last: int) -> list[str]:
        lines = []
        for each in messages[first:last]:
            lines += [part["id"] for part in each["parts"] if part["type"] == "tool"]
            lines.append(each["info"]["id"])
        return sorted(lines)

    before = build_context(log, found.session, leaf=parent_of(log, found.session, ids[at]))
    assert sorted(part.id for part in before.parts) == raw(0, at - 1)
    after = build_context(log, found.session, leaf=ids[at])
    (summary,) = (part["text"] for part in messages[at]["parts"] if part["type"] == "text")
    assert [part.id for part in after.parts][:1] == [ids[at]]
    assert view_of_part(after.parts[0]).text == summary
    assert sorted(part.id for part in after.parts[1:]) == raw(tail, at - 1)
    now = build_context(log, found.session)
    assert sorted(part.id for part in now.parts[1:]) == sorted(raw(tail, at - 1) + raw(at + 1, len(ids)))


def test_every_message_part_call_and_line_leads_to_an_event(
    codex: tuple[MemoryLog, Foreign, list[Json]], opencode: tuple[MemoryLog, Foreign, list[Json]]
) -> None:
    log, found, messages = opencode
    wanted = {each["info"]["id"] for each in messages}
    wanted |= {part["id"] for each in messages for part in each["parts"]}
    assert wanted <= set(found.points)
    rollout_log, rollout, records = codex
    silent = {"reasoning", "web_search_call"}
    for line, each in enumerate(records, 1):
        if each["type"] == "response_item" and each["payload"]["type"] not in silent:
            assert rollout.points[f"line-{line}"]
            assert each["payload"].get("call_id", f"line-{line}") in rollout.points
    for where, session in ((log, found), (rollout_log, rollout)):
        with where.snapshot() as snapshot:
            known = {event for ids in session.points.values() for event in ids}
            assert all(snapshot.locate(session.session, event) for event in known)
