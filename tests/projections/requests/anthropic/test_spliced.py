"""Blocks that Claude Code recorded in the API's own shape go into a request byte for byte."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from eventstore import open_store
from eventstore.files.importing import import_sessions
from eventstore.memory import MemoryLog
from projections.context.build import build_context
from projections.requests.anthropic import render
from projections.requests.rendered import Rendered
from projections.requests.repairs import RepairRule
from tests.support.claude_code import SESSION, answer, bring, call, record, result, said
from tests.support.validator import validate

TEXT = rb'{"text" : "caf\u00e9 \/ \ud83d\ude00", "type":"text"}'
THINKING = rb'{"signature":"s\/\u0061=","type":"thinking", "thinking":"\u0048m"}'
REDACTED = rb'{"data":"\u0061\/b", "type":"redacted_thinking"}'
CALL = (
    rb'{"name":"Read","type":"tool_use", "caller":{"type":"\u0064irect"},"input":{"z":1.0,"a": [1e2, -0.0, '
    rb'12345678901234567890, "\u00e9"], "a":2},"id":"k1"}'
)
RESULT = rb'{"is_error": false, "content":"\u0064one\/", "type":"tool_result","tool_use_id":"\u006b1"}'
RESULT_OF_TEXTS = (
    rb'{"content":[{"text":"\u0064one", "type":"text"}],"type":"tool_result","tool_use_id":"k1"}'
)
"""Blocks that change if they are decoded and encoded again: order, spaces, escapes, numbers, a doubled key."""


def with_blocks(line: bytes, *blocks: bytes) -> bytes:
    """A record whose message holds these blocks, byte for byte."""
    fields = json.loads(line)
    fields["message"]["content"] = ["BLOCKS"]
    return json.dumps(fields, separators=(",", ":")).encode().replace(b'"BLOCKS"', b",".join(blocks))


def rendered(tmp_path: Path, *lines: bytes, model: str | None = None) -> Rendered:
    log = MemoryLog()
    bring(log, tmp_path / "s.jsonl", *lines)
    return render(build_context(log, SESSION), model=model)


@pytest.mark.parametrize("of_call", [RESULT, RESULT_OF_TEXTS])
def test_every_block_goes_as_it_was_recorded(tmp_path, of_call):
    made = rendered(
        tmp_path,
        with_blocks(said("u1", None, ""), TEXT),
        with_blocks(answer("a1", "u1", "m1", ""), THINKING),
        with_blocks(answer("a2", "a1", "m1", ""), REDACTED),
        with_blocks(answer("a3", "a2", "m1", ""), TEXT),
        with_blocks(answer("a4", "a3", "m1", ""), CALL),
        with_blocks(result("r1", "a4", "k1", ""), of_call),
        said("u2", "r1", "go on"),
    )
    assert b"[%s]" % b",".join((THINKING, REDACTED, TEXT, CALL)) in made.body
    assert b'{"role":"user","content":[%s]}' % TEXT in made.body
    assert b'[%s,{"type":"text","text":"go on"}]' % of_call in made.body
    assert made.repairs == ()
    assert validate(made.body) == []


def test_a_call_that_no_other_model_knows_goes_without_its_caller(tmp_path):
    lines = [
        said("u1", None, "go"),
        with_blocks(answer("a1", "u1", "m1", ""), CALL),
        result("r1", "a1", "k1", "x"),
    ]
    assert CALL in rendered(tmp_path, *lines).body
    made = rendered(tmp_path, *lines, model="another")
    assert b'"caller"' not in made.body
    assert rb'"input":{"z":1.0,"a": [1e2, -0.0, ' in made.body


@pytest.mark.parametrize(
    ("block", "sent"),
    [
        (rb'{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}', rb'{"type":"text","text":"a"}'),
        (rb'{"type":"text","text":"a","other":1}', rb'{"type":"text","text":"a"}'),
        (rb'{"type":"text", "text":"a\ud800"}', '{"type":"text","text":"a\ufffd"}'.encode()),
        (
            rb'{"type":"tool_use", "id":"k.1","name":"R","input":{}}',
            b'{"type":"tool_use","id":"k_1","name":"R","input":{}}',
        ),
        (rb'{"type":"tool_use", "id":"k1","name":"R","input":[]}', b'"input":{"arguments":[]}'),
        (
            rb'{"type":"tool_use", "id":"k1","name":"R","input":{"a":"\ud800"}}',
            '"input":{"a":"\ufffd"}'.encode(),
        ),
    ],
)
def test_a_block_that_the_api_would_refuse_is_mended(tmp_path, block, sent):
    made = rendered(tmp_path, said("u1", None, "go"), with_blocks(answer("a1", "u1", "m1", ""), block))
    assert block not in made.body
    assert sent in made.body
    assert validate(made.body) == []


@pytest.mark.parametrize("text", [r"  ", r"\u0020\n", r"\ufeff"])
def test_a_blank_text_is_left_out_as_before(tmp_path, text):
    block = b'{"type":"text", "text":"%s"}' % text.encode()
    made = rendered(tmp_path, said("u1", None, "go"), with_blocks(answer("a1", "u1", "m1", ""), block, TEXT))
    assert block not in made.body
    assert [repair.rule for repair in made.repairs] == [RepairRule.BLANK_TEXT]


def test_only_white_space_at_the_very_end_is_taken_off(tmp_path):
    lines = [
        said("u1", None, "go"),
        with_blocks(answer("a1", "u1", "m1", ""), rb'{"type":"text", "text":"a \n"}'),
    ]
    made = rendered(tmp_path, *lines)
    assert made.body.endswith(b'"content":[{"type":"text","text":"a"}]}]}')
    assert [repair.rule for repair in made.repairs] == [RepairRule.FINAL_SPACE]
    assert rb'{"type":"text", "text":"a \n"}' in rendered(tmp_path, *lines, said("u2", "a1", "on")).body
    assert rendered(tmp_path, *lines[:1], with_blocks(answer("a1", "u1", "m1", ""), TEXT)).repairs == ()


def test_the_second_of_two_calls_with_one_id_gets_another(tmp_path):
    again = with_blocks(answer("a2", "r1", "m2", ""), CALL)
    lines = [
        said("u1", None, "go"),
        with_blocks(answer("a1", "u1", "m1", ""), CALL),
        result("r1", "a1", "k1", "x"),
    ]
    made = rendered(tmp_path, *lines, again, result("r2", "a2", "k1", "y"))
    assert made.body.count(CALL) == 1
    assert b'"id":"k1_2"' in made.body
    assert validate(made.body) == []


def test_a_cleared_result_is_not_sent_as_it_was_recorded(tmp_path):
    made = rendered(
        tmp_path,
        said("u1", None, "go"),
        answer("a1", "u1", "m1", call("k1", "Read", file_path="a")),
        with_blocks(result("r1", "a1", "k1", ""), RESULT),
        record(
            "s1",
            "r1",
            "system",
            subtype="microcompact_boundary",
            microcompactMetadata={"compactedToolIds": ["k1"]},
        ),
        said("u2", "s1", "go on"),
    )
    assert RESULT not in made.body
    assert b"[Old tool result content cleared]" in made.body


FILES = ("6113e919-3auto", "67d765b5-manual", "aefcb05b", "0708a5fa-snap3")


@pytest.mark.parametrize("name", FILES)
def test_the_blocks_of_real_sessions_are_those_of_their_files(name, corpus, tmp_path):
    path = corpus / "claude-code" / f"{name}.jsonl"
    with open_store(tmp_path / "store") as log:
        session = import_sessions(log, path)[0].id
        body = render(build_context(log, session)).body
    file = path.read_bytes()
    kinds: Counter[tuple[str, bool]] = Counter()
    for message in json.loads(body)["messages"]:
        for block in message["content"]:
            kinds[block["type"], _raw(block) in file] += 1
    assert kinds["tool_use", True]
    assert kinds["tool_result", True]
    assert kinds["tool_use", False] == 0


def _raw(block: dict[str, object]) -> bytes:
    return json.dumps(block, ensure_ascii=False, separators=(",", ":")).encode()
