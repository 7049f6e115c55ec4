"""Records of pi with any field of any JSON type, any size and any depth: imports skip or keep them, and never fail."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventstore.errors import RefoldError
from eventstore.files.exporting import export_session
from eventstore.javascript import DEEPEST_RECORD, is_deeper
from eventstore.memory import MemoryLog
from eventstore.verify import verify
from tests.support.events import events
from tests.support.examples import examples
from tests.support.pi_files import SESSION, TIME, bring, header, original, said

BLOCKS = [
    {"type": "text", "text": "t", "textSignature": "s"},
    {"type": "thinking", "thinking": "t", "thinkingSignature": "s", "redacted": True},
    {"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": "a"}},
    {"type": "image", "data": "AAAA", "mimeType": "image/png"},
]
USAGE = {
    **dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "cacheWrite1h", "totalTokens"), 1),
    "cost": {"input": 0.1, "total": 0.5},
}
NODE = {"id": "odd", "parentId": "good0", "timestamp": TIME}
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "t", "timestamp": 1},
    {
        "role": "assistant",
        "content": BLOCKS,
        "provider": "p",
        "api": "a",
        "model": "m",
        "stopReason": "stop",
        "usage": USAGE,
        "timestamp": 1,
    },
    {"role": "toolResult", "toolCallId": "c", "toolName": "read", "content": BLOCKS[:1], "isError": False},
    {
        "role": "bashExecution",
        "command": "c",
        "output": "o",
        "exitCode": 0,
        "cancelled": False,
        "truncated": False,
        "fullOutputPath": "f",
        "excludeFromContext": False,
    },
    {"role": "branchSummary", "summary": "s"},
    {"role": "hookMessage", "content": BLOCKS, "placement": "p"},
]
RECORDS: list[dict[str, Any]] = [
    {"type": "session", "version": 3, "id": SESSION, "timestamp": TIME, "cwd": "/", "parentSession": "p"},
    *({"type": "message", **NODE, "message": message} for message in MESSAGES),
    {"type": "model_change", **NODE, "provider": "p", "modelId": "m"},
    {"type": "thinking_level_change", **NODE, "thinkingLevel": "high"},
    {
        "type": "compaction",
        **NODE,
        "summary": "s",
        "firstKeptEntryId": "good0",
        "firstKeptEntryIndex": 1,
        "tokensBefore": 9,
        "details": {"readFiles": ["a"], "modifiedFiles": []},
        "fromHook": False,
    },
    {"type": "branch_summary", **NODE, "fromId": "good0", "summary": "s", "details": {"readFiles": ["a"]}},
    {"type": "custom_message", **NODE, "customType": "c", "content": BLOCKS, "display": True, "details": {}},
    {"type": "custom", **NODE, "customType": "c", "data": {"a": 1}},
    {"type": "label", **NODE, "targetId": "good0", "label": "l"},
    {"type": "session_info", **NODE, "name": "n"},
    {"type": "rewrite", **NODE, "reason": "r", "targets": [{"target": "good0", "shown": "s"}]},
]
ODD = [
    *(
        "null",
        "true",
        "false",
        "0",
        "-0",
        "-1",
        "1.5",
        "7",
        "1e999",
        "-1e999",
        "NaN",
        "Infinity",
        "-Infinity",
    ),
    *("9" * 30, "9" * 350, "9" * 500, "1e308", "9007199254740993", '"1"', '"message"', '"good1"', '"odd"'),
    *('""', '"x"', '"\\ud800"', '"\\udfff\\ud800"', '"\\u0000"', '"' + "x" * 70_000 + '"', '"2026-01-01"'),
    *("[]", "[1]", '["x"]', "[[]]", "[null]", '[{"type":[]}]', '[{"type":"text","text":{}}]', '["\\ud800"]'),
    *(
        "{}",
        '{"type":"session"}',
        '{"\\ud800":"\\ud800"}',
        '{"type":"message","type":[]}',
        '{"total":"\\ud800"}',
    ),
    *(
        "[" * 499 + "]" * 499,
        "[" * 800 + "]" * 800,
        '{"a":' * 5000 + "1" + "}" * 5000,
        "[" * 3000,
        "{",
        '"',
        "",
    ),
]


def places(value: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to all values inside a record."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, each in inner for found in [(*above, key), *places(each, (*above, key))]]


def replaced(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    """A copy of a record with another value in a place."""
    key, *rest = place
    copy = list(value) if isinstance(value, list) else dict(value)
    copy[key] = replaced(value[key], tuple(rest), new) if rest else new
    return copy


def told_twice(record: bytes, name: str, value: bytes) -> bytes:
    """A record whose object begins with one more field."""
    return b'{"%b":%b,' % (name.encode(), value) + record[1:]


@st.composite
def odd_records(draw: st.DrawFn) -> bytes:
    record: Any = draw(st.sampled_from(RECORDS))
    odd: list[str] = []
    for _ in range(draw(st.integers(1, 2))):
        odd.append(draw(st.sampled_from(ODD)))
        record = replaced(record, draw(st.sampled_from(places(record))), f"@{len(odd) - 1}@")
    text = json.dumps(record, separators=(",", ":"))
    for at, value in enumerate(odd):
        text = text.replace(f'"@{at}@"', value)
    if draw(st.booleans()):
        name = draw(st.sampled_from(["type", "id", "parentId", "message", "content", "version", "usage"]))
        return told_twice(text.encode(), name, draw(st.sampled_from(ODD)).encode())
    return text.encode()


def is_record(line: bytes) -> bool:
    """Return True for a JSON object without NaN that is no header and not nested too deeply."""
    try:
        value = json.loads(line.decode(), parse_constant=int)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.get("type") != "session" and not is_deeper(line, DEEPEST_RECORD)


torn = st.sampled_from(
    [b"", b"", b"garbage", b'{"type":"message","id":"t","message":{"role":"us', b'"', b"]}"]
)
headers = st.sampled_from([header(1), header(2), header(3), header(3), b""])
odd_lines = st.lists(st.builds(bytes.__add__, torn, odd_records()), min_size=1, max_size=3)


def good(number: int, version: int) -> bytes:
    names = () if version == 1 else (f"good{number}", f"good{number - 1}" if number else None)
    return said(f"said {number}", *names)


@pytest.mark.slow
@settings(max_examples=examples(200))
@given(headers, odd_lines, st.sampled_from([1, 3]))
def test_whatever_a_field_holds_no_whole_record_is_lost(head: bytes, odd: list[bytes], version: int) -> None:
    records = [good(number, version) for number in range(len(odd) + 2)]
    between = [each for pair in zip(records[1:], odd, strict=False) for each in (pair[0], pair[1] + b"\n")]
    content = b"".join([head, records[0], *between, records[-1]])
    log = MemoryLog()
    with tempfile.TemporaryDirectory() as folder:
        found = bring(log, Path(folder), content)
        again = bring(log, Path(folder), content + good(9, version))
    whole = {each.rstrip() for each in records} | {each for each in odd if is_record(each)}
    assert whole <= {event.body for event in events(log, found.id)}
    assert (again.id, again.added) == (found.id, 1)
    assert original(log, found.id) == content + good(9, version)
    assert b"".join(export_session(log, found.id, "pi")).count(b"\n") == again.events + 1
    assert verify(log).findings == []


@given(st.lists(odd_records(), min_size=1, max_size=3))
def test_a_file_that_begins_with_odd_records_is_taken_or_refused(odd: list[bytes]) -> None:
    log, content = MemoryLog(), b"\n".join([*odd, good(0, 3)])
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = bring(log, Path(folder), content)
        except RefoldError:
            return
    assert original(log, found.id) == content
    assert good(0, 3).rstrip() in [event.body for event in events(log, found.id)]
