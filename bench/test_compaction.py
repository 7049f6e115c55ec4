"""Compare cutting and summarizing without a model to the session's import.

Also measure, for every message of a session at once, which no context has room for: a summary and its prompt,
whose digest is recorded with each summary.
"""

from __future__ import annotations

import itertools

import pytest

from bench.sessions import session_file
from compaction.part import Limits
from compaction.plan import Plan, plan_compaction
from compaction.policy.load import load_preset
from compaction.prompts import serialized_prompt
from compaction.summarizers.chain import never
from compaction.summarizers.extractive import MAX_TOKENS, ExtractiveSummarizer
from compaction.templates import load_built_in
from eventstore import open_store
from eventstore.files.importing import import_file
from projections.context.build import parts_from
from projections.context.cursor import resolve_cursor
from projections.rules.base import Selection
from projections.tokens import counter

SESSIONS = {"60-10k": (10_000, 60), "1000-10k": (10_000, 1_000), "1000-100k": (100_000, 1_000)}
"""Numbers of messages in the context by numbers of events, by name."""
LENGTHS = {"1k": 1_000, "10k": 10_000}
ROUNDS = {"1k": 10, "10k": 5}


@pytest.fixture(params=SESSIONS, scope="module")
def shape(request):
    return request.param


@pytest.fixture(params=LENGTHS, scope="module")
def length(request):
    return request.param


@pytest.fixture(scope="module")
def all_parts(length, made):
    """Return every message of a session, as if it had never been compacted."""
    stored = made(LENGTHS[length], 60)
    with open_store(stored.store) as log, log.snapshot() as snapshot:
        return parts_from(snapshot, resolve_cursor(snapshot, stored.session), Selection())


def summarized(parts, previous=""):
    prompt = serialized_prompt(
        load_built_in("compaction"), parts, system="", max_tokens=MAX_TOKENS, previous=previous
    )
    return ExtractiveSummarizer().summarize(prompt, is_cancelled=never).text


def compacted(stored):
    """Cut the context at the leaf, and summarize what comes before the cut."""
    policy = load_preset("layered")
    tokens = counter("utf16/4")
    with open_store(stored.store, create=False) as log, log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, stored.session)
        plan = plan_compaction(snapshot, cursor, policy, limits=Limits(window=200_000), tokens=tokens)
    assert isinstance(plan, Plan)
    return summarized(plan.to_summarize, plan.previous_summary)


def import_into(path, file):
    with open_store(path) as log:
        import_file(log, file)


def whole(stored):
    """Summarize every message of a session, as if it had never been compacted."""
    with open_store(stored.store, create=False) as log, log.snapshot() as snapshot:
        return summarized(parts_from(snapshot, resolve_cursor(snapshot, stored.session), Selection()))


def prompted(parts):
    return serialized_prompt(load_built_in("compaction"), parts, system="", max_tokens=MAX_TOKENS).text


def imports(measure, group, file, folder, rounds):
    """Import a file, each time into a new store."""
    fresh = (folder / str(number) for number in itertools.count())
    measure(group, "import", import_into, rounds=rounds, setup=lambda: ((next(fresh), file), {}))


def test_refold_cuts_and_summarizes(measure, shape, made):
    text = measure(f"compaction-{shape}", "refold", compacted, made(*SESSIONS[shape]), rounds=5)
    assert text.count("\n") > 20


def test_the_same_session_is_imported(measure, shape, tmp_path):
    imports(measure, f"compaction-{shape}", session_file(*SESSIONS[shape]), tmp_path, rounds=3)


def test_refold_summarizes_a_whole_session(measure, length, made):
    stored = made(LENGTHS[length], 60)
    text = measure(f"extractive-{length}", "refold", whole, stored, rounds=ROUNDS[length])
    assert len(text) > 2 * MAX_TOKENS


def test_the_whole_session_is_imported(measure, length, tmp_path):
    file = session_file(LENGTHS[length], 60)
    imports(measure, f"extractive-{length}", file, tmp_path, rounds=ROUNDS[length])


def test_the_prompt_of_the_summary_is_made(measure, length, all_parts):
    measure(f"extractive-{length}", "prompt", prompted, all_parts, rounds=ROUNDS[length])
