"""Compare searching by the index to scanning the log, and making the index to reading what it indexes."""

from __future__ import annotations

from itertools import count

import pytest

from eventstore import open_store
from eventstore.harnesses import node_of
from eventstore.paths import LazyEvent, events
from projections.search import search
from projections.search.full_text import open_index
from projections.search.words import Query, text_of_node

WORD = Query('"agent session" fold')


@pytest.fixture(scope="module")
def stored(made):
    return made(10_000, 60)


@pytest.fixture
def log(stored):
    with open_store(stored.store) as log:
        yield log


def read_texts(log):
    with log.snapshot() as snapshot:
        return [text_of_node(node_of(LazyEvent(item.frame, item.session))) for item in snapshot.feed()]


def test_an_index_is_made(measure, log, tmp_path):
    numbers = count()

    def index():
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        with open_index(log, folder):
            pass

    measure("search-index", "refold", index, rounds=3)


def test_texts_are_read(measure, log):
    measure("search-index", "floor", read_texts, log, rounds=5)


def test_words_are_found_by_the_index(measure, log, tmp_path):
    with open_index(log, tmp_path) as index:
        found = measure("search", "index", lambda: list(index.find(WORD.expression)), rounds=50)
    assert sorted(seq for _, seq in found) == sorted(scan(log))


def test_twenty_hits_are_shown(measure, log, tmp_path):
    search(log, tmp_path, WORD, limit=20)
    hits = measure("search", "refold", lambda: search(log, tmp_path, WORD, limit=20), rounds=20)
    assert len(hits) == 20


def test_the_log_is_scanned(measure, log):
    measure("search", "scan", scan, log, rounds=3)


def scan(log):
    """Return the numbers of the events that match, without an index."""
    with log.snapshot() as snapshot:
        (head,) = snapshot.heads()
        return [each.seq for each in events(snapshot, head.name) if WORD.matches(text_of_node(node_of(each)))]
