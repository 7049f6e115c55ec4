"""Cutting long sessions and summaries by extraction, against importing the same session."""

from __future__ import annotations

import itertools

import pytest

from bench.sessions import session_file
from compaction.cuts import KeepRecent
from compaction.part import Limits
from compaction.plan import plan_compaction
from compaction.policies import preset
from compaction.prompts import serialized_prompt
from compaction.summarizers.extractive import ExtractiveSummarizer
from compaction.templates import built_in
from eventstore import open_store
from eventstore.importing import import_file
from projections.standpoint import stand
from projections.tokens import counter

LENGTHS = {"60": (120, 60), "1k": (2_000, 1_000)}
"""Entries of a session, and messages of its context: the window, which is half of it."""
LIMITS = Limits(window=200_000)
ROUNDS = 3


@pytest.fixture(params=LENGTHS, scope="module")
def length(request):
    return request.param


@pytest.fixture(scope="module")
def long_session(length, made):
    return made(*LENGTHS[length])


def planned(stored):
    with open_store(stored.store) as log, log.snapshot() as snapshot:
        at = stand(snapshot, stored.session)
        cut = KeepRecent(tokens=2_000)
        return plan_compaction(snapshot, at, preset("pi"), limits=LIMITS, tokens=counter("utf16/4"), cut=cut)


def extracted(plan):
    prompt = serialized_prompt(built_in("compaction"), plan.to_summarize, system="", max_tokens=4_000)
    return ExtractiveSummarizer().summarize(prompt, is_cancelled=lambda: False)


def import_into(path, file):
    with open_store(path) as log:
        import_file(log, file)


def test_refold_cuts(measure, length, long_session):
    plan = measure(f"compaction-{length}", "cut", planned, long_session, rounds=ROUNDS)
    assert len(plan.to_summarize) > LENGTHS[length][1] / 3


def test_refold_extracts_a_summary(measure, length, long_session):
    plan = planned(long_session)
    answer = measure(f"compaction-{length}", "extract", extracted, plan, rounds=ROUNDS)
    assert answer.text


def test_the_same_session_is_imported(measure, length, tmp_path):
    file = session_file(*LENGTHS[length])
    fresh = (tmp_path / str(number) for number in itertools.count())
    measure(
        f"compaction-{length}", "import", import_into, rounds=ROUNDS, setup=lambda: ((next(fresh), file), {})
    )
