"""Contexts of oh-my-pi's sessions are those that oh-my-pi 18.3.4 built of the same entries, field for field."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from eventstore.log import Snapshot
from eventstore.memory import MemoryLog
from eventstore.paths import LazyEvent, event, path
from projections.context.build import build_context, context_at, context_json
from projections.context.cursor import resolve_cursor
from projections.context.incremental import IncrementalContexts
from projections.context.parts import Part
from projections.requests.anthropic import render
from projections.rules import rules_of_format
from projections.rules.oh_my_pi import OhMyPiRules
from projections.settings import settings
from tests.support.growth import NO_SQUARE, times_as_long
from tests.support.oh_my_pi_sessions import BLOB, entries_of, file_of, time_of
from tests.support.pi_files import bring
from tests.support.reference_oh_my_pi import messages_at

Json = dict[str, Any]

SESSIONS = (Path(__file__).parent / "oh_my_pi_18.jsonl").read_text("utf-8").splitlines()
"""Made-up entries, and of the context at each: SHA-256 of its messages as oh-my-pi built them, the model in use."""


def digest(messages: list[Json]) -> str:
    text = json.dumps(messages, ensure_ascii=False, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:16]


@pytest.mark.parametrize("number", range(len(SESSIONS)))
def test_contexts_at_every_leaf_are_those_of_oh_my_pi(number: int, tmp_path: Path) -> None:
    frozen = json.loads(SESSIONS[number])
    log = MemoryLog()
    session = bring(log, tmp_path, file_of(frozen["entries"])).id
    last = {}
    for leaf, expected in frozen["contexts"].items():
        last = json.loads(context_json(log, session, leaf=leaf))
        assert digest(last["messages"]) == expected, leaf
        model = settings(log, session, leaf=leaf).model
        named = None if model is None else "/".join(filter(None, (model.provider, model.model_id)))
        assert named == frozen["models"][leaf], leaf
    assert last["messages"] == frozen["last"]


@pytest.mark.parametrize("number", range(len(SESSIONS)))
def test_the_reference_gives_what_oh_my_pi_gave(number: int) -> None:
    frozen = json.loads(SESSIONS[number])
    found = {leaf: digest(messages_at(frozen["entries"], leaf)) for leaf in frozen["contexts"]}
    assert found == frozen["contexts"]


@pytest.mark.parametrize("number", range(40))
def test_contexts_at_every_leaf_are_those_of_the_reference(number: int, tmp_path: Path) -> None:
    entries = entries_of(random.Random(f"reference:{number}"), 40)
    log = MemoryLog()
    session = bring(log, tmp_path, file_of(entries)).id
    for entry in entries:
        found = json.loads(context_json(log, session, leaf=entry["id"]))["messages"]
        assert json.dumps(found) == json.dumps(messages_at(entries, entry["id"])), entry["id"]


@pytest.mark.parametrize("repeats_ids", [False, True])
@pytest.mark.parametrize("number", range(12))
def test_contexts_along_a_path_are_those_at_its_entries(
    number: int, tmp_path: Path, *, repeats_ids: bool
) -> None:
    entries = entries_of(random.Random(f"along:{number}"), 60)
    for place, each in enumerate(() if repeats_ids else entries):
        _name_calls_apart(each, place)
    log = MemoryLog()
    session = bring(log, tmp_path, file_of(entries)).id
    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, session)
        way = [each.decode() for each in path(snapshot, session, cursor.leaf)]
        along = IncrementalContexts(snapshot, cursor, way)
        for each in way:
            assert along.context_at(each.seq).parts == context_at(snapshot, cursor.at_leaf(each.seq)).parts


def test_a_call_with_the_id_of_an_answered_one_is_kept_along_a_path_too(tmp_path: Path) -> None:
    told = [said("a"), answered(call("x")), result("x"), said("b"), answered(call("x")), said("c"), said("d")]
    entries = [
        {"id": f"{at:08x}", "parentId": f"{at - 1:08x}" if at else None, "timestamp": time_of(at), **each}
        for at, each in enumerate(told)
    ]
    log = MemoryLog()
    session = bring(log, tmp_path, file_of(entries)).id
    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, session)
        way = [each.decode() for each in path(snapshot, session, cursor.leaf)]
        along = IncrementalContexts(snapshot, cursor, way)
        assert [len(along.context_at(each.seq).parts) for each in way] == [1, 1, 3, 4, 5, 6, 7]


def _name_calls_apart(entry: Json, place: int) -> None:
    """Give calls ids that only results up to eight entries on can have, as those of a harness."""
    message = entry.get("message", {})
    if message.get("role") == "toolResult":
        message["toolCallId"] += f"-{place // 8}"
    for block in message.get("content") or () if message.get("role") == "assistant" else ():
        if block["type"] == "toolCall":
            block["id"] += f"-{place // 8}"


def contexts(tmp_path: Path, *entries: Json) -> list[Json]:
    """The messages at the newest of these entries, each the child of the one before."""
    log = MemoryLog()
    session = bring(log, tmp_path, file_of(chained(*entries))).id
    messages: list[Json] = json.loads(context_json(log, session))["messages"]
    return messages


def chained(*entries: Json) -> list[Json]:
    return [
        {
            "type": entry["type"],
            "id": f"{number:08x}",
            "parentId": f"{number - 1:08x}" if number else None,
            "timestamp": time_of(number),
            **entry,
        }
        for number, entry in enumerate(entries)
    ]


def said(text: Any, **fields: Any) -> Json:
    return {"type": "message", "message": {"role": "user", "content": text, **fields}}


def answered(*blocks: Json, stop: str = "stop") -> Json:
    return {"type": "message", "message": {"role": "assistant", "content": list(blocks), "stopReason": stop}}


def call(call_id: str) -> Json:
    return {"type": "toolCall", "id": call_id, "name": "read", "arguments": {}}


def result(call_id: str) -> Json:
    return {"type": "message", "message": {"role": "toolResult", "toolCallId": call_id, "content": []}}


TEXT = {"type": "text", "text": "t"}


def roles(messages: list[Json]) -> list[str]:
    return [message["role"] for message in messages]


def test_a_context_begins_behind_a_boundary(tmp_path: Path) -> None:
    assert contexts(tmp_path, said("a"), {"type": "reset_boundary"}, said("b")) == [said("b")["message"]]


def test_a_compaction_behind_a_boundary_counts(tmp_path: Path) -> None:
    compaction = {"type": "compaction", "summary": "s", "firstKeptEntryId": "00000000", "tokensBefore": 1}
    found = contexts(tmp_path, said("a"), {"type": "reset_boundary"}, said("b"), compaction)
    assert [message.get("content", message.get("summary")) for message in found] == ["s", "a", "b"]


def test_a_call_that_nothing_answers_goes_with_the_seals_of_its_turn(tmp_path: Path) -> None:
    thought = {"type": "thinking", "thinking": "hm", "thinkingSignature": "seal"}
    [found] = contexts(tmp_path, answered(thought, call("a"), {"type": "redactedThinking", "data": "x"}))
    assert found["content"] == [{"type": "thinking", "thinking": "hm"}]
    assert contexts(tmp_path, said("a"), answered(call("a"))) == [said("a")["message"]]


def test_an_answer_that_failed_goes_with_the_results_of_its_calls(tmp_path: Path) -> None:
    found = contexts(tmp_path, said("a"), answered(TEXT, call("a"), stop="aborted"), result("a"), said("b"))
    assert roles(found) == ["user", "user"]


def test_many_answers_that_failed_are_left_out_in_a_time_that_grows_with_them(tmp_path: Path) -> None:
    log = MemoryLog()
    session = bring(log, tmp_path, file_of(chained(said("go")))).id
    (like,) = build_context(log, session).parts
    failed = [answered(call("a"), stop="aborted"), result("a")]
    good = [answered(call("b")), result("b")]

    def arrange(count: int) -> None:
        messages = [each["message"] for each in failed * count + good * count]
        raws = [(each["role"], json.dumps(each).encode()) for each in messages]
        parts = [msgspec.structs.replace(like, role=role, raw=raw) for role, raw in raws]
        with log.snapshot() as snapshot:
            leaf = event(snapshot, session, 1)
            assert len(OhMyPiRules().arrange(snapshot, leaf, parts)) == 2 * count

    assert times_as_long(arrange, 100, 800) < NO_SQUARE


def test_an_answer_that_was_broken_off_while_it_thought_stays(tmp_path: Path) -> None:
    note = {"type": "custom_message", "customType": "interrupted-thinking", "content": "c", "display": False}
    assert roles(contexts(tmp_path, answered(TEXT, stop="aborted"), note)) == ["assistant", "custom"]


def test_a_history_that_a_provider_keeps_stands_for_what_a_compaction_kept(tmp_path: Path) -> None:
    history = {"openaiRemoteCompaction": {"provider": "openai", "replacementHistory": [{"type": "x"}]}}
    compaction = {
        "type": "compaction",
        "summary": "s",
        "firstKeptEntryId": "00000000",
        "tokensBefore": 1,
        "providerReplayThroughEntryId": "00000000",
        "preserveData": history,
    }
    found = contexts(tmp_path, said("a"), said("b"), compaction, said("c"))
    assert [message.get("content", message.get("summary")) for message in found] == ["s", "b", "c"]
    assert found[0]["providerPayload"]["items"] == [{"type": "x"}]


def test_the_request_before_a_rollover_is_shown_again(tmp_path: Path) -> None:
    compaction = {
        "type": "compaction",
        "summary": "s",
        "firstKeptEntryId": "00000002",
        "tokensBefore": 1,
        "details": {"kind": "experimental-context-rollover"},
    }
    found = contexts(tmp_path, said("a"), answered(TEXT), answered(TEXT), compaction)
    assert roles(found) == ["compactionSummary", "user", "assistant"]


def test_the_request_before_a_rollover_is_shown_where_a_provider_keeps_the_history(tmp_path: Path) -> None:
    compaction = {
        "type": "compaction",
        "summary": "s",
        "firstKeptEntryId": "00000001",
        "tokensBefore": 1,
        "details": {"kind": "experimental-context-rollover"},
        "preserveData": {"openaiRemoteCompaction": {"provider": "openai", "replacementHistory": []}},
    }
    found = contexts(tmp_path, said("a"), answered(TEXT), compaction)
    assert roles(found) == ["compactionSummary", "user"]


def test_a_summary_that_its_provider_replays_is_dated_by_an_entry_that_shows_nothing(tmp_path: Path) -> None:
    compaction = {
        "type": "compaction",
        "summary": "s",
        "firstKeptEntryId": "nowhere",
        "tokensBefore": 1,
        "preserveData": {"anthropicCompaction": {"provider": "anthropic", "content": "whole"}},
    }
    mode = {"type": "mode_change", "mode": "plan"}
    [alone] = contexts(tmp_path, said("a"), compaction)
    [dated] = contexts(tmp_path, said("a"), compaction, mode)
    assert "historyRewriteAt" not in alone
    # One second and one millisecond lie between two entries.
    assert dated["historyRewriteAt"] == dated["timestamp"] + 1_000


@pytest.mark.parametrize("late", [None, 9, 39])
@pytest.mark.parametrize("stop", ["toolUse", "aborted"])
def test_along_a_path_a_call_that_nothing_answers_costs_no_more(
    late: int | None, stop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = [said("a"), answered(TEXT, call("lost"), stop=stop)]
    for number in range(40):
        told += [answered(TEXT, call(f"c{number}"), stop="toolUse"), result(f"c{number}")]
        if number == late:
            told.append(result("lost"))
    file = file_of(
        [
            {
                "id": f"{number:08x}",
                "parentId": f"{number - 1:08x}" if number else None,
                "timestamp": time_of(number),
                **entry,
            }
            for number, entry in enumerate(told)
        ]
    )
    log = MemoryLog()
    session = bring(log, tmp_path, file).id
    arranged = 0
    arrange = OhMyPiRules.arrange

    def counted(rules: OhMyPiRules, snapshot: Snapshot, leaf: LazyEvent, parts: Sequence[Part]) -> Any:
        nonlocal arranged
        arranged += len(parts)
        return arrange(rules, snapshot, leaf, parts)

    monkeypatch.setattr(OhMyPiRules, "arrange", counted)
    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, session)
        way = [each.decode() for each in path(snapshot, session, cursor.leaf)]
        along = IncrementalContexts(snapshot, cursor, way)
        found = [along.context_at(each.seq).parts for each in way]
        assert arranged < 6 * len(told)
        assert found == [context_at(snapshot, cursor.at_leaf(each.seq)).parts for each in way]


def test_a_history_is_shown_behind_its_summary(tmp_path: Path) -> None:
    page = {"data": BLOB, "mimeType": "image/png"}
    archive = {"frames": [page], "textHead": "began\u2588on"}
    compaction = {"type": "compaction", "summary": "s", "preserveData": {"snapcompact": archive}}
    [found] = contexts(tmp_path, said("a"), compaction)
    image = {"type": "image", **page}
    head = {"type": "text", "text": "began\non\n-------------- imaged middle below\n"}
    assert list(found.items())[1:-1] == [("summary", "s"), ("blocks", [head, image]), ("images", [image])]


def test_a_pruned_result_is_a_gap(tmp_path: Path) -> None:
    pruned = result("a")
    pruned["message"] |= {"prunedAt": 1, "content": [{"type": "text", "text": "[Output truncated]"}]}
    log = MemoryLog()
    session = bring(log, tmp_path, file_of(chained(answered(call("a")), pruned))).id
    with log.snapshot() as snapshot:
        entries = path(snapshot, session, resolve_cursor(snapshot, session).leaf)
        [gap] = OhMyPiRules().gaps(snapshot, entries)
    assert (gap.what, gap.seq, gap.tokens) == ("result as it was before oh-my-pi pruned it", 3, None)


NOTE = {"type": "custom_message", "customType": "interrupted-thinking", "content": "n", "display": False}


@pytest.mark.parametrize(
    ("blocks", "behind", "expected"),
    [
        ([{"type": "text", "text": "half"}], [said("b")], ["whether the interrupted answer was sent"]),
        ([{"type": "text", "text": "half"}], [], []),
        ([{"type": "text", "text": " "}], [said("b")], []),
        ([{"type": "text", "text": "half"}], [NOTE, said("b")], []),
    ],
)
def test_an_interrupted_answer_may_be_a_gap(
    tmp_path: Path, blocks: list[Json], behind: list[Json], expected: list[str]
) -> None:
    log = MemoryLog()
    entries = [said("a"), answered(*blocks, stop="aborted"), *behind]
    session = bring(log, tmp_path, file_of(chained(*entries))).id
    with log.snapshot() as snapshot:
        found = path(snapshot, session, resolve_cursor(snapshot, session).leaf)
        gaps = list(OhMyPiRules().gaps(snapshot, found))
    assert [gap.what for gap in gaps] == expected


def test_requests_have_the_words_of_oh_my_pi(tmp_path: Path) -> None:
    log = MemoryLog()
    compaction = {"type": "compaction", "summary": "s", "method": "soft"}
    session = bring(log, tmp_path, file_of(chained(compaction, said("wait", steering=True)))).id
    body = json.loads(render(build_context(log, session), model="m").body)
    [summary, notice] = body["messages"][0]["content"]
    assert summary["text"].startswith("Prior model work/tool state available.\n")
    assert notice["text"].startswith("<system-notice>\nUser interjection during work: ")


def test_an_image_that_is_not_there_is_a_gap(tmp_path: Path) -> None:
    image = {"type": "image", "data": BLOB, "mimeType": "image/png"}
    log = MemoryLog()
    entry = {"id": "a", "parentId": None, "timestamp": time_of(0), **said([image])}
    session = bring(log, tmp_path, file_of([entry])).id
    with log.snapshot() as snapshot:
        leaf = snapshot.head(session).leaf
        gaps = list(rules_of_format("oh-my-pi/3").gaps(snapshot, path(snapshot, session, leaf)))
    assert [(gap.what, gap.event) for gap in gaps] == [("image that was not found", "a")]
    assert json.loads(build_context(log, session).parts[0].raw)["content"][0]["data"] == BLOB
