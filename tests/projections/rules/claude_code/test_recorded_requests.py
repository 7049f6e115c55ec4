"""Contexts beside the requests that Claude Code recorded itself.

`recorded_requests.jsonl` is a session of Claude Code 2.1.331 with three compactions, answered by a scripted server.
Long texts of the harness are cut, in all records alike, and the hashes computed again.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eventstore.files.importing import import_sessions
from eventstore.harnesses.claude_code.api_requests import message_hash
from eventstore.memory import MemoryLog
from eventstore.paths import events_of_kinds
from projections.audit.checks import RECORDED, CheckResult, check_session
from projections.audit.gaps import context_gaps
from projections.context.build import build_context, harness_json
from projections.context.cursor import resolve_cursor
from projections.context.parts import Fate
from projections.rules import claude_code
from projections.settings import harness_prompt
from projections.tokens import counter
from tests.support.claude_code import (
    SESSION,
    answer,
    attached,
    boundary,
    bring,
    call,
    note,
    result,
    said,
    summary,
)

FILE = Path(__file__).with_name("recorded_requests.jsonl")
NAME = "8b65af88-a36e-42da-8f34-d30be299ebe7"
RECORDS: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]
REQUESTS = 7


def stored(path: Path, records: list[dict[str, Any]]) -> MemoryLog:
    file = path / f"{NAME}.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in records), "utf-8")
    log = MemoryLog()
    import_sessions(log, file)
    return log


def recorded(log: MemoryLog) -> CheckResult | None:
    return next((each for each in check_session(log, NAME).results if each.name == RECORDED), None)


def without(*types: str) -> list[dict[str, Any]]:
    return [each for each in RECORDS if each["type"] not in types]


def test_every_recorded_request_is_proven(tmp_path: Path) -> None:
    found = recorded(stored(tmp_path, RECORDS))
    assert found is not None
    assert (found.exact, found.checked, found.passed, found.failures) == (True, REQUESTS, REQUESTS, [])


@pytest.mark.parametrize("missing", ["api-request-blob", "api-request-shape"])
def test_hashes_prove_requests_whose_parts_are_missing(tmp_path: Path, missing: str) -> None:
    found = recorded(stored(tmp_path, without(missing)))
    assert found is not None
    assert (found.checked, found.passed) == (REQUESTS, REQUESTS)


def test_without_digests_hashes_prove_requests(tmp_path: Path) -> None:
    names = {"requestDigest"}
    bare = [{name: value for name, value in each.items() if name not in names} for each in RECORDS]
    found = recorded(stored(tmp_path, bare))
    assert found is not None
    assert (found.checked, found.passed) == (REQUESTS, REQUESTS)


def test_nothing_is_checked_if_no_request_is_recorded(tmp_path: Path) -> None:
    assert recorded(stored(tmp_path, without("api-request", "api-request-blob", "api-request-shape"))) is None


def test_requests_with_missing_bases_are_left_out(tmp_path: Path) -> None:
    first = next(each for each in RECORDS if each["type"] == "api-request")
    found = recorded(stored(tmp_path, [each for each in RECORDS if each is not first]))
    assert found is not None
    assert 0 < found.checked == found.passed < REQUESTS


PROMPTS = [
    place
    for place, each in enumerate(RECORDS)
    if each["type"] == "user"
    and isinstance(each["message"]["content"], str)
    and not each["message"]["content"].startswith(("<", "This session"))
]
"""The places of what the person asked."""
BEGINNING = RECORDS[: PROMPTS[1]]
"""The first turn, with its two requests."""


@pytest.mark.slow
@given(place=st.sampled_from(PROMPTS), text=st.text(min_size=1, max_size=20))
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_changed_prompt_is_named(tmp_path: Path, place: int, text: str) -> None:
    record = RECORDS[place]
    message = {**record["message"], "content": text + record["message"]["content"]}
    changed = [*RECORDS[:place], {**record, "message": message}, *RECORDS[place + 1 :]]
    found = recorded(stored(tmp_path, changed))
    assert found is not None
    assert found.failures
    first = found.failures[0]
    assert first.difference == f"message {first.found + 1} (user)"


def test_another_hash_is_a_difference(tmp_path: Path) -> None:
    text = json.dumps(RECORDS)
    changed = json.loads(text.replace(next(each["hash"] for each in RECORDS if "hash" in each), "0" * 64))
    found = recorded(stored(tmp_path, changed))
    assert found is not None
    assert found.failures[0].difference == "message 1 (user)"


def test_a_digest_not_reproduced_is_a_difference(tmp_path: Path) -> None:
    changed = json.loads(json.dumps(RECORDS))
    next(each for each in changed if each["type"] == "api-request")["params"]["max_tokens"] = 1
    found = recorded(stored(tmp_path, changed))
    assert found is not None
    assert [each.difference for each in found.failures] == ["the digest of the whole request"]


@pytest.mark.parametrize("broken", [None, "x", {"a": 1}, [[]]])
@pytest.mark.parametrize("field", ["id", "hash", "message", "shape", "base", "keep", "tail", "cacheControl"])
def test_mistyped_records_of_requests_are_read(tmp_path: Path, field: str, broken: Any) -> None:
    changed = [
        {**each, field: broken} if each["type"].startswith("api-request") and field in each else each
        for each in BEGINNING
    ]
    log = stored(tmp_path, changed)
    check_session(log, NAME)
    with log.snapshot() as snapshot:
        harness_prompt(snapshot, resolve_cursor(snapshot, NAME))


def test_a_messages_hash_is_of_sorted_json() -> None:
    expected = hashlib.sha256(b'{"content":[{"text":"h\xc3\xa9","type":"text"}],"role":"user"}').hexdigest()
    assert message_hash('{"role":"user","content":"hé"}'.encode()) == expected
    assert message_hash('{"content": [{"type":"text","text":"hé"}], "role":"user"}'.encode()) == expected


def test_a_recorded_prompt_is_no_gap(tmp_path: Path) -> None:
    log = stored(tmp_path, RECORDS)
    with log.snapshot() as snapshot:
        prompt = harness_prompt(snapshot, resolve_cursor(snapshot, NAME))
        gaps = context_gaps(snapshot, build_context(snapshot, NAME), counter("utf16/4"))
    assert prompt.system.startswith("You are a Claude agent, built on Anthropic's Claude Agent SDK.\n\n")
    assert [each["name"] for each in json.loads(prompt.tools)] == ["Agent", "Bash", "Edit"]
    assert not any("system prompt" in gap.what for gap in gaps)


NEW = "2.1.331"


def rendered(uuid: str, parent: str, *contents: Any, **fields: Any) -> bytes:
    said_so = [{"content": each} for each in contents]
    return attached(uuid, parent, {"type": "date"}, rendered=said_so, version=NEW, **fields)


def messages(log: MemoryLog) -> Any:
    return [each["content"] for each in json.loads(harness_json(build_context(log, SESSION)))["messages"]]


def text(content: str) -> dict[str, str]:
    return {"type": "text", "text": content}


@pytest.mark.parametrize(("version", "end"), [(NEW, "\n"), ("2.1.78", "\n"), ("2.1.77", "")])
def test_a_text_ends_its_line_before_another(log: MemoryLog, tmp_path: Path, version: str, end: str) -> None:
    lines = [json.loads(each) for each in (said("u-1", None, "one"), said("u-2", "u-1", "two"))]
    bring(log, tmp_path / "s.jsonl", *(json.dumps({**line, "version": version}).encode() for line in lines))
    assert messages(log) == [[text(f"one{end}"), text("two")]]


def test_attachments_move_up_past_their_prompt(log: MemoryLog, tmp_path: Path) -> None:
    bring(log, tmp_path / "s.jsonl", said("u-1", None, "go"), rendered("u-2", "u-1", "<r>a</r>"))
    assert messages(log) == [[text("<r>a</r>\n"), text("go")]]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("out\n", "out\n\na"),
        ([text("out")], [text("out\n"), text("a")]),
        ([], [text("a")]),
        ([7], [7, text("a")]),
    ],
)
def test_attachments_join_the_last_result(
    log: MemoryLog, tmp_path: Path, content: Any, expected: Any
) -> None:
    lines = [said("u-1", None, "go"), answer("u-2", "u-1", "m-1", call("c-1"))]
    bring(
        log, tmp_path / "s.jsonl", *lines, result("u-3", "u-2", "c-1", content), rendered("u-4", "u-3", " a ")
    )
    assert messages(log)[-1][0]["content"] == expected


def test_an_attachment_may_stay_beside_a_result(log: MemoryLog, tmp_path: Path) -> None:
    lines = [
        said("u-1", None, "go"),
        answer("u-2", "u-1", "m-1", call("c-1")),
        result("u-3", "u-2", "c-1", "out"),
    ]
    bring(log, tmp_path / "s.jsonl", *lines, rendered("u-4", "u-3", "a", renderedBesideToolResult=True))
    assert messages(log)[-1][0]["content"] == "out"
    assert messages(log)[-1][1:] == [text("a")]


def test_messages_of_one_attachment_stay_apart(log: MemoryLog, tmp_path: Path) -> None:
    lines = [said("u-1", None, "go"), answer("u-2", "u-1", "m-1", "hm"), said("u-3", "u-2", "on")]
    bring(log, tmp_path / "s.jsonl", *lines, rendered("u-4", "u-3", "a", "b"))
    assert messages(log)[2:] == [[text("a")], [text("b\n"), text("on")]]


def test_an_attachment_without_its_text_was_not_sent(log: MemoryLog, tmp_path: Path) -> None:
    unsent = attached("u-2", "u-1", {"type": "file", "filename": "a", "content": "b"}, version=NEW)
    bring(log, tmp_path / "s.jsonl", said("u-1", None, "go"), unsent)
    assert messages(log) == ["go"]


def test_own_notes_are_wrapped_in_a_reminder(log: MemoryLog, tmp_path: Path) -> None:
    lines = [said("u-1", None, "go"), answer("u-2", "u-1", "m-1", "hm")]
    bring(log, tmp_path / "s.jsonl", *lines, said("u-3", "u-2", "go on", isMeta=True, ownNote=True))
    assert messages(log)[-1] == "<system-reminder>\ngo on\n</system-reminder>"


def test_attachments_above_a_summary_lead_the_context(tmp_path: Path, log: MemoryLog) -> None:
    anchor = {"preservedMessages": {"anchorUuid": "u-7", "uuids": ["u-2"]}}
    bring(
        log,
        tmp_path / "s.jsonl",
        said("u-1", None, "go"),
        answer("u-2", "u-1", "m-1", "on"),
        boundary("u-4", "u-2", **anchor),
        rendered("u-5", "u-4", "<r>files</r>"),
        attached("u-6", "u-5", {"type": "session_context"}, version=NEW),
        summary("u-7", "u-6"),
        rendered("u-8", "u-7", "<r>more</r>"),
    )
    built = build_context(log, SESSION)
    assert [(part.id, part.fate) for part in built.parts][:2] == [
        ("u-5", Fate.RESTORED),
        ("u-7", Fate.SUMMARY),
    ]
    contents = [message["content"] for message in json.loads(harness_json(built))["messages"]]
    texts = [[block["text"] for block in content] for content in contents]
    assert texts == [["<r>files</r>\n", "so far"], ["on"], ["<r>more</r>"]]


def test_texts_of_two_messages_are_parted(tmp_path: Path, log: MemoryLog) -> None:
    lines = [rendered("u-1", None, "<r>a</r>"), answer("u-2", "u-1", "m-1", "on"), said("u-3", "u-2", "b")]
    bring(log, tmp_path / "s.jsonl", *lines, said("u-4", "u-3", "c"))
    newest = json.loads(harness_json(build_context(log, SESSION)))["messages"][-1]
    assert [block["text"] for block in newest["content"]] == ["b\n", "c"]


NOTICE = "<task-notification>\n<task-id>t</task-id>\n</task-notification>"
IN_WORDS = f"<system-reminder>\nA task has ended.\n\n{NOTICE}\n</system-reminder>"


def noticed(folder: Path, log: MemoryLog, *notes: bytes) -> Any:
    origin = {"kind": "task-notification"}
    bring(log, folder / "s.jsonl", said("u-1", None, NOTICE, origin=origin, version=NEW), *notes)
    return json.loads(harness_json(build_context(log, SESSION)))["messages"][0]["content"]


def request_with(text: str) -> list[bytes]:
    message = {"role": "user", "content": [{"type": "text", "text": "other"}, {"type": "text", "text": text}]}
    return [note("api-request-blob", hash="h", message=message), note("api-request", id="r", tail=["h"])]


def test_a_notice_has_the_words_of_its_request(tmp_path: Path, log: MemoryLog) -> None:
    assert noticed(tmp_path, log, *request_with(IN_WORDS + "\n")) == IN_WORDS


@pytest.mark.parametrize(
    "notes",
    [
        [],
        [*request_with("nothing of it"), *request_with(IN_WORDS)],
        [note("api-request-blob", hash="h", message={"role": "user", "content": 5})],
        [note("api-request-blob", hash="h", message=5), note("api-request", id=5)],
    ],
)
def test_a_notice_without_its_request_is_plain(tmp_path: Path, log: MemoryLog, notes: list[bytes]) -> None:
    assert noticed(tmp_path, log, *notes) == NOTICE


def test_words_come_from_a_later_request(tmp_path: Path, log: MemoryLog) -> None:
    notices = [said(f"u-{at}", f"u-{at - 1}" if at else None, NOTICE, version=NEW) for at in range(2)]
    other = request_with(IN_WORDS.replace("ended", "begun"))
    bring(log, tmp_path / "s.jsonl", notices[0], *request_with(IN_WORDS), notices[1], *other)
    shown = json.dumps(json.loads(harness_json(build_context(log, SESSION)))["messages"])
    assert (shown.count("has ended"), shown.count("has begun")) == (1, 1)


def test_one_read_of_a_session_serves_all_notices(
    tmp_path: Path, log: MemoryLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = []

    def counted(*given: Any, **options: Any) -> Any:
        reads.append(given)
        return events_of_kinds(*given, **options)

    monkeypatch.setattr(claude_code, "events_of_kinds", counted)
    notices = [said(f"u-{at}", f"u-{at - 1}" if at else None, NOTICE, version=NEW) for at in range(20)]
    bring(log, tmp_path / "s.jsonl", *notices, *request_with(IN_WORDS))
    shown = json.loads(harness_json(build_context(log, SESSION)))["messages"]
    assert len(reads) == 1
    assert json.dumps(shown).count("A task has ended.") == 20
