"""Compare importing and rebuilding sessions of harnesses to parsing their files, and Claude Code's to folding it.

That of oh-my-pi is generated, the others are real ones.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import msgspec
import pytest

from bench.plain_claude_code import plain_context
from bench.sessions import lines
from bench.test_corpus import open_and_rebuild
from bench.test_import import import_into, parse, parse_by_json
from eventstore import open_store
from tests.support.oh_my_pi_sessions import slot

EVENTS = 10_000
MESSAGES = 1000
ROUNDS = 5


REAL = {
    "claude-code": "6113e919-3auto.jsonl",
    "codex": "rollout-019d7d08-parent.jsonl",
    "opencode": "k1-first-300-messages.json",
}


@pytest.fixture(scope="module", params=[*REAL, "oh-my-pi"])
def harness(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def file(request, harness, folder) -> Path:
    if harness in REAL:
        return request.getfixturevalue("corpus") / harness / REAL[harness]
    return generated(folder / "oh-my-pi.jsonl")


def generated(path: Path) -> Path:
    """Write a session as oh-my-pi does, with a title line."""
    header, *entries = map(msgspec.json.decode, lines(EVENTS, MESSAGES))
    for entry in entries:
        if entry["type"] == "model_change":
            entry["model"] = f"{entry.pop('provider')}/{entry.pop('modelId')}"
            entry["role"] = "default"
    records = [header | {"title": "A title"}, *entries]
    path.write_bytes(slot("A title") + b"".join(msgspec.json.encode(record) + b"\n" for record in records))
    return path


@pytest.fixture(scope="module")
def store(harness, file, folder) -> Path:
    store = folder / harness
    import_into(store, file)
    return store


@pytest.fixture(scope="module")
def session(store) -> str:
    with open_store(store) as log, log.snapshot() as snapshot:
        [head] = snapshot.heads()
        return head.name


def fold(harness, file):
    """Fold a file of Claude Code, and only parse one of another harness."""
    return plain_context(file.read_bytes()) if harness == "claude-code" else parse_by_json(file)


def test_refold_opens_and_rebuilds(measure, harness, store, session, file):
    rebuilt = measure(harness, "refold", open_and_rebuild, store, session)
    if harness == "claude-code":
        assert json.loads(rebuilt)["messages"] == json.loads(fold(harness, file))["messages"]


def test_a_plain_reader_folds_the_file(measure, harness, file):
    measure(harness, "json fold", fold, harness, file, rounds=ROUNDS)


def test_refold_imports(measure, harness, file, tmp_path):
    fresh = (tmp_path / str(number) for number in itertools.count())
    measure(
        f"{harness}-import",
        "refold",
        import_into,
        rounds=ROUNDS,
        setup=lambda: ((next(fresh), file), {}),
        bytes_read=file.stat().st_size,
    )


@pytest.mark.parametrize(("role", "read"), [("parse", parse), ("json", parse_by_json)])
def test_a_parser_reads_every_text(measure, harness, file, role, read):
    measure(f"{harness}-import", role, read, file, rounds=ROUNDS, bytes_read=file.stat().st_size)
