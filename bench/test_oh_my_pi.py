"""Compare importing and rebuilding a session of oh-my-pi to parsing and folding its file."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import msgspec
import pytest

from bench.sessions import lines
from bench.test_corpus import open_and_rebuild
from bench.test_import import import_into, parse, parse_by_json
from eventstore import open_store
from projections.rules import rules_named
from tests.support.oh_my_pi_sessions import slot

EVENTS = 10_000
MESSAGES = 1000
ROUNDS = 5


@pytest.fixture(scope="module")
def file(folder) -> Path:
    """Return a generated session as oh-my-pi writes it, with a title line."""
    header, *entries = map(msgspec.json.decode, lines(EVENTS, MESSAGES))
    for entry in entries:
        if entry["type"] == "model_change":
            entry["model"] = f"{entry.pop('provider')}/{entry.pop('modelId')}"
            entry["role"] = "default"
    records = [header | {"title": "A title"}, *entries]
    path = folder / "oh-my-pi.jsonl"
    path.write_bytes(slot("A title") + b"".join(msgspec.json.encode(record) + b"\n" for record in records))
    return path


@pytest.fixture(scope="module")
def store(file, folder):
    store = folder / "oh-my-pi"
    import_into(store, file)
    return store


@pytest.fixture(scope="module")
def session(store):
    with open_store(store) as log, log.snapshot() as snapshot:
        [head] = snapshot.heads()
        return head.name


def fold(file):
    return rules_named("oh-my-pi").plain_fold(file.read_bytes())


def test_refold_opens_and_rebuilds(measure, store, session, file):
    rebuilt = measure("oh-my-pi", "refold", open_and_rebuild, store, session)
    assert json.loads(rebuilt)["messages"] == json.loads(fold(file))["messages"]


def test_a_plain_reader_folds_the_file(measure, file):
    measure("oh-my-pi", "json fold", fold, file, rounds=ROUNDS)


def test_refold_imports(measure, file, tmp_path):
    fresh = (tmp_path / str(number) for number in itertools.count())
    measure(
        "oh-my-pi-import",
        "refold",
        import_into,
        rounds=ROUNDS,
        setup=lambda: ((next(fresh), file), {}),
        bytes_read=file.stat().st_size,
    )


def test_a_reader_parses_every_line(measure, file):
    measure("oh-my-pi-import", "parse", parse, file, rounds=ROUNDS, bytes_read=file.stat().st_size)


def test_json_parses_every_line(measure, file):
    measure("oh-my-pi-import", "json", parse_by_json, file, rounds=ROUNDS, bytes_read=file.stat().st_size)
