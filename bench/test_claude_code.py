"""Compare importing and rebuilding a real session of Claude Code to parsing and folding its file."""

from __future__ import annotations

import itertools
import json

import pytest

from bench.test_corpus import open_and_rebuild
from bench.test_import import import_into, parse, parse_by_json
from eventstore import open_store
from eventstore.files.importing import import_file
from projections.context.build import build_context
from projections.requests import validator_named
from projections.requests.anthropic.renderer import render
from projections.rules import rules_named

ROUNDS = 7


@pytest.fixture(scope="module")
def file(corpus):
    return corpus / "claude-code" / "6113e919-3auto.jsonl"


@pytest.fixture(scope="module")
def store(file, folder):
    store = folder / "claude-code"
    import_into(store, file)
    return store


@pytest.fixture(scope="module")
def session(store):
    with open_store(store) as log, log.snapshot() as snapshot:
        [head] = snapshot.heads()
        return head.name


def fold(file):
    return rules_named("claude-code").plain_fold(file.read_bytes())


def test_refold_opens_and_rebuilds(measure, store, session, file):
    rebuilt = measure("claude-code", "refold", open_and_rebuild, store, session)
    assert json.loads(rebuilt)["messages"] == json.loads(fold(file))["messages"]


def test_a_plain_reader_folds_the_file(measure, file):
    measure("claude-code", "json fold", fold, file, rounds=ROUNDS)


@pytest.fixture(scope="module")
def longest(corpus, folder):
    """The context of a session without a compaction: 426 messages."""
    store = folder / "claude-code-longest"
    with open_store(store) as log:
        session = import_file(log, corpus / "claude-code" / "aefcb05b.jsonl").id
        return build_context(log, session)


def test_refold_renders_a_request(measure, longest):
    rendered = measure("claude-code-request", "refold", render, longest)
    assert validator_named("anthropic")(rendered.body) == []


def test_a_plain_renderer_parses_and_prints(measure, longest):
    raw = [part.raw for part in longest.parts]
    measure("claude-code-request", "json", lambda: json.dumps([*map(json.loads, raw)]).encode())


def test_refold_imports(measure, file, tmp_path):
    fresh = (tmp_path / str(number) for number in itertools.count())
    measure(
        "claude-code-import",
        "refold",
        import_into,
        rounds=ROUNDS,
        setup=lambda: ((next(fresh), file), {}),
        bytes_read=file.stat().st_size,
    )


def test_a_reader_parses_every_line(measure, file):
    measure("claude-code-import", "parse", parse, file, rounds=ROUNDS, bytes_read=file.stat().st_size)


def test_json_parses_every_line(measure, file):
    measure("claude-code-import", "json", parse_by_json, file, rounds=ROUNDS, bytes_read=file.stat().st_size)
