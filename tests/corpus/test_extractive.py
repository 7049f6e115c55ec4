"""Extractive summaries of real sessions, beside truncated conversations of the same length and what was recorded."""

from __future__ import annotations

import pytest

from bench.boundaries import FILES, KINDS, boundaries, named, things, used_later
from compaction.summarizers.extractive import MAX_TOKENS, ExtractiveSummarizer
from eventstore import open_store
from eventstore.files.importing import import_file
from projections.tokens import counter

TURN = "**Turn Context (split turn):**"
"""Between the two summaries of a turn that is parted."""


@pytest.fixture(scope="module", params=FILES)
def compared(request, corpus, tmp_path_factory):
    """Each boundary of a session with what was used later, by its summary, truncation, and the recorded summary."""
    with open_store(tmp_path_factory.mktemp("extractive") / "store") as log:
        session = import_file(log, corpus / "pi" / request.param).id
        with log.snapshot() as snapshot:
            return [
                (
                    each,
                    used_later(snapshot, each, *filter(None, (each.summary, each.truncated, each.recorded))),
                )
                for each in boundaries(snapshot, session, ExtractiveSummarizer())
            ]


@pytest.fixture(scope="module")
def counted(compared):
    """By kind: what each boundary's summary names, what its truncated conversation does, and what there is to name."""
    found = {}
    for boundary, _ in compared:
        values, paths = things(boundary)
        ours, theirs = (named(text, values, paths) for text in (boundary.summary, boundary.truncated))
        found[boundary.name] = {kind: (ours[kind], theirs[kind], len(values[kind])) for kind in KINDS}
    return found


def test_there_are_boundaries_of_every_policy(compared):
    assert len({boundary.name for boundary, _ in compared}) >= 16


@pytest.mark.parametrize("kind", KINDS)
def test_a_summary_names_no_less_than_a_truncated_conversation_of_the_same_length(counted, kind):
    figures = {name: of_kinds[kind] for name, of_kinds in counted.items()}
    poorer = {name: each for name, each in figures.items() if each[0] < min(each[1:])}
    assert poorer == {}


def test_a_summary_names_more_of_what_was_used_later(compared):
    used = {boundary.name: shares for boundary, shares in compared if shares[0] is not None}
    assert used
    assert {name: shares for name, shares in used.items() if shares[0] <= shares[1]} == {}


def test_so_it_does_than_the_summary_that_was_recorded(compared):
    used = {boundary.name: shares for boundary, shares in compared if boundary.recorded}
    if not used:
        pytest.skip("no compaction was recorded in this session")
    assert {name: shares for name, shares in used.items() if shares[0] <= shares[2]} == {}


def test_a_summary_has_at_most_its_tokens(compared):
    tokens = counter("o200k").of_text
    for boundary, _ in compared:
        assert max(map(tokens, boundary.summary.split(TURN))) <= MAX_TOKENS
