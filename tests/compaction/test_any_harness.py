"""Compact sessions of a made-up harness that has features which pi lacks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from compaction.branching.move_plan import plan_move
from compaction.branching.summarize import summarize_branch
from compaction.continuations import REPLAY, ContextAfter, unanswered_request
from compaction.cuts import AnyCut, LastMessages
from compaction.part import Limits
from compaction.plan import ALL_KEPT, Plan
from compaction.summarizers.chain import SummarizerChain
from eventstore.harnesses import format_of
from eventstore.memory import MemoryLog
from eventstore.records import FORMAT, FileOperations, MessageRecord
from eventstore.writing import SessionWriter
from projections.audit.session import audit
from projections.context.build import build_context
from projections.context.cursor import path, resolve_cursor
from projections.context.parts import Part, view_of_part
from projections.files import file_operations
from projections.tokens import counter
from tests.cli.views.page.reading import material_of
from tests.compaction.scripted import Scripted, compactor, policy, prompting
from tests.support.calls import model_calls
from tests.support.madeup.sessions import bring, exchange, record, say

pytestmark = pytest.mark.usefixtures("madeup")


@pytest.fixture
def log() -> MemoryLog:
    return MemoryLog()


def texts(parts: Sequence[Part]) -> list[str]:
    return [view_of_part(part).text for part in parts]


def planned(log: MemoryLog, session: str, cut: AnyCut, source: str = "context") -> Plan:
    compacts = compactor(policy=policy(cut=cut, prompting=prompting(source=source)))
    with log.snapshot() as snapshot:
        plan = compacts.plan(snapshot, session)
    assert isinstance(plan, Plan)
    return plan


class TestSeveralMessages:
    @pytest.fixture
    def exchanged(self, log: MemoryLog, tmp_path: Path) -> MemoryLog:
        bring(
            log,
            tmp_path,
            say("a", None),
            exchange("b", "a", "model", "person", "model"),
            say("c", "b"),
            say("d", "c", "model"),
        )
        return log

    @pytest.mark.parametrize("source", ["context", "log"])
    def test_a_summarizer_reads_each_of_them_once(self, exchanged: MemoryLog, source: str) -> None:
        plan = planned(exchanged, "one", LastMessages(messages=2), source)
        gone = texts([*plan.to_summarize, *plan.turn_prefix])
        assert (gone, texts(plan.kept)) == (
            ["text of a", "b.0", "b.1", "b.2"],
            ["text of c", "text of d"],
        )

    @pytest.mark.parametrize("messages", [3, 4, 5])
    def test_no_cut_falls_between_them(self, exchanged: MemoryLog, messages: int) -> None:
        plan = planned(exchanged, "one", LastMessages(messages=messages))
        assert texts([*plan.to_summarize, *plan.turn_prefix]) == ["text of a"]
        assert (plan.cut.first_kept, texts(plan.kept)) == (
            "b",
            ["b.0", "b.1", "b.2", "text of c", "text of d"],
        )

    def test_a_summary_of_a_branch_reads_each_of_them_once(self, exchanged: MemoryLog) -> None:
        scribe = Scripted()
        summarize_branch(
            SessionWriter(exchanged, "one"),
            plan_move(exchanged, "one", "a").to_summarize,
            SummarizerChain(summarizers=[scribe], wait=lambda _: None),
            limits=Limits(window=200_000),
            tokens=counter("utf16/4"),
        )
        (prompt,) = scribe.prompts
        said = ("b.0", "b.1", "b.2", "text of c", "text of d")
        assert [prompt.text.count(text) for text in said] == [1] * len(said)

    def test_a_page_counts_the_tokens_of_all_of_them(self, exchanged: MemoryLog) -> None:
        tokens = counter("utf16/4")
        sizes = tokens.count(build_context(exchanged, "one").parts)
        found = material_of(exchanged, "one")
        assert found.tokens == {1: sizes[0], 2: sum(sizes[1:4]), 3: sizes[4], 4: sizes[5]}

    def test_a_call_was_sent_all_of_them(self, log: MemoryLog, tmp_path: Path) -> None:
        bring(
            log,
            tmp_path,
            exchange("a", None, "person", "model", "person"),
            say("b", "a", "model", tokens=100),
            record("summary", "s", "b", text="much", kept=[]),
            say("c", "s"),
            say("d", "c", "model", tokens=200),
        )
        tokens = counter("utf16/4")
        with log.snapshot() as snapshot:
            cursor = resolve_cursor(snapshot, "one")
            sent = build_context(log, "one", leaf="a").parts
            found = [call.previous for call in model_calls(snapshot, cursor, tokens)]
            assert [each and (each.shared, each.messages) for each in found] == [None, (0, len(sent))]

    def test_a_request_that_one_of_them_answers_is_answered(self, log: MemoryLog, tmp_path: Path) -> None:
        bring(log, tmp_path, exchange("a", None, "person", "model"))
        with log.snapshot() as snapshot:
            entries = path(snapshot, resolve_cursor(snapshot, "one"))
        assert unanswered_request(build_context(log, "one").parts, entries) is None


def test_a_request_in_a_shape_of_its_own_is_repeated_in_refolds(log: MemoryLog, tmp_path: Path) -> None:
    bring(log, tmp_path, say("a", None), say("b", "a", "model"), say("c", "b"))
    with log.snapshot() as snapshot:
        entries = path(snapshot, resolve_cursor(snapshot, "one"))
    before = build_context(log, "one").parts
    found = REPLAY.following(ContextAfter(before=before, kept=frozenset(), entries=entries))
    assert isinstance(found.record, MessageRecord)
    repeated = format_of(FORMAT).message(bytes(found.record.message))
    assert (found.repeats_request, repeated.role, repeated.text) == (True, "user", "text of c")


class TestPrefixes:
    """Sessions whose contexts begin with that of another one, where ids and numbers of entries are the same."""

    @pytest.fixture
    def born(self, log: MemoryLog, tmp_path: Path) -> MemoryLog:
        bring(
            log,
            tmp_path,
            record("say", "a", None, message={"who": "person", "text": "much " * 200}),
            say("b", "a", "model"),
            record("born", "z", None, "two", of="one", at="b"),
            say("a", None, session="two"),
            say("b", "a", "model", session="two"),
            say("c", "b", session="two"),
        )
        return log

    @pytest.mark.parametrize("source", ["context", "log"])
    def test_the_first_summary_is_of_the_other_sessions_messages_too(
        self, born: MemoryLog, source: str
    ) -> None:
        plan = planned(born, "two", LastMessages(messages=1), source)
        gone = [*plan.to_summarize, *plan.turn_prefix]
        assert [(part.session, part.id) for part in gone] == [
            ("one", "a"),
            ("one", "b"),
            ("two", "a"),
            ("two", "b"),
        ]
        assert ([part.id for part in plan.kept], plan.summary) == (["c"], None)

    def test_what_a_cut_keeps_begins_in_the_session_itself(self, born: MemoryLog) -> None:
        plan = planned(born, "two", LastMessages(messages=3))
        assert [part.session for part in plan.to_summarize] == ["one", "one"]
        assert plan.cut.first_kept == "a"
        with born.snapshot() as snapshot:
            found = compactor(policy=policy(cut=LastMessages(messages=4))).plan(snapshot, "two")
        assert found == ALL_KEPT

    def test_a_compaction_counts_and_keeps_the_sessions_own_only(self, born: MemoryLog) -> None:
        before = counter("utf16/4").count(build_context(born, "two").parts)
        compacts = compactor(Scripted(lambda _: "so far"), policy=policy(cut=LastMessages(messages=3)))
        done = compacts.compact(SessionWriter(born, "two"))
        assert (done.outcome, done.tokens_kept) == ("compacted", sum(before[2:]))
        assert texts(build_context(born, "two").parts) == ["so far", "text of a", "text of b", "text of c"]

    @pytest.mark.parametrize("messages", [1, 4])
    def test_its_files_are_those_of_the_other_session_too(
        self, log: MemoryLog, tmp_path: Path, messages: int
    ) -> None:
        def touch(tool: str, **arguments: str) -> dict[str, object]:
            calls = [{"id": "t", "tool": tool, "with": arguments}]
            return {"who": "model", "text": "look", "calls": calls}

        bring(
            log,
            tmp_path,
            record("say", "a", None, message={"who": "person", "text": "much " * 200}),
            record("say", "b", "a", message=touch("look", at="shared.py")),
            say("late", "b"),
            record("say", "later", "late", message=touch("look", at="after the fork.py")),
            record("born", "z", None, "two", of="one", at="b"),
            say("a", None, session="two"),
            record("say", "b", "a", "two", message=touch("put", into="own.py")),
            record("say", "r", "b", "two", message={"who": "tool", "text": "done", "answers": "t"}),
            say("c", "r", session="two"),
        )
        own = [] if messages == 4 else ["own.py"]
        expected = FileOperations(read_files=["shared.py"], modified_files=own)
        assert planned(log, "two", LastMessages(messages=messages)).files == expected
        compacts = compactor(Scripted(lambda _: "so far"), policy=policy(cut=LastMessages(messages=messages)))
        assert compacts.compact(SessionWriter(log, "two")).outcome == "compacted"
        (found,) = audit(log, "two").compactions
        assert found.files is not None
        assert (found.files.claimed, found.files.recomputed, found.files.missing) == (expected, expected, [])
        assert file_operations(log, "two").read_files == ["shared.py"]
