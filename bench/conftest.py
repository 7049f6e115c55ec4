"""Provide stores of generated and real sessions, and one way to measure."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from bench.floor import Span, span_of_context
from bench.sessions import session_file
from eventstore import open_store
from eventstore.files.importing import import_file

CORPUS = Path(os.environ.get("REFOLD_CORPUS", Path(__file__).parents[2] / "shared" / "corpus"))
"""The folder of real sessions, if it is there."""
REFOLD = ("-c", "from cli.start import main; main()")
"""Arguments of Python that run the command as its installed script does."""


class Stored(NamedTuple):
    """A session file, its store, its session, and the context's place in the store."""

    file: Path
    store: Path
    session: str
    span: Span


@pytest.fixture
def measure(benchmark):
    """Time a call as one role in a group: `refold`, or a contender."""

    def timed(group, role, function, *arguments, rounds=None, setup=None, **facts):
        benchmark.group = group
        benchmark.extra_info.update(facts, role=role)
        if rounds is None:
            return benchmark(function, *arguments)
        if setup is not None:
            return benchmark.pedantic(function, setup=setup, rounds=rounds)
        return benchmark.pedantic(function, arguments, rounds=rounds)

    return timed


@pytest.fixture(scope="session")
def folder() -> Iterator[Path]:
    """Return a folder for stores, removed after the run."""
    with tempfile.TemporaryDirectory(prefix="refold-bench-") as path:
        yield Path(path)


@pytest.fixture(scope="session")
def imported(folder):
    """Return a function from a session file to its store."""

    @cache
    def make(file: Path) -> Stored:
        store = folder / file.stem
        with open_store(store) as log:
            session = import_file(log, file).id
            return Stored(file, store, session, span_of_context(log, session))

    return make


@pytest.fixture(scope="session")
def made(imported):
    """Return a function from numbers of events and messages to a generated session's store."""
    return lambda events, messages: imported(session_file(events, messages))


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Return the folder of real sessions."""
    if not CORPUS.is_dir():
        pytest.skip("no corpus of real sessions here: name one with REFOLD_CORPUS")
    return CORPUS
