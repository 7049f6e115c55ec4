"""Fold refold's events one at a time, all at once, and as of any event: equal views."""

from __future__ import annotations

import random
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings

from eventstore import open_store
from eventstore.kinds import is_entry
from eventstore.memory import MemoryLog
from projections.context.build import build_context, context_at, context_json, harness_json
from projections.context.cursor import ROOT, path, resolve_cursor
from projections.context.incremental import IncrementalContexts, IncrementalSizes
from projections.descriptions import title
from projections.files import file_operations
from projections.timeline import timeline
from projections.tokens import counter
from projections.tree import TreeFold, tree
from tests.support import reference_refold
from tests.support.claude_code import bring, some_session
from tests.support.events import NOW, events
from tests.support.examples import examples
from tests.support.native import native_events
from tests.support.views import javascript, views_at

bounded = settings(max_examples=examples(30))


@contextmanager
def log_of(appended):
    """A store of events, in one batch."""
    with TemporaryDirectory() as folder, open_store(folder, clock=lambda: NOW) as log:
        log.append("s", appended)
        yield log


def nodes(appended):
    return [event.id for event in appended if is_entry(event.kind)]


@bounded
@given(appended=native_events())
def test_a_tree_grows_by_an_event_at_a_time(appended):
    log, fold = MemoryLog(clock=lambda: NOW), TreeFold()
    for event in appended:
        log.append("s", [event])
        fold.apply(events(log, "s")[-1])
        assert tree(log, "s") == fold.view()


@bounded
@given(appended=native_events())
def test_a_batch_gives_the_views_of_one_append_after_the_other(appended):
    growing = MemoryLog(clock=lambda: NOW)
    with log_of(appended) as batch:
        for event in appended:
            growing.append("s", [event])
        for leaf in (None, ROOT, *nodes(appended)):
            assert views_at(growing, "s", leaf=leaf) == views_at(batch, "s", leaf=leaf)
        assert title(growing, "s") == title(batch, "s")


@pytest.mark.slow
@bounded
@given(appended=native_events())
def test_a_prefix_of_the_events_gives_the_views_as_of_its_end(appended):
    prefix = MemoryLog(clock=lambda: NOW)
    with log_of(appended) as whole:
        for count, event in enumerate(appended, 1):
            prefix.append("s", [event])
            for leaf in (None, ROOT, *nodes(appended[:count])[:1]):
                assert views_at(prefix, "s", leaf=leaf) == views_at(whole, "s", leaf=leaf, as_of=count)


@bounded
@given(appended=native_events())
def test_rewrites_and_undos_mean_at_every_entry_what_the_whole_path_says(appended):
    with log_of(appended) as log:
        for leaf in nodes(appended):
            expected = reference_refold.context(appended, leaf)
            assert expected == javascript(context_json(log, "s", leaf=leaf))


@bounded
@given(appended=native_events())
def test_files_are_at_every_entry_what_each_event_of_its_path_stands_for(appended):
    with log_of(appended) as log:
        for leaf in nodes(appended):
            read, modified = reference_refold.files(appended, leaf)
            found = file_operations(log, "s", leaf=leaf)
            assert (found.read_files, found.modified_files) == (sorted(read - modified), sorted(modified))


@bounded
@given(appended=native_events())
def test_a_timeline_has_the_size_of_the_context_at_every_entry(appended):
    with log_of(appended) as log:
        for moment in timeline(log, "s").moments:
            parts = build_context(log, "s", leaf=events(log, "s")[moment.seq - 1].id).parts
            assert sum(part.utf16 for part in parts) == moment.tokens


@bounded
@given(appended=native_events())
def test_a_context_is_the_same_as_bytes_and_as_parts(appended):
    with log_of(appended) as log:
        for leaf in (ROOT, *nodes(appended)):
            assert harness_json(build_context(log, "s", leaf=leaf)) == context_json(log, "s", leaf=leaf)


@bounded
@given(appended=native_events())
def test_a_snapshot_is_folded_like_its_log(appended):
    with log_of(appended) as log, log.snapshot() as snapshot:
        assert views_at(log, "s") == views_at(snapshot, "s")


@pytest.mark.parametrize("seed", [*range(25), 773])
def test_contexts_of_records_beside_a_path_are_those_at_each_entry(seed: int, tmp_path: Path) -> None:
    """In session 773 a rewrite names a call whose result comes later, and beside the path."""
    log = MemoryLog()
    bring(log, tmp_path / "session.jsonl", *some_session(random.Random(seed), 30))
    with log.snapshot() as snapshot:
        for head in snapshot.heads():
            cursor = resolve_cursor(snapshot, head.name)
            entries = path(snapshot, cursor)
            contexts = IncrementalContexts(snapshot, cursor, entries)
            sizes = IncrementalSizes(snapshot, cursor, entries, counter("bytes/4"))
            for entry in entries:
                expected = context_at(snapshot, cursor.at_leaf(entry.seq)).parts
                sizes.add(entry)
                assert contexts.context_at(entry.seq).parts == expected
                assert tuple(sizes.parts) == expected
                assert sizes.sizes[-1] == sum(part.utf8 for part in expected)
