"""Contexts and sizes at each entry of a path, however the rules arrange them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from eventstore.memory import MemoryLog
from projections.audit.calls import shared_prefix_length
from projections.context.build import build_context, context_at
from projections.context.cursor import path, resolve_cursor
from projections.context.incremental import IncrementalContexts, IncrementalSizes
from projections.context.parts import Part
from projections.timeline import timeline
from projections.tokens import counter
from tests.support.calls import model_calls
from tests.support.madeup import rules as madeup_rules
from tests.support.madeup.sessions import BORN, bring, exchange, record, say


class TestSizesAlong:
    """The sizes along a path are those of the contexts there, whatever the rules make of them."""

    def check(self, log: MemoryLog, session: str) -> None:
        tokens = counter("utf16/4")
        with log.snapshot() as snapshot:
            cursor = resolve_cursor(snapshot, session)
            entries = path(snapshot, cursor)
            contexts = [context_at(snapshot, cursor.at_leaf(entry.seq)).parts for entry in entries]
            above = dict(zip((entry.id for entry in entries), [(), *contexts], strict=False))
            calls = model_calls(snapshot, cursor, tokens)
            along = IncrementalSizes(snapshot, cursor, entries, tokens)
            for entry, parts in zip(entries, contexts, strict=True):
                along.add(entry)
                assert tuple(along.parts) == parts
        moments = timeline(log, session, tokens=tokens).moments
        assert [each.tokens for each in moments] == [sum(tokens.count(parts)) for parts in contexts]
        for before, call in pairwise(calls):
            assert call.previous.shared == shared_prefix_length(above[before.id], above[call.id])

    def test_with_records_of_several_messages_and_of_one_group(self, log: MemoryLog, tmp_path: Path) -> None:
        bring(
            log,
            tmp_path,
            exchange("a", None, "person", "tool", "person"),
            say("b", "a", "model", tokens=100),
            say("c", "b", group="g"),
            say("d", "c", group="g"),
            exchange("e", "d", "person", "tool"),
            say("f", "e", "model", tokens=150),
            record("summary", "s", "f", text="much", kept=["a", "e"], before=True),
            say("h", "s", "model", tokens=90),
        )
        self.check(log, "one")

    def test_with_a_beginning_in_another_session(self, log: MemoryLog, tmp_path: Path) -> None:
        bring(
            log,
            tmp_path,
            *BORN,
            say("q", "y", "model", session="two", tokens=100),
            say("r", "q", session="two"),
            say("t", "r", "model", session="two", tokens=150),
        )
        self.check(log, "two")


class TestLongPaths:
    """Contexts at each entry of a path, by rules that arrange."""

    LENGTH = 600

    @pytest.fixture
    def long(self, log: MemoryLog, tmp_path: Path) -> MemoryLog:
        records = [say("e0", None)]
        for number in range(1, self.LENGTH):
            who = "person" if number % 4 == 0 else "model"
            group = {} if who == "person" else {"group": f"g{number // 4}"}
            records.append(say(f"e{number}", f"e{number - 1}", who, **group))
        bring(log, tmp_path, *records)
        return log

    @pytest.mark.slow
    def test_what_is_settled_is_arranged_once(self, long: MemoryLog) -> None:
        with long.snapshot() as snapshot:
            cursor = resolve_cursor(snapshot, "one")
            entries = path(snapshot, cursor)
            along = IncrementalContexts(snapshot, cursor, entries)
            before = madeup_rules.MadeUpRules.arranged
            last = [along.context_at(entry.seq) for entry in entries][-1]
            assert madeup_rules.MadeUpRules.arranged - before < 6 * self.LENGTH
            assert last.parts == build_context(snapshot, "one").parts

    @pytest.mark.slow
    def test_sizes_are_counted_once(self, long: MemoryLog) -> None:
        counted = 0

        def count(parts: Sequence[Part]) -> list[int]:
            nonlocal counted
            counted += len(parts)
            return [part.utf8 for part in parts]

        with long.snapshot() as snapshot:
            cursor = resolve_cursor(snapshot, "one")
            entries = path(snapshot, cursor)
            tokens = msgspec.structs.replace(counter("bytes/4"), count=count)
            sizes = IncrementalSizes(snapshot, cursor, entries, tokens)
            for entry in entries:
                sizes.add(entry)
            assert counted < 3 * self.LENGTH
            parts = build_context(snapshot, "one").parts
        assert tuple(sizes.parts) == parts
        assert sizes.sizes[-1] == sum(part.utf8 for part in parts)
