"""Every policy on every real session of pi's, in its course and at its end: smaller, valid, taken back to the byte."""

from __future__ import annotations

import pytest

from compaction.branching.move import move_to
from compaction.branching.undo import undo
from compaction.compactor import Compactor
from compaction.part import Limits
from compaction.policy.load import load_preset, preset_names
from compaction.rewriting import record_rewrites
from compaction.summarizers.chain import SummarizerChain
from compaction.summarizers.extractive import ExtractiveSummarizer
from eventstore.files.importing import import_file
from eventstore.writing import SessionWriter
from projections.context.build import build_context, context_json
from projections.context.cursor import path, resolve_cursor
from projections.requests.anthropic import render
from projections.tokens import counter
from tests.support.validator import validate

FILES = ("pi-mono-before-compaction.v1", "pi-mono-before-compaction.v3", "pi-mono-large-session.v1")
SHARES = (0.5, 1.0)
"""The share of a session's entries that comes before its leaf."""


def size(store, session):
    return sum(part.utf16 for part in build_context(store, session).parts)


def stands_at(store, session, share):
    """Go back in a session to where so much of it had happened."""
    with store.snapshot() as snapshot:
        entries = path(snapshot, resolve_cursor(snapshot, session))
    writer = SessionWriter(store, session)
    if share < 1:
        move_to(writer, entries[int(share * len(entries))].id)
    return writer


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("name", preset_names())
def test_a_policy_makes_a_real_context_smaller_and_valid_and_is_undone_to_the_byte(
    store, corpus, name, file, share
):
    session = import_file(store, corpus / f"pi/{file}.jsonl").id
    writer = stands_at(store, session, share)
    before, bytes_before = size(store, session), context_json(store, session)
    policy, tokens = load_preset(name), counter("utf16/4")
    made = [record_rewrites(writer, policy.rewrites, tokens=tokens, is_compacting=True).events]
    chain = SummarizerChain(summarizers=[ExtractiveSummarizer()])
    compactor = Compactor(policy=policy, chain=chain, limits=Limits(window=200_000), tokens=tokens)
    made.append(compactor.compact(writer).events)
    assert size(store, session) < before
    assert validate(render(build_context(store, session), model="claude-x").body) == []
    for events in filter(None, reversed(made)):
        undo(writer, events[0])
    assert context_json(store, session) == bytes_before
