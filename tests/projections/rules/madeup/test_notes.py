"""Notes: a usage that comes later is of the message that it names."""

from __future__ import annotations

from pathlib import Path

import pytest

from compaction.window import build_window
from eventstore.memory import MemoryLog
from projections.audit.cost import cost
from projections.audit.prices import FilePrices
from projections.context.build import build_context
from projections.context.cursor import path, resolve_cursor
from projections.replacement import replacement_of
from projections.timeline import timeline
from projections.tokens import counter
from projections.usage import answers, context_size
from tests.support.calls import model_calls
from tests.support.madeup.sessions import bring, record, say, texts


class TestNotes:
    @pytest.fixture
    def counted(self, log: MemoryLog, tmp_path: Path) -> MemoryLog:
        bring(
            log,
            tmp_path,
            say("a", None),
            say("b", "a", "model"),
            record("count", "n", "b", about="b", tokens=50),
        )
        return log

    def test_a_note_is_never_the_leaf(self, counted: MemoryLog) -> None:
        context = build_context(counted, "one")
        assert (context.leaf, texts(context)) == ("b", ["text of a", "text of b"])

    def test_a_usage_that_comes_later_is_of_the_message_that_it_names(
        self, log: MemoryLog, tmp_path: Path
    ) -> None:
        bring(
            log,
            tmp_path,
            say("a", None),
            say("b", "a", "model"),
            say("c", "b", "model", tokens=80),
            record("count", "n", "c", about="b", tokens=50),
        )
        with log.snapshot() as snapshot:
            cursor = resolve_cursor(snapshot, "one")
            found = [(each.id, message.usage) for each, message, *_ in answers(snapshot, cursor)]
            size = context_size(snapshot, cursor.at_leaf(2), counter("utf16/4"))
            items = build_window(snapshot, cursor.at_leaf(2), counter("utf16/4"))
        assert [(name, usage.total) for name, usage in found if usage] == [("b", 50), ("c", 80)]
        assert (size.measured, size.measured_at, items.measured) == (50, "b", 50)
        assert [moment.measured for moment in timeline(log, "one").moments] == [None, 50, 80]

    def test_as_of_an_event_before_the_note_nothing_is_known(self, counted: MemoryLog) -> None:
        with counted.snapshot() as snapshot:
            cursor = resolve_cursor(snapshot, "one", as_of=2)
            assert [message.usage for _, message, *_ in answers(snapshot, cursor)] == [None]
            assert context_size(snapshot, cursor, counter("utf16/4")).measured is None


def test_later_calls_are_messages_with_a_usage_of_their_own_or_one_that_came_later(
    log: MemoryLog, tmp_path: Path
) -> None:
    bring(
        log,
        tmp_path,
        say("a", None),
        record("summary", "s", "a", text="all of it"),
        say("b", "s", "model", tokens=40, group="g"),
        say("c", "b", "model", tokens=70, group="g"),
        say("d", "c"),
        say("e", "d", "model"),
        say("f", "e", "model"),
        record("count", "n", "f", about="f", tokens=50),
    )
    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, "one")
        first, compaction, *later = path(snapshot, cursor)
        tokens = counter("bytes/4")
        replacement = replacement_of(compaction, snapshot, cursor, earlier=[first], later=later)
        calls = model_calls(snapshot, cursor, tokens)
        assert cost(replacement, tokens, FilePrices(name="", date="", models={}), calls).calls == 2
