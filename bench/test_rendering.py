"""Compare rendering a request to joining and parsing the same messages."""

from __future__ import annotations

import json

import pytest

import refold
from bench.test_import import parse_by_json
from eventstore import open_store
from projections.context.build import build_context
from projections.requests.anthropic import render
from projections.requests.repairs import RepairRule
from tests.support.validator import validate

MESSAGES = (60, 1000)


@pytest.fixture(params=MESSAGES, scope="module")
def messages(request):
    return request.param


@pytest.fixture(scope="module")
def context(messages, made):
    stored = made(messages + 24, messages)
    with open_store(stored.store) as log:
        context = build_context(log, stored.session)
    assert len(context.parts) == messages
    return context


@pytest.fixture(scope="module")
def body(context):
    rendered = render(context)
    assert validate(rendered.body) == []
    assert {repair.rule for repair in rendered.repairs} <= {RepairRule.FINAL_SPACE}
    return rendered.body


@pytest.fixture
def group(messages):
    return f"render-{messages}"


def test_refold_renders(measure, group, context, body):
    assert body
    measure(group, "refold", render, context)


def test_the_messages_are_joined(measure, group, context):
    measure(group, "floor", b",".join, [part.raw for part in context.parts])


def test_a_plain_renderer_parses_and_prints(measure, group, context):
    raw = [part.raw for part in context.parts]
    measure(
        group, "json", lambda: json.dumps([json.loads(each) for each in raw], ensure_ascii=False).encode()
    )


@pytest.fixture(scope="module")
def file_of_claude_code(corpus):
    """A real session of Claude Code without a compaction: 426 messages."""
    return corpus / "claude-code" / "aefcb05b.jsonl"


@pytest.fixture(scope="module")
def session_of_claude_code(file_of_claude_code, folder):
    with refold.open(folder / "claude-code-longest") as store:
        yield store.import_file(file_of_claude_code)


@pytest.fixture(scope="module")
def of_claude_code(session_of_claude_code):
    return session_of_claude_code.context()


def test_refold_renders_a_request_of_claude_code(measure, of_claude_code):
    rendered = measure("claude-code-request", "refold", render, of_claude_code)
    assert validate(rendered.body) == []


def test_a_plain_renderer_parses_and_prints_it(measure, of_claude_code):
    raw = [part.raw for part in of_claude_code.parts]
    measure("claude-code-request", "json", lambda: json.dumps([*map(json.loads, raw)]).encode())


def test_refold_gives_messages_of_claude_code(measure, session_of_claude_code):
    assert measure("claude-code-messages", "refold", lambda: session_of_claude_code.context().messages())


def test_a_parser_reads_the_whole_file(measure, file_of_claude_code):
    measure("claude-code-messages", "json", parse_by_json, file_of_claude_code)
