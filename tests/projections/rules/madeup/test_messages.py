"""Messages that are none, one or several records, and rewrites of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventstore.memory import MemoryLog
from eventstore.records import Compaction, CustomMessage, TextReplacement
from eventstore.writing import SessionWriter
from projections.audit.session import audit
from projections.context.build import build_context, context_at
from projections.context.cursor import path, resolve_cursor
from projections.context.overlay import apply_rewrites
from projections.context.parts import Fate, view_of_part
from projections.diff import diff
from projections.replacement import replacement_of
from projections.timeline import timeline
from projections.tokens import counter
from projections.usage import answers, context_size
from tests.support.calls import model_calls
from tests.support.madeup import rules as madeup_rules
from tests.support.madeup.sessions import bring, exchange, record, rewrite, say, shown


class TestGroups:
    @pytest.fixture
    def grouped(self, log: MemoryLog, tmp_path: Path) -> MemoryLog:
        bring(
            log,
            tmp_path,
            say("a", None),
            say("b", "a", "model", tokens=40, group="g"),
            say("c", "b", "model", tokens=70, group="g"),
            say("d", "c"),
            say("e", "d", "model", tokens=90, group="h"),
        )
        return log

    def test_records_of_a_group_are_one_message(self, grouped: MemoryLog) -> None:
        assert shown(grouped) == ["text of a", "text of b text of c", "text of d", "text of e"]

    def test_its_part_names_every_event_that_it_holds(self, grouped: MemoryLog) -> None:
        parts = build_context(grouped, "one").parts
        assert [(part.id, part.seq, part.merged) for part in parts[1:3]] == [("b", 2, (3,)), ("d", 4, ())]

    def test_its_part_is_as_large_as_all_of_it(self, grouped: MemoryLog) -> None:
        _, joined, single, _ = build_context(grouped, "one").parts
        assert joined.utf8 > single.utf8

    def test_a_leaf_within_a_group_shows_what_there_is_by_then(self, grouped: MemoryLog) -> None:
        assert shown(grouped, leaf="b") == ["text of a", "text of b"]

    def test_the_usage_of_a_group_counts_once(self, grouped: MemoryLog) -> None:
        with grouped.snapshot() as snapshot:
            found = answers(snapshot, resolve_cursor(snapshot, "one"))
            usages = [(entry.id, message.usage.total) for entry, message, *_ in found if message.usage]
        assert usages == [("c", 70), ("e", 90)]

    def test_a_call_of_a_group_was_sent_the_context_above_its_first_record(self, grouped: MemoryLog) -> None:
        with grouped.snapshot() as snapshot:
            cursor = resolve_cursor(snapshot, "one")
            tokens = counter("utf16/4")
            calls = model_calls(snapshot, cursor, tokens)
            sent = [context_at(snapshot, cursor.at_leaf(seq)).parts for seq in (1, 4)]
        assert [call.id for call in calls] == ["c", "e"]
        assert [call.tokens for call in calls] == [sum(tokens.count(each)) for each in sent]
        assert [len(each) for each in sent] == [1, 3]
        assert [call.previous and (call.previous.id, call.previous.shared) for call in calls] == [
            None,
            ("c", 1),
        ]

    def test_the_size_of_a_context_goes_by_the_usage_of_the_whole_group(self, grouped: MemoryLog) -> None:
        with grouped.snapshot() as snapshot:
            size = context_size(snapshot, resolve_cursor(snapshot, "one", leaf="d"), counter("utf16/4"))
        assert (size.measured, size.measured_at) == (70, "b")

    def test_a_group_that_goes_on_behind_another_is_counted_by_its_last_usage(
        self, log: MemoryLog, tmp_path: Path
    ) -> None:
        bring(
            log,
            tmp_path,
            say("a", None),
            say("b", "a", "model", tokens=1, group="g"),
            say("c", "b", "model", tokens=7, group="h"),
            say("d", "c", "model", tokens=100, group="g"),
            say("e", "d", "model", group="g"),
        )
        with log.snapshot() as snapshot:
            found = list(answers(snapshot, resolve_cursor(snapshot, "one")))
        usages = [(each.id, message.usage.total if message.usage else None) for each, message, *_ in found]
        assert usages == [("b", None), ("c", 7), ("d", 100), ("e", None)]


class TestSeveralMessages:
    @pytest.fixture(params=[True, False], ids=["arranged", "spliced"])
    def exchanged(
        self, log: MemoryLog, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
    ) -> MemoryLog:
        monkeypatch.setattr(madeup_rules.MadeUpRules, "arranges", request.param)
        bring(
            log,
            tmp_path,
            say("a", None),
            exchange("b", "a", "model", "tool"),
            exchange("c", "b"),
            say("d", "c"),
        )
        return log

    def test_a_record_may_be_none_or_several(self, exchanged: MemoryLog) -> None:
        assert shown(exchanged) == ["text of a", "b.0", "b.1", "text of d"]

    def test_each_has_its_own_role_and_place(self, exchanged: MemoryLog) -> None:
        parts = build_context(exchanged, "one").parts
        assert [(part.id, part.role, part.place) for part in parts[1:3]] == [
            ("b", "assistant", 0),
            ("b", "toolResult", 1),
        ]
        assert len({part.key for part in parts}) == len(parts)

    def test_a_rewrite_may_show_one_of_them_otherwise(self, exchanged: MemoryLog) -> None:
        rewrite(exchanged, TextReplacement(target="b", text="cleared", block=1))
        assert shown(exchanged) == ["text of a", "b.0", "cleared", "text of d"]
        assert [part.fate for part in build_context(exchanged, "one").parts][2] is Fate.REWRITTEN

    def test_a_rewrite_may_show_nothing_of_them(self, exchanged: MemoryLog) -> None:
        rewrite(
            exchanged, TextReplacement(target="b", text="", block=0), TextReplacement(target="a", text="")
        )
        assert shown(exchanged) == ["b.1", "text of d"]

    @pytest.mark.parametrize("text", ["", "instead"])
    def test_a_rewrite_is_foreseen(self, exchanged: MemoryLog, text: str) -> None:
        targets = [TextReplacement(target="b", text=text, block=1), TextReplacement(target="d", text="later")]
        foreseen = apply_rewrites(build_context(exchanged, "one").parts, targets)
        rewrite(exchanged, *targets)
        assert [part.raw for part in foreseen] == [part.raw for part in build_context(exchanged, "one").parts]

    def test_what_changed_is_told_of_each(self, exchanged: MemoryLog) -> None:
        rewrite(exchanged, TextReplacement(target="b", text="cleared", block=1))
        changes = [(each.event, each.change) for each in diff(exchanged, "one", "d", None).changes]
        assert changes == [("a", "kept"), ("b", "kept"), ("b", "rewritten"), ("d", "kept")]

    def test_all_of_them_count_along_the_path(self, exchanged: MemoryLog) -> None:
        contexts = [build_context(exchanged, "one", leaf=each).parts for each in "abcd"]
        sizes = [sum(part.utf16 for part in parts) for parts in contexts]
        assert [moment.tokens for moment in timeline(exchanged, "one").moments] == sizes

    def test_a_replacement_tells_them_apart(self, exchanged: MemoryLog) -> None:
        rewrite(exchanged, TextReplacement(target="b", text="cleared", block=1))
        with exchanged.snapshot() as snapshot:
            cursor = resolve_cursor(snapshot, "one")
            found = replacement_of(path(snapshot, cursor)[-1], snapshot, cursor)
        assert [part.key[1:] for part in found.removed] == [(2, 1)] == [part.key[1:] for part in found.added]


def test_a_harness_may_have_rewrites_of_its_own_that_show_nothing_too(log: MemoryLog, tmp_path: Path) -> None:
    said = say("a", None), say("b", "a", "model"), say("c", "b")
    bring(log, tmp_path, *said, record("swap", "w", "c", texts={"a": "cleared", "b": ""}))
    assert shown(log) == ["cleared", "text of c"]
    assert shown(log, leaf="c") == ["text of a", "text of b", "text of c"]
    (audited,) = audit(log, "one").rewrites
    assert (audited.id, audited.targets, audited.metrics.size.grew) == ("w", ["a", "b"], False)


class TestRewritesOfResults:
    """A rewrite of a harness may name calls, whose results stand in entries that it does not name."""

    @pytest.fixture(params=[True, False], ids=["arranged", "spliced"])
    def answered(
        self, log: MemoryLog, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
    ) -> MemoryLog:
        monkeypatch.setattr(madeup_rules.MadeUpRules, "arranges", request.param)
        results = [{"who": "tool", "text": f"result {name}", "answers": name} for name in ("1", "2")]
        bring(
            log,
            tmp_path,
            say("a", None),
            record("exchange", "b", "a", messages=results),
            record("swap", "w", "b", results={"2": "cleared", "3": "cleared too", "9": "nowhere"}),
            record("say", "c", "w", message={"who": "tool", "text": "result 3", "answers": "3"}),
        )
        return log

    def test_the_results_show_otherwise_and_what_stands_beside_them_does_not(
        self, answered: MemoryLog
    ) -> None:
        assert shown(answered) == ["text of a", "result 1", "cleared", "cleared too"]
        assert shown(answered, leaf="b") == ["text of a", "result 1", "result 2"]

    def test_an_audit_names_the_entries(self, answered: MemoryLog) -> None:
        (audited,) = audit(answered, "one").rewrites
        assert audited.targets == ["b", "c"]


class TestRefoldsOwnRecords:
    """refold's records have another shape than the session's own, in one context."""

    def test_they_show_by_their_own_rules(self, log: MemoryLog, tmp_path: Path) -> None:
        bring(log, tmp_path, say("a", None), say("b", "a", "model"))
        writer = SessionWriter(log, "one")
        writer.append(
            Compaction(summary="much", first_kept_entry_id="b", tokens_before=9),
            CustomMessage(custom_type="x", content="by the way"),
        )
        context = build_context(log, "one")
        assert (context.rules, [view_of_part(part).role for part in context.parts]) == (
            "madeup",
            ["compactionSummary", "assistant", "custom"],
        )
        assert [part.format for part in context.parts] == ["pi/3", "madeup/1", "pi/3"]

    def test_the_session_keeps_its_rules_where_all_that_shows_is_refolds(
        self, log: MemoryLog, tmp_path: Path
    ) -> None:
        bring(log, tmp_path, say("a", None))
        SessionWriter(log, "one").append(Compaction(summary="much", first_kept_entry_id="", tokens_before=9))
        assert build_context(log, "one").rules == "madeup"

    def test_a_session_of_refolds_own_has_its_own_rules(self, log: MemoryLog) -> None:
        SessionWriter(log, "own").append(CustomMessage(custom_type="x", content="by the way"))
        assert build_context(log, "own").rules == "pi"
