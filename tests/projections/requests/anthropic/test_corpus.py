"""Render real sessions: the API takes every context, and every repair is of a known kind."""

from __future__ import annotations

from collections import Counter

import pytest

from eventstore.files.importing import import_file, import_sessions
from eventstore.memory import MemoryLog
from eventstore.views import ToolCall
from projections.context.build import build_context
from projections.context.parts import view_of_part
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


@pytest.mark.slow
def test_results_that_codex_recorded_are_sent(corpus):
    log = MemoryLog(clock=lambda: NOW)
    paths = sorted((corpus / "codex").glob("*.jsonl"))
    for session in {each.id for path in paths for each in import_sessions(log, path)}:
        entries = [event.id for event in events(log, session) if event.is_entry]
        for leaf in [*entries[::50], entries[-1]]:
            context = build_context(log, session, leaf=leaf)
            views = {part.id: view_of_part(part) for part in context.parts}
            results = {view.tool_call_id for view in views.values() if view.role == "toolResult"}
            repairs = render(context, model="m").repairs
            assert RepairRule.ORPHAN_RESULT not in {repair.rule for repair in repairs}
            for repair in repairs:
                if repair.rule == RepairRule.MISSING_RESULT:
                    calls = {b.id for b in views[repair.event].blocks if isinstance(b, ToolCall)}
                    assert not calls & results


@pytest.mark.parametrize("name", AT_THE_LEAF)
def test_the_repairs_at_the_leaf_are_those_that_were_counted(name, corpus):
    log = MemoryLog(clock=lambda: NOW)
    session = import_file(log, corpus / "pi" / f"{name}.jsonl").id
    repairs = render(build_context(log, session)).repairs
    assert Counter(repair.rule for repair in repairs) == AT_THE_LEAF[name]
