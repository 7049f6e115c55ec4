"""The context at a leaf, as JSON: from an open and from a closed store, over lengths of history."""

from __future__ import annotations

import pytest

from bench import floor
from bench.folding import fold_with_json, fold_with_msgspec
from eventstore import open_store
from projections.context import context_json

LENGTHS = {"1k": 1_000, "10k": 10_000, "100k": 100_000}
SHAPES = [(length, messages) for messages in (60, 1000) for length in LENGTHS]


@pytest.fixture(params=SHAPES, ids=lambda shape: f"{shape[0]}-{shape[1]}", scope="module")
def shape(request):
    return request.param


@pytest.fixture(scope="module")
def stored(shape, made):
    length, messages = shape
    # A context of 1,000 messages takes a few more than 1,000 events: a compaction and changes of settings.
    stored = made(max(LENGTHS[length], messages + 24), messages)
    with open_store(stored.store) as log:
        rebuilt = context_json(log, stored.session)
    assert rebuilt == fold_with_msgspec(stored.file)
    return stored


@pytest.fixture
def group(benchmark, shape, request):
    length, messages = shape
    state = "closed" if "closed" in request.node.originalname else "open"
    benchmark.group = f"rebuild-{length}-{messages}-{state}"
    return benchmark.group


@pytest.mark.usefixtures("group")
class TestRebuild:
    def test_refold_open(self, benchmark, stored):
        with open_store(stored.store) as log:
            benchmark(context_json, log, stored.session)

    def test_floor_open(self, benchmark, stored):
        with open_store(stored.store) as log:
            benchmark(floor.join, *floor.environment_of(log), stored.span)
