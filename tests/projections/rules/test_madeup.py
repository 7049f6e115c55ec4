"""Build contexts of a made-up harness that has features which pi lacks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from compaction.rewrites.sized_context import sized
from compaction.rewrites.supersede import Supersede
from compaction.window import build_window
from eventstore.errors import CorruptionError
from eventstore.files.importing import import_sessions
from eventstore.memory import MemoryLog
from eventstore.paths import event
from eventstore.records import Compaction, CustomMessage, Rewrite, SessionInfo, TextReplacement
from eventstore.verify import verify
from eventstore.writing import SessionWriter
from projections.audit.calls import model_calls, shared_prefix_length
from projections.audit.cost import cost
from projections.audit.coverage import compaction_coverage
from projections.audit.instruction_fates import instructions
from projections.audit.prices import FilePrices
from projections.audit.session import Counts, audit
from projections.context.build import build_context, context_at, context_json, harness_json
from projections.context.cursor import path, resolve_cursor
from projections.context.incremental import IncrementalContexts, IncrementalSizes
from projections.context.overlay import apply_rewrites
from projections.context.parts import Context, Fate, Part, view_of_part
from projections.descriptions import first_request, summary_line, title
from projections.diff import Change, diff
from projections.files import file_operations
from projections.mentions import MentionKind
from projections.mentions.message_facts import SessionFacts
from projections.replacement import replacement_of
from projections.timeline import timeline
from projections.tokens import counter
from projections.usage import answers, context_size
from tests.support.madeup import format as madeup_format
from tests.support.madeup import rules as madeup_rules
from tests.support.madeup.format import HEADER


@pytest.fixture(autouse=True)
def madeup(monkeypatch: pytest.MonkeyPatch) -> None:
    madeup_format.register(monkeypatch)
    madeup_rules.register(monkeypatch)


@pytest.fixture
def log() -> MemoryLog:
    return MemoryLog()


Json = dict[str, Any]


def record(kind: str, name: str, after: str | None, session: str = "one", **fields: Any) -> Json:
    return {"kind": kind, "in": session, "id": name, "after": after, **fields}


def say(
    name: str,
    after: str | None,
    who: str = "person",
    *,
    session: str = "one",
    tokens: int | None = None,
    **more: Any,
) -> Json:
    text = more.pop("text", f"text of {name}")
    message = {"who": who, "text": text, **({} if tokens is None else {"tokens": tokens})}
    return record("say", name, after, session, message=message, **more)


def exchange(name: str, after: str | None, *whos: str) -> Json:
    messages = [{"who": who, "text": f"{name}.{place}"} for place, who in enumerate(whos)]
    return record("exchange", name, after, messages=messages)


def bring(log: MemoryLog, folder: Path, *records: Json) -> None:
    file = folder / "file"
    file.write_bytes(HEADER + b"".join(json.dumps(each).encode() + b"\n" for each in records))
    import_sessions(log, file)


def texts(context: Context) -> list[str]:
    return [json.loads(part.raw)["text"] for part in context.parts]


def shown(log: MemoryLog, session: str = "one", leaf: str | None = None) -> list[str]:
    """The texts of a context, by each way to build it."""
    context = build_context(log, session, leaf=leaf)
    assert context.rules == "madeup"
    assert harness_json(context) == context_json(log, session, leaf=leaf)
    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, session, leaf=leaf)
        along = IncrementalContexts(snapshot, cursor, path(snapshot, cursor))
        for entry in path(snapshot, cursor):
            assert along.context_at(entry.seq).parts == context_at(snapshot, cursor.at_leaf(entry.seq)).parts
    return texts(context)


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
            calls = model_calls(snapshot, cursor, counter("utf16/4"))
            sent = [len(context_at(snapshot, cursor.at_leaf(call.sent_at)).parts) for call in calls]
        assert [(call.id, call.sent_at, call.messages) for call in calls] == [("c", 1, 1), ("e", 4, 3)]
        assert sent == [1, 3]
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
        assert [moment.messages for moment in timeline(exchanged, "one").moments] == [1, 3, 3, 4]

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


def rewrite(log: MemoryLog, *targets: TextReplacement) -> None:
    SessionWriter(log, "one").append(Rewrite(reason="test", targets=list(targets)))


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
        assert audited.messages == Counts(summarized=3, kept=2, dropped=0)
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
        assert audited.messages == Counts(summarized=0, kept=2, dropped=0)
        assert audited.first_kept == "a"
        assert audited.summary_tokens == len("much") // 4

    def test_a_compaction_that_shows_nothing_is_audited(
        self, log: MemoryLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(madeup_rules.MadeUpRules, "summary", lambda *_: ())
        bring(log, tmp_path, record("summary", "s", None, text="much", kept=[]))
        (audited,) = audit(log, "one").compactions
        assert (audited.messages, audited.summary_tokens) == (Counts(summarized=0, kept=0, dropped=0), 0)


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
        assert [(each.tokens, each.messages) for each in moments] == [
            (sum(tokens.count(parts)), len(parts)) for parts in contexts
        ]
        first = calls[0]
        overhead = first.usage.prompt - sum(tokens.count(above[first.id]))
        for before, call in pairwise(calls):
            one, other = above[before.id], above[call.id]
            share = Fraction(
                sum(tokens.count(other[: shared_prefix_length(one, other)])), sum(tokens.count(one))
            )
            fixed = min(overhead, before.usage.prompt)
            assert call.cached_tokens == min(
                fixed + int((before.usage.prompt - fixed) * share), call.usage.prompt
            )

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
            *TestPrefixes.BORN,
            say("q", "y", "model", session="two", tokens=100),
            say("r", "q", session="two"),
            say("t", "r", "model", session="two", tokens=150),
        )
        self.check(log, "two")


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


class TestNotes:
    def test_a_note_is_never_the_leaf(self, log: MemoryLog, tmp_path: Path) -> None:
        bring(
            log,
            tmp_path,
            say("a", None),
            say("b", "a", "model"),
            record("count", "n", "b", about="b", tokens=50),
        )
        context = build_context(log, "one")
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

    def test_as_of_an_event_before_the_note_nothing_is_known(self, log: MemoryLog, tmp_path: Path) -> None:
        bring(
            log,
            tmp_path,
            say("a", None),
            say("b", "a", "model"),
            record("count", "n", "b", about="b", tokens=50),
        )
        with log.snapshot() as snapshot:
            cursor = resolve_cursor(snapshot, "one", as_of=2)
            assert [message.usage for _, message, *_ in answers(snapshot, cursor)] == [None]
            assert context_size(snapshot, cursor, counter("utf16/4")).measured is None


class TestPrefixes:
    BORN = (
        say("a", None),
        say("b", "a", "model"),
        say("c", "b"),
        record("born", "z", None, "two", of="one", at="b"),
        say("x", None, session="two"),
        say("y", "x", "model", session="two"),
    )

    def test_a_context_begins_with_that_of_an_entry_of_another_session(
        self, log: MemoryLog, tmp_path: Path
    ) -> None:
        bring(log, tmp_path, *self.BORN)
        assert shown(log, "two") == ["text of a", "text of b", "text of x", "text of y"]
        assert shown(log) == ["text of a", "text of b", "text of c"]

    def test_its_parts_name_the_session_that_they_come_from(self, log: MemoryLog, tmp_path: Path) -> None:
        bring(log, tmp_path, *self.BORN)
        parts = build_context(log, "two").parts
        assert [part.session for part in parts] == ["one", "one", "two", "two"]
        assert len({part.key for part in parts}) == len(parts)

    def test_a_compaction_hides_it(self, log: MemoryLog, tmp_path: Path) -> None:
        compaction = record("summary", "s", "y", "two", text="all", kept=[])
        bring(log, tmp_path, *self.BORN, compaction)
        assert shown(log, "two") == ["So far: all"]

    def test_a_prefix_may_have_one_of_its_own(self, log: MemoryLog, tmp_path: Path) -> None:
        third = record("born", "zz", None, "three", of="two", at="x"), say("q", None, session="three")
        bring(log, tmp_path, *self.BORN, *third)
        assert shown(log, "three") == ["text of a", "text of b", "text of x", "text of q"]

    def test_an_audit_counts_it_among_what_a_compaction_removed(self, log: MemoryLog, tmp_path: Path) -> None:
        compaction = record("summary", "s", "y", "two", text="all", kept=["y"])
        bring(log, tmp_path, *self.BORN, compaction)
        (audited,) = audit(log, "two").compactions
        size = audited.metrics.size
        whole = sum(part.utf16 for part in build_context(log, "two", leaf="y").parts)
        kept = sum(part.utf16 for part in build_context(log, "two", leaf="y").parts[3:])
        assert (size.before, size.kept, size.removed) == (whole, kept, whole - kept)

    def test_equal_messages_of_equal_number_are_read_as_each_sessions_own(
        self, log: MemoryLog, tmp_path: Path
    ) -> None:
        hello = {"who": "person", "text": "see findModel"}
        born = record("born", "z", None, "two", of="one", at="c")
        first = say("a", None), say("b", "a"), record("say", "c", "b", message=hello)
        bring(log, tmp_path, *first, born, record("say", "x", None, "two", message=hello))
        parts = [part for part in build_context(log, "two").parts if "findModel" in part.raw.decode()]
        assert {part.seq for part in parts} == {3}
        assert [held.id for held in SessionFacts().of_parts(parts)] == ["c", "x"]

    def test_what_it_hides_of_it_is_summarized(self, log: MemoryLog, tmp_path: Path) -> None:
        compaction = record("summary", "s", "y", "two", text="all", kept=["y"])
        bring(log, tmp_path, *self.BORN, compaction)
        (audited,) = audit(log, "two").compactions
        assert audited.messages == Counts(summarized=3, kept=1, dropped=0)
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
        bring(log, tmp_path, *self.BORN, record("born", "zz", None, "one", of="two", at="x"))
        with pytest.raises(CorruptionError):
            build_context(log, "two")


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
        facts = SessionFacts().of_parts(build_context(worked, "one").parts)
        assert [held.mentions.get(MentionKind.COMMAND, ()) for held in facts] == [
            (),
            ("make all",),
            (),
            (),
        ]

    def test_a_line_shows_what_its_calls_are_about(self, worked: MemoryLog) -> None:
        with worked.snapshot() as snapshot:
            line = summary_line(event(snapshot, "one", 2).decode())
        assert line == "→ look read.x, put, read, do make all, bash"

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

    def test_instructions_are_those_of_persons(self, log: MemoryLog, tmp_path: Path) -> None:
        rule = "You must never touch the migrations folder of the service."
        bring(
            log,
            tmp_path,
            say("a", None, text=rule),
            say("b", "a", "model"),
            say("c", "b", text=rule.replace("migrations", "generated"), told_by="harness"),
            say("d", "c", "model"),
            record("summary", "s", "d", text="all of it"),
        )
        with log.snapshot() as snapshot:
            cursor = resolve_cursor(snapshot, "one")
            *earlier, compaction = path(snapshot, cursor)
            found = instructions(
                replacement_of(compaction, snapshot, cursor, earlier=earlier), SessionFacts()
            )
        assert [(each.text, each.event) for each in found.rules] == [(rule, "a")]


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
        assert [title(log, "one", as_of=seq) for seq in seqs] == [expected for _, expected in steps]
        assert title(log, "one", as_of=seqs[0] - 1) == ""
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

    def test_what_is_settled_is_arranged_once(self, long: MemoryLog) -> None:
        with long.snapshot() as snapshot:
            cursor = resolve_cursor(snapshot, "one")
            entries = path(snapshot, cursor)
            along = IncrementalContexts(snapshot, cursor, entries)
            before = madeup_rules.MadeUpRules.arranged
            last = [along.context_at(entry.seq) for entry in entries][-1]
            assert madeup_rules.MadeUpRules.arranged - before < 6 * self.LENGTH
            assert last.parts == build_context(snapshot, "one").parts

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
