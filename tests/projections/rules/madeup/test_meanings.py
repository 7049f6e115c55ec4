"""The tools, persons and titles of sessions of another harness."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from compaction.prompts import serialized_prompt
from compaction.rewrites import Supersede
from compaction.sized_context import sized
from compaction.summarizers.chain import never
from compaction.summarizers.extractive import ExtractiveSummarizer
from compaction.templates import load_built_in
from eventstore.memory import MemoryLog
from eventstore.paths import event
from eventstore.records import Rewrite, SessionInfo, TextReplacement
from eventstore.verify import verify
from eventstore.writing import SessionWriter
from projections.context.build import build_context
from projections.context.overlay import apply_rewrites
from projections.descriptions import first_request, summary_line, title
from projections.files import file_operations
from projections.tokens import counter
from tests.support.madeup.sessions import Json, bring, exchange, record, say, texts


class TestTools:
    """Read the effects and arguments of tools from the format's data."""

    @pytest.fixture
    def worked(self, log: MemoryLog, tmp_path: Path) -> MemoryLog:
        calls = [
            {"id": "1", "tool": "look", "with": {"at": "read.x", "path": "no.x"}},
            {"id": "2", "tool": "put", "with": {"into": "written.x"}},
            {"id": "3", "tool": "read", "with": {"path": "of-pi.x"}},
            {"id": "4", "tool": "do", "with": {"line": "make all"}},
            {"id": "5", "tool": "bash", "with": {"command": "make nothing"}},
        ]
        message = {"who": "model", "text": "working", "calls": calls}
        looked = {"who": "tool", "text": "line one", "answers": "1"}
        bring(
            log,
            tmp_path,
            say("a", None),
            record("say", "b", "a", message=message),
            record("say", "c", "b", message=looked),
            say("d", "c", "model"),
        )
        return log

    def test_files_are_those_that_its_own_tools_name(self, worked: MemoryLog) -> None:
        files = file_operations(worked, "one")
        assert (files.read_files, files.modified_files) == (["read.x"], ["written.x"])

    def test_commands_are_those_that_its_own_shells_were_given(self, worked: MemoryLog) -> None:
        asked = serialized_prompt(
            load_built_in("compaction"), build_context(worked, "one").parts, system="", max_tokens=500
        )
        summary = ExtractiveSummarizer().summarize(asked, is_cancelled=never).text
        assert re.findall("- `(.*)`", summary) == ["make all"]

    def test_a_line_shows_what_its_calls_are_about(self, worked: MemoryLog) -> None:
        with worked.snapshot() as snapshot:
            line = summary_line(event(snapshot, "one", 2).decode())
        assert line == "→ look read.x, put written.x, read, do make all, bash"

    def test_a_newer_read_by_its_own_tool_makes_an_older_one_stale(
        self, log: MemoryLog, tmp_path: Path
    ) -> None:
        first, again = ({"id": name, "tool": "look", "with": {"at": "read.x"}} for name in ("1", "6"))
        bring(
            log,
            tmp_path,
            record("say", "a", None, message={"who": "model", "text": "", "calls": [first]}),
            record("say", "b", "a", message={"who": "tool", "text": "old " * 50, "answers": "1"}),
            record("say", "c", "b", message={"who": "model", "text": "", "calls": [again]}),
            record("say", "d", "c", message={"who": "tool", "text": "new " * 50, "answers": "6"}),
        )
        context = sized("one", build_context(log, "one").parts, counter("utf16/4"), is_compacting=True)
        assert [shown.target for shown in Supersede().plan(context)] == ["b"]

    def test_its_first_request_is_by_a_person(self, worked: MemoryLog) -> None:
        assert first_request(worked, "one") == "text of a"


class TestPersons:
    """Tell a person's messages apart by more than their role."""

    def test_of_several_messages_of_a_record_those_in_the_persons_role_are_theirs(
        self, log: MemoryLog, tmp_path: Path
    ) -> None:
        bring(log, tmp_path, exchange("a", None, "person", "model", "person"), say("b", "a", "model"))
        parts = build_context(log, "one").parts
        assert [part.by_person for part in parts] == [True, False, True, False]

    def test_a_message_of_several_records_is_a_persons_if_one_of_them_is(
        self, log: MemoryLog, tmp_path: Path
    ) -> None:
        bring(
            log,
            tmp_path,
            say("a", None, group="g"),
            say("b", "a", group="g", told_by="harness"),
            say("c", "b", told_by="harness"),
        )
        joined, told = build_context(log, "one").parts
        assert (joined.by_person, told.by_person, told.role) == (True, False, "user")

    def test_a_message_that_stands_for_several_is_nobodys(self, log: MemoryLog, tmp_path: Path) -> None:
        bring(log, tmp_path, say("a", None), say("b", "a", "model"))
        shown = [TextReplacement(target="a", through="b", text="elsewhere")]
        ahead = apply_rewrites(build_context(log, "one").parts, shown)
        SessionWriter(log, "one").append(Rewrite(reason="test", targets=shown))
        parts = build_context(log, "one").parts
        assert [part.by_person for part in (*parts, *ahead)] == [False, False]


class TestTitles:
    """Titles that a harness keeps beside the tree, and of which some count more than others."""

    @staticmethod
    def titled(name: str, by: str, text: str) -> Json:
        return record("titled", name, None, title=text, by=by)

    def test_a_persons_title_counts_before_a_models_and_that_before_a_summary(
        self, log: MemoryLog, tmp_path: Path
    ) -> None:
        steps = [
            (self.titled("t1", "SUMMARY", "a summary"), "a summary"),
            (self.titled("t2", "MODEL", "a model's"), "a model's"),
            (self.titled("t3", "SUMMARY", "another summary"), "a model's"),
            (self.titled("t4", "MODEL", "a model's second"), "a model's second"),
            (self.titled("t5", "PERSON", "mine"), "mine"),
            (self.titled("t6", "MODEL", "a model's third"), "mine"),
        ]
        records = [say("a", None)]
        for titled, expected in steps:
            records.append(titled)
            bring(log, tmp_path, *records)
            assert title(log, "one") == expected
        assert texts(build_context(log, "one")) == ["text of a"]
        with log.snapshot() as snapshot:
            seqs = [snapshot.locate("one", f"t{number}") for number in range(1, 7)]
            assert snapshot.head("one").titles == tuple(seqs)
        assert verify(log).findings == []

    def test_the_newest_title_given_here_counts_before_all_others(
        self, log: MemoryLog, tmp_path: Path
    ) -> None:
        bring(log, tmp_path, say("a", None), self.titled("t", "PERSON", "theirs"))
        SessionWriter(log, "one").append(SessionInfo(name="ours"))
        assert title(log, "one") == "ours"
        bring(
            log,
            tmp_path,
            say("a", None),
            self.titled("t", "PERSON", "theirs"),
            self.titled("n", "MODEL", "no"),
        )
        assert title(log, "one") == "ours"
