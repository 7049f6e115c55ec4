"""Compare rebuilding a real session of a thousand records to folding its file."""

from __future__ import annotations

import json

import pytest

from bench import floor
from bench.folding import fold_with_json, fold_with_msgspec
from eventstore import open_store
from projections.context.build import context_json

GROUP = "real-session"


@pytest.fixture(scope="module")
def stored(corpus, imported):
    stored = imported(corpus / "pi" / "pi-mono-before-compaction.v1.jsonl")
    rebuilt = open_and_rebuild(stored.store, stored.session)
    # The standard library formats some numbers differently. A difference of megabytes takes pytest minutes to show.
    is_same = (
        rebuilt == fold_with_msgspec(stored.file),
        json.loads(rebuilt) == json.loads(fold_with_json(stored.file)),
    )
    assert is_same == (True, True)
    return stored


def open_and_rebuild(path, session):
    with open_store(path) as log:
        return context_json(log, session)


def test_refold_opens_and_rebuilds(measure, stored):
    measure(GROUP, "refold", open_and_rebuild, stored.store, stored.session)


def test_a_cursor_joins_the_same_frames(measure, stored):
    measure(GROUP, "floor", floor.opened, stored.store, floor.join, stored.span)


def test_a_typed_reader_folds_the_file(measure, stored):
    measure(GROUP, "typed fold", fold_with_msgspec, stored.file)


def test_a_plain_reader_folds_the_file(measure, stored):
    measure(GROUP, "json fold", fold_with_json, stored.file)
