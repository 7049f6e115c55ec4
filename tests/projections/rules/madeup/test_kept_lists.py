"""Compactions that list the messages that they keep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compaction.window import build_window
from eventstore.memory import MemoryLog
from eventstore.paths import event
from eventstore.records import TextReplacement
from eventstore.verify import verify
from projections.audit.coverage import compaction_coverage
from projections.audit.session import Counts, audit
from projections.context.cursor import path, resolve_cursor
from projections.diff import Change, diff
from projections.tokens import counter
from tests.support.madeup import rules as madeup_rules
from tests.support.madeup.sessions import bring, record, rewrite, say, shown


class TestKeptLists:
    SAID = (say("a", None), say("b", "a", "model"), say("c", "b"), say("d", "c", "model"))

    def compacted(self, log: MemoryLog, folder: Path, *kept: str, **more: Any) -> None:
        compaction = record("summary", "s", "d", text="much", kept=kept, **more)
        bring(log, folder, *self.SAID, compaction, say("e", "s"))

    def test_what_is_listed_stands_behind_the_summary(self, log: MemoryLog, tmp_path: Path) -> None:
        self.compacted(log, tmp_path, "b", "d")
        assert shown(log) == ["So far: much", "text of b", "text of d", "text of e"]

    def test_or_before_it(self, log: MemoryLog, tmp_path: Path) -> None:
        self.compacted(log, tmp_path, "a", "c", before=True)
        assert shown(log) == ["text of a", "text of c", "So far: much", "text of e"]

    @pytest.mark.parametrize("first", ["mark", "all"])
    def test_the_record_above_the_summary_may_say_what_is_kept(
        self, log: MemoryLog, tmp_path: Path, first: str
    ) -> None:
        mark = record("mark", "m", "d", compacts={"kept": ["b", "d"], "size": 77, "why": "asked for"})
        if first == "mark":
            bring(log, tmp_path, *self.SAID, mark)
        bring(log, tmp_path, *self.SAID, mark, record("summary", "s", "m", text="much"), say("e", "s"))
        assert shown(log) == ["So far: much", "text of b", "text of d", "text of e"]
        (audited,) = audit(log, "one").compactions
        assert (audited.by.reason, audited.before.claimed) == ("asked for", 77)
        with log.snapshot() as snapshot:
            assert event(snapshot, "one", snapshot.locate("one", "s")).target_seq == 2
        assert verify(log).findings == []

    def test_at_the_compaction_itself_it_does_so_too(self, log: MemoryLog, tmp_path: Path) -> None:
        self.compacted(log, tmp_path, "a", before=True)
        assert shown(log, leaf="s") == ["text of a", "So far: much"]

    @pytest.mark.parametrize("before", [True, False])
    def test_an_empty_list_keeps_nothing(self, log: MemoryLog, tmp_path: Path, *, before: bool) -> None:
        self.compacted(log, tmp_path, before=before)
        assert shown(log) == ["So far: much", "text of e"]

    def test_a_rewrite_holds_for_what_is_kept(self, log: MemoryLog, tmp_path: Path) -> None:
        self.compacted(log, tmp_path, "b", "d")
        rewrite(
            log,
            TextReplacement(target="d", text="shorter"),
            TextReplacement(target="c", text="of no account"),
        )
        assert shown(log) == ["So far: much", "text of b", "shorter", "text of e"]

    @pytest.mark.parametrize("before", [True, False])
    def test_the_next_compaction_is_of_what_was_kept_and_what_followed(
        self, log: MemoryLog, tmp_path: Path, *, before: bool
    ) -> None:
        self.compacted(log, tmp_path, "b", before=before)
        with log.snapshot() as snapshot:
            found = build_window(snapshot, resolve_cursor(snapshot, "one"), counter("utf16/4"))
        assert ([item.id for item in found.items], found.previous_summary) == (["b", "e"], "much")

    LISTED = (
        *(say(name, after) for name, after in (("a", None), ("b", "a"), ("c", "b"), ("d", "c"), ("e", "d"))),
        record("summary", "s", "e", text="much", kept=["b", "e"]),
    )

    def test_what_is_not_listed_is_summarized(self, log: MemoryLog, tmp_path: Path) -> None:
        bring(log, tmp_path, *self.LISTED)
        (audited,) = audit(log, "one").compactions
        assert audited.messages == Counts(summarized=3, kept=2, uncovered=0)
        changes = {each.event: each.change for each in diff(log, "one", "e", "s").changes}
        assert changes == {
            **dict.fromkeys("acd", Change.SUMMARIZED),
            **dict.fromkeys("be", Change.KEPT),
            "s": Change.NEW,
        }

    def test_the_next_one_summarizes_what_was_kept_and_what_followed(
        self, log: MemoryLog, tmp_path: Path
    ) -> None:
        bring(log, tmp_path, *self.LISTED, say("f", "s"), record("summary", "t", "f", text="all", kept=["e"]))
        with log.snapshot() as snapshot:
            entries = path(snapshot, resolve_cursor(snapshot, "one"))
            compactions = list(compaction_coverage(entries, snapshot))
        ids = {entry.seq: entry.id for entry in entries}
        found = ["".join(ids[seq] for seq in sorted(each.summarized)) for each in compactions]
        assert found == ["acd", "bf"]

    def test_files_of_what_is_kept_are_not_the_summarys(self, log: MemoryLog, tmp_path: Path) -> None:
        looks = (
            {"who": "model", "text": "", "calls": [{"id": at, "tool": "look", "with": {"at": at}}]}
            for at in ("x", "y", "z")
        )
        first, second, third = (
            record("say", name, after, message=message)
            for (name, after), message in zip((("a", None), ("b", "a"), ("c", "b")), looks, strict=True)
        )
        bring(log, tmp_path, first, second, third, record("summary", "s", "c", text="much", kept=["b"]))
        (audited,) = audit(log, "one").compactions
        assert audited.files.recomputed.read_files == ["x", "z"]

    @pytest.mark.parametrize("before", [True, False])
    def test_the_summary_counts_wherever_it_stands(
        self, log: MemoryLog, tmp_path: Path, *, before: bool
    ) -> None:
        long = {"who": "model", "text": "long " * 80}
        kept = record("say", "a", None, message=long), say("b", "a")
        compaction = record("summary", "s", "b", text="much", kept=["a", "b"], before=before)
        bring(log, tmp_path, *kept, compaction)
        (audited,) = audit(log, "one").compactions
        assert audited.messages == Counts(summarized=0, kept=2, uncovered=0)
        assert audited.first_kept == "a"
        assert audited.summary_tokens == len("much") // 4

    def test_a_compaction_that_shows_nothing_is_audited(
        self, log: MemoryLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(madeup_rules.MadeUpRules, "show", lambda *_: ())
        bring(log, tmp_path, record("summary", "s", None, text="much", kept=[]))
        (audited,) = audit(log, "one").compactions
        assert (audited.messages, audited.summary_tokens) == (Counts(summarized=0, kept=0, uncovered=0), 0)
