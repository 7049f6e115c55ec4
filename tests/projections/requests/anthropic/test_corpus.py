"""Render real sessions: the API takes every context, and every repair is of a known kind."""

from __future__ import annotations

from collections import Counter

import pytest

from eventstore.files.importing import import_file, import_sessions
from eventstore.memory import MemoryLog
from projections.context.build import build_context
from projections.requests.anthropic import render
from projections.requests.repairs import RepairRule
from tests.support.events import NOW, events
from tests.support.validator import validate

AT_THE_LEAF = {
    "pi-mono-before-compaction.v1": {RepairRule.MISSING_RESULT: 1},
    "pi-mono-before-compaction.v3": {RepairRule.MISSING_RESULT: 1},
    "pi-mono-large-session.v1": {},
}
"""Counts in whole contexts; pi sends no aborted and failed answers."""


@pytest.mark.parametrize("folder", [pytest.param("claude-code", marks=pytest.mark.long), "pi"])
def test_the_api_takes_every_context(folder, corpus):
    log = MemoryLog(clock=lambda: NOW)
    paths = sorted((corpus / folder).rglob("*.jsonl"))
    for session in {each.id for path in paths for each in import_sessions(log, path)}:
        with log.snapshot() as snapshot:
            entries = [event.id for event in events(log, session) if event.is_entry]
            for leaf in [*entries[::20], *entries[-1:]]:
                rendered = render(build_context(snapshot, session, leaf=leaf), model="m", cache_breakpoints=4)
                broken = [each.rule for each in validate(rendered.body)]
                assert broken == [each.rule for each in rendered.violations]
                assert broken in ([], ["messages"])


@pytest.mark.parametrize("name", AT_THE_LEAF)
def test_the_repairs_at_the_leaf_are_those_that_were_counted(name, corpus):
    log = MemoryLog(clock=lambda: NOW)
    session = import_file(log, corpus / "pi" / f"{name}.jsonl").id
    repairs = render(build_context(log, session)).repairs
    assert Counter(repair.rule for repair in repairs) == AT_THE_LEAF[name]
