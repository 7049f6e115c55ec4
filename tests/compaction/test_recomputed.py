"""Compare the token counts in records to the contexts themselves, after any history."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from compaction.composing import record_compaction
from compaction.rewriting import record_rewrite
from eventstore.errors import BadInputError
from eventstore.memory import MemoryLog
from eventstore.records import TextReplacement, record_of
from eventstore.writing import SessionWriter
from projections.context.build import build_context
from projections.context.cursor import path, resolve_cursor
from tests.support.events import NOW, stored
from tests.support.native import native_events


def writer_after(appended):
    log = MemoryLog(clock=lambda: NOW)
    log.append("s", appended)
    return SessionWriter(log, "s", clock=lambda: NOW, new_id=lambda: "new")


def size(log):
    return sum(part.utf16 for part in build_context(log, "s").parts)


@given(appended=native_events(), data=st.data())
def test_a_compaction_records_the_sizes_of_the_contexts_before_and_after(appended, data):
    writer = writer_after(appended)
    log = writer.log
    with log.snapshot() as snapshot:
        entries = [entry.id for entry in path(snapshot, resolve_cursor(snapshot, "s"))]
    if not entries:
        return
    before = size(log)
    new = record_compaction(writer, summary="in short", first_kept=data.draw(st.sampled_from(entries)))
    record = record_of("compaction", stored(log, "s", new).body)
    assert (record.tokens_before, record.tokens_after) == (before, size(log))


@given(appended=native_events(), data=st.data())
def test_a_rewrite_records_what_the_context_shrinks_by(appended, data):
    writer = writer_after(appended)
    log = writer.log
    parts = build_context(log, "s").parts
    if not parts:
        return
    shown = st.builds(
        TextReplacement,
        target=st.sampled_from([part.id for part in parts]),
        text=st.sampled_from(["", "shown instead"]),
        block=st.none() | st.integers(0, 2),
    )
    before = size(log)
    targets = data.draw(st.lists(shown, min_size=1, max_size=3))
    try:
        new = record_rewrite(writer, targets=targets, reason="prune")
    except BadInputError:
        assert size(log) == before
        return
    assert record_of("rewrite", stored(log, "s", new).body).tokens_saved == before - size(log)
