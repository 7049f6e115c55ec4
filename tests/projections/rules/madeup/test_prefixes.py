"""Contexts that begin with that of an entry of another session."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventstore.errors import CorruptionError
from eventstore.memory import MemoryLog
from projections.audit.session import Counts, audit
from projections.context.build import build_context
from projections.diff import Change, diff
from tests.support.madeup.sessions import BORN, bring, record, say, shown


class TestPrefixes:
    def test_a_context_begins_with_that_of_an_entry_of_another_session(
        self, log: MemoryLog, tmp_path: Path
    ) -> None:
        bring(log, tmp_path, *BORN)
        assert shown(log, "two") == ["text of a", "text of b", "text of x", "text of y"]
        assert shown(log) == ["text of a", "text of b", "text of c"]

    def test_its_parts_name_the_session_that_they_come_from(self, log: MemoryLog, tmp_path: Path) -> None:
        bring(log, tmp_path, *BORN)
        parts = build_context(log, "two").parts
        assert [part.session for part in parts] == ["one", "one", "two", "two"]
        assert len({part.key for part in parts}) == len(parts)

    def test_a_compaction_hides_it(self, log: MemoryLog, tmp_path: Path) -> None:
        compaction = record("summary", "s", "y", "two", text="all", kept=[])
        bring(log, tmp_path, *BORN, compaction)
        assert shown(log, "two") == ["So far: all"]

    def test_a_prefix_may_have_one_of_its_own(self, log: MemoryLog, tmp_path: Path) -> None:
        third = record("born", "zz", None, "three", of="two", at="x"), say("q", None, session="three")
        bring(log, tmp_path, *BORN, *third)
        assert shown(log, "three") == ["text of a", "text of b", "text of x", "text of q"]

    def test_an_audit_counts_it_among_what_a_compaction_removed(self, log: MemoryLog, tmp_path: Path) -> None:
        compaction = record("summary", "s", "y", "two", text="all", kept=["y"])
        bring(log, tmp_path, *BORN, compaction)
        (audited,) = audit(log, "two").compactions
        size = audited.metrics.size
        whole = sum(part.utf16 for part in build_context(log, "two", leaf="y").parts)
        kept = sum(part.utf16 for part in build_context(log, "two", leaf="y").parts[3:])
        assert (size.before, size.kept, size.removed) == (whole, kept, whole - kept)

    def test_what_it_hides_of_it_is_summarized(self, log: MemoryLog, tmp_path: Path) -> None:
        compaction = record("summary", "s", "y", "two", text="all", kept=["y"])
        bring(log, tmp_path, *BORN, compaction)
        (audited,) = audit(log, "two").compactions
        assert audited.messages == Counts(summarized=3, kept=1, uncovered=0)
        changes = {each.event: each.change for each in diff(log, "two", "y", "s").changes}
        assert changes == {
            **dict.fromkeys("abx", Change.SUMMARIZED),
            "y": Change.KEPT,
            "s": Change.NEW,
        }

    def test_no_call_of_the_other_session_measured_it(self, log: MemoryLog, tmp_path: Path) -> None:
        bring(
            log,
            tmp_path,
            say("a", None),
            say("b", "a"),
            say("c", "b"),
            record("born", "z", None, "two", of="one", at="c"),
            say("x", None, "model", session="two", tokens=70),
            say("y", None, session="two"),
            record("summary", "s", "y", "two", text="all", kept=[]),
        )
        with log.snapshot() as snapshot:
            number = snapshot.locate("two", "x")
            assert number <= 3, "an event of the other session has its number"
        (audited,) = audit(log, "two").compactions
        assert (audited.before.measured, audited.before.measured_at) == (None, None)

    def test_prefixes_that_lead_in_a_circle_are_damage(self, log: MemoryLog, tmp_path: Path) -> None:
        bring(log, tmp_path, *BORN, record("born", "zz", None, "one", of="two", at="x"))
        with pytest.raises(CorruptionError):
            build_context(log, "two")
