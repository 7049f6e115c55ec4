"""OpenAI's APIs take whatever is rendered: made-up conversations and real sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from eventstore.files.importing import import_sessions
from eventstore.harnesses.codex import CodexFormat
from eventstore.memory import MemoryLog
from projections.context.build import build_context
from projections.requests.openai import render_responses
from tests.support.contexts import context_of
from tests.support.events import NOW, events
from tests.support.native import native_events
from tests.support.oracles import check_bodies
from tests.support.wild_talk import any_talk, good_talk


@given(said=any_talk)
def test_both_take_whatever_was_said(said: Any) -> None:
    check_bodies(context_of(*said))


@given(said=good_talk())
def test_a_good_conversation_needs_no_repair(said: Any) -> None:
    made = {repair.rule for repair in render_responses(context_of(*said)).repairs}
    assert made <= {"unsigned-thinking"}


@given(appended=native_events())
def test_both_take_sessions_with_rewrites(appended: Any) -> None:
    log = MemoryLog(clock=lambda: NOW)
    log.append("s", appended)
    for event in events(log, "s"):
        check_bodies(build_context(log, "s", as_of=event.seq))


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["claude-code", "codex", "opencode", "pi"])
def test_both_take_every_real_context(folder: str, corpus: Path) -> None:
    log = MemoryLog(clock=lambda: NOW)
    for path in sorted([*(corpus / folder).rglob("*.jsonl"), *(corpus / folder).rglob("*.json")]):
        for each in import_sessions(log, path):
            entries = [event.id for event in events(log, each.id) if event.is_entry]
            for leaf in {*entries[::100], *entries[-1:]}:
                check_bodies(build_context(log, each.id, leaf=leaf))


@pytest.mark.slow
def test_items_of_codex_go_back_unchanged(corpus: Path) -> None:
    log = MemoryLog(clock=lambda: NOW)
    for path in sorted((corpus / "codex").glob("*.jsonl")):
        for each in import_sessions(log, path):
            context = build_context(log, each.id)
            sent = json.loads(render_responses(context).body)["input"]
            items = [json.loads(CodexFormat().response_item(part.raw)) for part in context.parts]
            assert sent == items[: len(sent)]
            assert {item["type"] for item in items[len(sent) :]} <= {"reasoning"}
