"""Compare importing a session file into a new store to parsing its lines."""

from __future__ import annotations

import itertools
import json

import msgspec
import pytest

from bench.sessions import session_file
from eventstore import open_store
from eventstore.files.importing import import_file

GROUP = "import"
ROUNDS = 7


@pytest.fixture
def file():
    return session_file(10_000, 60)


def import_into(path, file):
    with open_store(path) as log:
        import_file(log, file)


def texts(file):
    """Yield the JSON texts of a file: its lines, or all of an export."""
    with file.open("rb") as lines:
        yield from [lines.read()] if file.suffix == ".json" else lines


def parse(file):
    for text in texts(file):
        msgspec.json.decode(text)


def parse_by_json(file):
    for text in texts(file):
        json.loads(text)


def test_refold_imports(measure, file, tmp_path):
    fresh = (tmp_path / str(number) for number in itertools.count())
    size = file.stat().st_size
    measure(
        GROUP, "refold", import_into, rounds=ROUNDS, setup=lambda: ((next(fresh), file), {}), bytes_read=size
    )


def test_a_reader_parses_every_line(measure, file):
    measure(GROUP, "parse", parse, file, rounds=ROUNDS, bytes_read=file.stat().st_size)


def test_json_parses_every_line(measure, file):
    measure(GROUP, "json", parse_by_json, file, rounds=ROUNDS, bytes_read=file.stat().st_size)
