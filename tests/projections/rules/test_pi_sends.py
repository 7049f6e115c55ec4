"""Contexts of pi's sessions are what pi sends: without failed answers and edited ones, and with its system prompt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from eventstore.files.exporting import export_session
from eventstore.frame import Buffer
from eventstore.log import Snapshot, SnapshotWrapper
from eventstore.memory import MemoryLog
from eventstore.records import ModelChange
from eventstore.verify import verify
from eventstore.writing import SessionWriter
from projections.context.build import build_context, context_at, context_json, harness_json
from projections.context.cursor import path, resolve_cursor
from projections.context.incremental import IncrementalContexts
from projections.settings import harness_prompt
from tests.support.events import events
from tests.support.pi_files import bring, header, line
from tests.support.talk import assistant, result, text, user

Json = dict[str, Any]
TIME = "2026-03-01T12:00:00.000Z"


def file_of(*entries: Json) -> bytes:
    chained = (
        {
            "type": "message",
            "id": f"e{number}",
            "parentId": f"e{number - 1}" if number else None,
            "timestamp": TIME,
            **entry,
        }
        for number, entry in enumerate(entries)
    )
    return header() + b"".join(map(line, chained))


def said(message: Json) -> Json:
    return {"message": message}


def edit(target: str, replacement: Json | None) -> Json:
    return {"type": "context_edit", "targetId": target, "replacement": replacement}


def contents(folder: Path, *entries: Json) -> list[Any]:
    log = MemoryLog()
    session = bring(log, folder, file_of(*entries)).id
    built = build_context(log, session)
    assert harness_json(built) == context_json(log, session)
    return [message["content"] for message in json.loads(harness_json(built))["messages"]]


@pytest.mark.parametrize("stop", ["aborted", "error"])
def test_an_answer_that_failed_is_not_sent(tmp_path: Path, stop: str) -> None:
    half = assistant("half", stopReason=stop)
    assert contents(tmp_path, said(user("a")), said(half), said(user("b"))) == ["a", "b"]
    assert contents(tmp_path, said(user("a")), said({**user("b"), "stopReason": stop})) == ["a", "b"]


def test_an_edit_replaces_the_content_of_its_target(tmp_path: Path) -> None:
    edits = [edit("e1", {"content": [text("short")]}), edit("e2", {"content": "nothing"})]
    found = contents(tmp_path, said(user("a")), said(assistant("long")), said(result("much")), *edits)
    assert found == ["a", [text("short")], "nothing"]


def test_the_newest_edit_counts(tmp_path: Path) -> None:
    entries = [said(user("a")), said(assistant("cut off", stopReason="length")), edit("e1", None)]
    assert contents(tmp_path, *entries) == ["a"]
    assert contents(tmp_path, *entries, edit("e1", {"content": [text("b")]})) == ["a", [text("b")]]
    assert contents(tmp_path, *entries[:1], edit("e0", {"content": "b"}), edit("e0", None)) == []


@pytest.mark.parametrize(
    "damaged",
    [
        {"targetId": 5, "replacement": None},
        {"targetId": "e0"},
        {"targetId": "e0", "replacement": 5},
        {"targetId": "e0", "replacement": {}},
        {"targetId": "e9", "replacement": None},
    ],
)
def test_a_damaged_edit_changes_nothing(tmp_path: Path, damaged: Json) -> None:
    assert contents(tmp_path, said(user("a")), {"type": "context_edit", **damaged}) == ["a"]


def test_edits_are_exported_as_they_came(tmp_path: Path) -> None:
    log = MemoryLog()
    content = file_of(said(user("a")), edit("e0", {"content": "b"}))
    session = bring(log, tmp_path, content).id
    assert b"".join(export_session(log, session, "pi")).splitlines()[1:] == content.splitlines()[1:]
    assert [event.kind for event in events(log, session) if event.is_entry] == ["message", "rewrite"]
    assert verify(log).findings == []


def system(**fields: Any) -> Json:
    return {"message": {"role": "system", "content": "", "timestamp": 1, **fields}}


READ = {"name": "read", "description": "Read.", "parameters": {"type": "object"}}
BASH = {"name": "bash", "description": "Run.", "parameters": {"type": "object"}}


def as_sent(tool: Json) -> Json:
    return {"name": tool["name"], "description": tool["description"], "input_schema": tool["parameters"]}


def prompt(folder: Path, *entries: Json) -> tuple[str, list[Json]]:
    log = MemoryLog()
    session = bring(log, folder, file_of(*entries)).id
    with log.snapshot() as snapshot:
        found = harness_prompt(snapshot, resolve_cursor(snapshot, session))
    return found.system, json.loads(found.tools or b"[]")


def test_system_messages_are_the_prompt_and_no_messages(tmp_path: Path) -> None:
    first = system(content="Be good.", sections={"rules": "Ask.", "cwd": "/mnt"}, toolsAdded=[READ])
    later = system(
        sections={"rules": "Act.", "cwd": None}, toolsAdded=[BASH], toolsRemoved=[{"name": "read"}]
    )
    entries = [first, said(user("a")), said(assistant("b"))]
    assert prompt(tmp_path, *entries) == ("Be good.\n\nAsk.\n\n/mnt", [as_sent(READ)])
    assert prompt(tmp_path, *entries, later) == ("Be good.\n\nAct.", [as_sent(BASH)])
    assert contents(tmp_path, *entries, later) == ["a", [text("b")]]


def test_a_compaction_repeats_the_prompt(tmp_path: Path) -> None:
    told = {"role": "system", "content": "", "sections": {"rules": "Act."}, "toolsAdded": [BASH]}
    compaction = {"type": "compaction", "summary": "s", "firstKeptEntryId": "e0", "tokensBefore": 1}
    entries = [system(content="Be good."), said(user("a"))]
    assert prompt(tmp_path, *entries, compaction) == ("Be good.", [])
    assert prompt(tmp_path, *entries, {**compaction, "systemMessage": told}) == ("Act.", [as_sent(BASH)])


@pytest.mark.parametrize("damage", [{"content": 5, "sections": []}, {"toolsAdded": 5}, {"toolsAdded": [5]}])
def test_a_damaged_system_message_says_nothing(tmp_path: Path, damage: Json) -> None:
    assert prompt(tmp_path, system(**damage), said(user("a"))) == ("", [])


def change(model: str) -> Json:
    return {"type": "model_change", "provider": "anthropic", "modelId": model}


def thought(model: str, *blocks: Json, **fields: Any) -> Json:
    return said(assistant(*blocks, provider="anthropic", model=model, **fields))


THINKING = {"type": "thinking", "thinking": "Hm.", "thinkingSignature": "s"}
SWITCHED = [change("a"), said(user("1")), thought("a", THINKING, text("x")), change("b"), said(user("2"))]


def test_thinking_of_another_model_is_a_text(tmp_path: Path) -> None:
    assert contents(tmp_path, *SWITCHED[:3]) == ["1", [THINKING, text("x")]]
    assert contents(tmp_path, *SWITCHED) == ["1", [text("Hm."), text("x")], "2"]
    back = [*SWITCHED, thought("b", text("y")), change("a"), said(user("3"))]
    assert contents(tmp_path, *back) == ["1", [THINKING, text("x")], "2", [text("y")], "3"]


def test_sealed_and_empty_thinking_is_left_out(tmp_path: Path) -> None:
    unread = [{**THINKING, "redacted": True}, {**THINKING, "thinking": " "}]
    entries = [
        SWITCHED[0],
        SWITCHED[1],
        thought("a", *unread),
        thought("a", *unread, text("x")),
        *SWITCHED[3:],
    ]
    assert contents(tmp_path, *entries) == ["1", [text("x")], "2"]


def test_pi_1_3_drops_thinking_of_another_model(tmp_path: Path) -> None:
    answer = thought("a", THINKING, text("x"), durationMs=5)
    assert contents(tmp_path, *SWITCHED[:2], answer, *SWITCHED[3:]) == ["1", [text("x")], "2"]
    newer = [*SWITCHED, thought("b", text("y"), durationMs=5), said(user("3"))]
    assert contents(tmp_path, *newer) == ["1", [text("x")], "2", [text("y")], "3"]


@pytest.mark.parametrize("behind", [[], [change("c"), change("b")]])
def test_contexts_of_each_model_along_a_path(tmp_path: Path, behind: list[Json]) -> None:
    compaction = {"type": "compaction", "summary": "s", "firstKeptEntryId": "e4", "tokensBefore": 1}
    entries = [
        *SWITCHED,
        thought("b", THINKING, text("y")),
        *behind,
        change("a"),
        said(user("3")),
        thought("a", THINKING, text("z"), durationMs=5),
        compaction,
        change("b"),
        said(user("4")),
        thought("c", THINKING, text("v")),
        said(user("5")),
    ]
    log = MemoryLog()
    session = bring(log, tmp_path, file_of(*entries)).id
    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, session)
        found = path(snapshot, cursor)
        along = IncrementalContexts(snapshot, cursor, found)
        for entry in found:
            assert along.context_at(entry.seq) == context_at(snapshot, cursor.at_leaf(entry.seq)), entry.id


def test_refolds_answers_tell_no_release(tmp_path: Path) -> None:
    log = MemoryLog()
    answer = thought("a", THINKING, text("x"), durationMs=5)
    session = bring(log, tmp_path, file_of(*SWITCHED[:2], answer, *SWITCHED[3:])).id
    SessionWriter(log, session).message(assistant("y", provider="anthropic", model="b"))
    messages = json.loads(context_json(log, session))["messages"]
    assert messages[1]["content"] == [text("x")]


def test_an_answer_that_is_one_text_stays(tmp_path: Path) -> None:
    answer = said({**thought("a")["message"], "content": "x", "kind": "thinking"})
    assert contents(tmp_path, *SWITCHED[:2], answer, *SWITCHED[3:]) == ["1", "x", "2"]


def test_models_of_own_sessions_are_read_once() -> None:
    log = MemoryLog()
    writer = SessionWriter(log, "s")
    for model, answers in (("a", 1), ("b", 100)):
        writer.append(ModelChange(provider="p", model_id=model))
        for _ in range(answers):
            writer.message(assistant("x", provider="p", model=model))
    reads = 0

    class Counting(SnapshotWrapper):
        def __getattr__(self, name: str) -> Any:
            return getattr(self._snapshot, name)

        def frame(self, session: str, seq: int) -> Buffer:
            nonlocal reads
            reads += 1
            return self._snapshot.frame(session, seq)

    with log.snapshot() as snapshot:
        counting = cast("Snapshot", Counting(snapshot))
        cursor = resolve_cursor(counting, "s")
        entries = path(counting, cursor)
        along = IncrementalContexts(counting, cursor, entries)
        for entry in entries:
            along.advance(entry.seq)
    assert reads < 20 * len(entries)


@pytest.mark.parametrize(
    "damage", [{"content": 5}, {"content": [5, THINKING]}, {"provider": 5}, {"model": []}]
)
def test_a_damaged_answer_costs_no_other(tmp_path: Path, damage: Json) -> None:
    found = contents(
        tmp_path, *SWITCHED[:3], said({**thought("a", THINKING)["message"], **damage}), *SWITCHED[3:]
    )
    assert found[:2] == ["1", [text("Hm."), text("x")]]
