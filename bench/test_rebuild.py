"""Rebuild the context at a leaf from open and closed stores, with three lengths of history."""

from __future__ import annotations

from functools import partial

import pytest

from bench import floor
from bench.folding import fold_with_json, fold_with_msgspec
from eventstore import open_store
from projections.context.build import build_context, context_json

LENGTHS = {"1k": 1_000, "10k": 10_000, "100k": 100_000}
SHAPES = [(length, messages) for messages in (60, 1000) for length in LENGTHS]
ROUNDS_OF_A_FOLD = {"1k": 20, "10k": 5, "100k": 2}


@pytest.fixture(params=SHAPES, ids=lambda shape: f"{shape[0]}-{shape[1]}", scope="module")
def shape(request):
    return request.param


@pytest.fixture(scope="module")
def stored(shape, made):
    length, messages = shape
    # 1,000 messages take a few more events: a compaction, and changes of model and thinking level.
    stored = made(max(LENGTHS[length], messages + 24), messages)
    with open_store(stored.store) as log:
        assert context_json(log, stored.session) == fold_with_msgspec(stored.file)
        summary, *parts = build_context(log, stored.session).parts
        joined, at = floor.join(*floor.events_of(log), stored.span), 0
    assert summary.role == "compactionSummary"
    assert len(parts) == messages - 1
    for part in parts:
        at = joined.index(part.raw, at) + len(part.raw)
    return stored


@pytest.fixture(params=["open", "closed"])
def group(request, shape):
    return f"rebuild-{shape[0]}-{shape[1]}-{request.param}"


@pytest.fixture
def is_open(group):
    return group.endswith("open")


def open_and_rebuild(path, session):
    with open_store(path) as log:
        return context_json(log, session)


def test_refold_rebuilds(measure, group, stored, is_open):
    if not is_open:
        measure(group, "refold", open_and_rebuild, stored.store, stored.session)
        return
    with open_store(stored.store) as log:
        measure(group, "refold", context_json, log, stored.session)


@pytest.mark.parametrize(("role", "verify"), [("refold", True), ("unchecked", False)])
def test_a_context_that_is_sent_is_checked(measure, stored, shape, *, role, verify):
    with open_store(stored.store) as log:
        build = partial(build_context, verify=verify)
        measure(f"checked-{shape[1]}-{shape[0]}", role, build, log, stored.session)


@pytest.mark.parametrize(("role", "join"), [("floor", floor.join), ("values", floor.join_whole)])
def test_a_cursor_joins_the_same_events(measure, group, stored, is_open, *, role, join):
    if not is_open:
        measure(group, role, floor.opened, stored.store, join, stored.span)
        return
    with open_store(stored.store) as log:
        measure(group, role, join, *floor.events_of(log), stored.span)


def test_a_typed_reader_folds_the_whole_file(measure, group, stored, shape):
    measure(group, "typed fold", fold_with_msgspec, stored.file, rounds=ROUNDS_OF_A_FOLD[shape[0]])


def test_a_plain_reader_folds_the_whole_file(measure, group, stored, shape, request):
    if shape[0] == "100k" and request.config.getoption("benchmark_disable"):
        pytest.skip("seconds a call, and nothing is timed")
    measure(group, "json fold", fold_with_json, stored.file, rounds=ROUNDS_OF_A_FOLD[shape[0]])
