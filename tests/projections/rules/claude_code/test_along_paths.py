"""Build the contexts along a session of Claude Code."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from eventstore import open_store
from eventstore.log import EventLog, Snapshot
from eventstore.memory import MemoryLog
from projections.audit.checks import check_session
from projections.audit.session import audit
from projections.context.build import context_at
from projections.context.cursor import path as context_path
from projections.context.cursor import resolve_cursor
from projections.context.incremental import IncrementalContexts, path_of_contexts
from projections.timeline import timeline
from tests.support.claude_code import (
    SESSION,
    bring,
    note,
    some_session,
)
from tests.support.claude_code_contexts import turns
from tests.support.growth import NO_SQUARE, times_as_long
from tests.support.recording_snapshot import RecordingSnapshot


@pytest.mark.slow
@pytest.mark.parametrize("compact_every", [0, 10])
@pytest.mark.parametrize("look", [check_session, audit, timeline])
def test_the_work_of_looking_at_a_session_grows_with_its_length(
    tmp_path: Path, compact_every: int, look: Callable[[Snapshot, str], object]
) -> None:
    """Four times as many turns take about four times as many reads of events, not sixteen."""

    def events_read(number: int) -> int:
        log = MemoryLog()
        bring(log, tmp_path / "s.jsonl", *turns(number, compact_every=compact_every))
        with log.snapshot() as snapshot:
            recording = RecordingSnapshot(snapshot)
            look(cast("Snapshot", recording), SESSION)
        return recording.read

    assert events_read(160) < 5 * events_read(40)


@pytest.mark.slow
@pytest.mark.parametrize("look", [check_session, audit])
def test_a_session_that_is_resumed_often_takes_as_long_as_it_is_long(
    tmp_path: Path, look: Callable[[EventLog, str], object]
) -> None:
    with open_store(tmp_path / "short") as short, open_store(tmp_path / "long") as long:
        for log, number in ((short, 30), (long, 240)):
            bring(log, tmp_path / "s.jsonl", *turns(number, resume_every=2))
        assert times_as_long(lambda log: look(log, SESSION), short, long) < NO_SQUARE


@pytest.mark.parametrize("seed", range(8))
def test_contexts_along_a_path_with_resumes_are_those_at_its_entries(
    log: MemoryLog, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    lines = turns(8, resume_every=rng.choice([1, 3]))
    for _ in range(3):
        replaced = {"toolUseId": f"{rng.choice('xy')}{rng.randrange(8)}", "replacement": "less"}
        lines.insert(rng.randrange(1, len(lines)), note("content-replacement", replacements=[replaced]))
    bring(log, tmp_path / "s.jsonl", *lines)
    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, SESSION)
        entries = context_path(snapshot, cursor)
        along = IncrementalContexts(snapshot, cursor, entries)
        for entry in entries:
            assert along.context_at(entry.seq) == context_at(snapshot, cursor.at_leaf(entry.seq))


@pytest.mark.parametrize("seed", [*range(10), 7781])
def test_contexts_along_the_paths_of_odd_sessions_are_those_at_their_entries(
    log: MemoryLog, tmp_path: Path, seed: int
) -> None:
    """In the last one, a record that clears results goes on from a kept message, and a result follows it."""
    bring(log, tmp_path / "s.jsonl", *some_session(random.Random(seed), most=60))
    with log.snapshot() as snapshot:
        for head in snapshot.heads():
            cursor = resolve_cursor(snapshot, head.name)
            entries = context_path(snapshot, cursor) if cursor.leaf else []
            along = IncrementalContexts(snapshot, cursor, entries)
            for entry in entries:
                found = along.context_at(entry.seq).parts
                assert found == context_at(snapshot, cursor.at_leaf(entry.seq)).parts


@pytest.mark.slow
def test_contexts_from_any_entry_on_are_those_at_its_entries(log: MemoryLog, tmp_path: Path) -> None:
    bring(log, tmp_path / "s.jsonl", *turns(8, compact_every=3))
    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, SESSION)
        for first in range(1, cursor.leaf + 1):
            entries = path_of_contexts(snapshot, cursor, first)
            along = IncrementalContexts(snapshot, cursor, entries, first=first)
            for entry in entries:
                if entry.seq >= first:
                    found = along.context_at(entry.seq).parts
                    assert found == context_at(snapshot, cursor.at_leaf(entry.seq)).parts


def test_few_messages_of_a_growing_context_can_still_change(log: MemoryLog, tmp_path: Path) -> None:
    bring(log, tmp_path / "s.jsonl", *turns(50))
    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, SESSION)
        entries = context_path(snapshot, cursor)
        along = IncrementalContexts(snapshot, cursor, entries)
        arranged = [along.advance(entry.seq) for entry in entries]
    assert max(len(each.others) for each in arranged) == 4
    assert all(each.settled is arranged[0].settled for each in arranged)
