"""Real sessions, rendered at every fifth entry: the API takes each, and every repair is of a known kind."""

from __future__ import annotations

from collections import Counter

import pytest

from eventstore import open_store
from eventstore.files.importing import import_file
from projections.context.build import build_context
from projections.requests import validator_named
from projections.requests.anthropic.renderer import RepairRule, render
from tests.support.events import NOW, events

validate = validator_named("anthropic")

AT_THE_LEAF = {
    "pi-mono-before-compaction.v1": {
        RepairRule.EMPTY_MESSAGE: 5,
        RepairRule.MISSING_RESULT: 2,
        RepairRule.UNSIGNED_THINKING: 1,
    },
    "pi-mono-before-compaction.v3": {
        RepairRule.EMPTY_MESSAGE: 5,
        RepairRule.MISSING_RESULT: 2,
        RepairRule.UNSIGNED_THINKING: 1,
    },
    "pi-mono-large-session.v1": {RepairRule.EMPTY_MESSAGE: 14, RepairRule.MISSING_RESULT: 18},
}
"""Aborted messages without content, aborted and failed calls, aborted thinking: how often in the whole context."""


@pytest.fixture(params=AT_THE_LEAF)
def name(request) -> str:
    return request.param


@pytest.fixture
def opened(name, corpus, tmp_path):
    with open_store(tmp_path / "store", clock=lambda: NOW) as log:
        yield log, import_file(log, corpus / "pi" / f"{name}.jsonl").id


def test_the_api_takes_every_context_in_which_something_was_said(opened):
    log, session = opened
    entries = [event for event in events(log, session) if event.is_entry]
    spoken = entries.index(next(event for event in entries if event.kind == "message"))
    with log.snapshot() as snapshot:
        for event in entries[spoken::5]:
            context = build_context(snapshot, session, leaf=event.id)
            model = None if context.settings.model else "claude"
            assert validate(render(context, model=model, cache_breakpoints=4).body) == []


def test_the_repairs_at_the_leaf_are_those_that_were_counted(opened, name):
    log, session = opened
    repairs = render(build_context(log, session)).repairs
    assert Counter(repair.rule for repair in repairs) == AT_THE_LEAF[name]
