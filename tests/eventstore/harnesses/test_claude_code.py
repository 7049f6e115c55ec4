"""Import Claude Code's records, and check their events and contents."""

from __future__ import annotations

import io
import json
import random
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.branching.move import move_to
from eventstore.event import Event, Flag
from eventstore.facts import facts_of_node
from eventstore.files.exporting import export_session
from eventstore.files.importing import import_sessions
from eventstore.files.matching import FROM_START, SessionMatcher
from eventstore.harnesses import harness, node_of
from eventstore.harnesses.base import Certainty
from eventstore.harnesses.claude_code import meaning
from eventstore.harnesses.claude_code.record import fields_of, kind_of
from eventstore.harnesses.claude_code.transcript_file import ClaudeCodeFile
from eventstore.harnesses.claude_code.transcript_lines import alone
from eventstore.harnesses.source import Source, SourceRecord, one_by_one
from eventstore.javascript import DEEPEST_RECORD, is_deeper, is_utf8
from eventstore.log import EventLog
from eventstore.memory import MemoryLog
from eventstore.verify import verify
from eventstore.writing import SessionWriter
from projections.context.build import build_context
from projections.context.cursor import resolve_cursor
from projections.descriptions import title
from projections.usage import answers
from tests.support.claude_code import (
    SESSION,
    answer,
    attached,
    boundary,
    bring,
    call,
    line,
    note,
    record,
    result,
    said,
    some_session,
    summary,
    system,
)
from tests.support.events import events

HI = said("u", None, "hi")
SNAPSHOT = line(type="file-history-snapshot", messageId="m")


@pytest.mark.parametrize(
    ("content", "certainty"),
    [
        (HI, Certainty.SURE),
        (b"\n\n" + HI[:400] + b"\n" + HI, Certainty.SURE),
        (line(type="summary", summary="s", leafUuid="u"), Certainty.SURE),
        (line(type="fork-context-ref", agentId="a"), Certainty.SURE),
        (said("u", None, "x" * 100_000)[: 64 << 10], Certainty.SURE),
        (SNAPSHOT, Certainty.SURE),
        (b'{"type":"session","id":"s"}\n{"type":"message","id":"a"}', Certainty.NONE),
        (b"", Certainty.NONE),
        (b"\x00\xff{", Certainty.NONE),
    ],
)
def test_a_file_is_recognized_by_its_contents(content: bytes, certainty: Certainty) -> None:
    assert harness("claude-code").recognize(content, "anything") is certainty


@pytest.mark.parametrize(
    ("made", "kind", "role", "is_by_person"),
    [
        (HI, "message", "user", True),
        (said("u", None, "skill", isMeta=True), "custom_message", "custom", False),
        (said("u", None, "<command-name>/copy</command-name>"), "custom_message", "custom", False),
        (said("u", None, "[Request interrupted by user]"), "custom_message", "custom", False),
        (said("u", None, "Operation stopped by hook: no"), "custom_message", "custom", False),
        (said("u", None, "<task-notification>done"), "custom_message", "custom", False),
        (result("u", None, "c", "out"), "message", "toolResult", False),
        (answer("u", None, "m", "ok"), "message", "assistant", False),
        (summary("u", "k"), "compaction", "compactionSummary", False),
        (boundary("u", None), "custom", "", False),
        (system("u", None, "local_command", content="ls"), "custom_message", "custom", False),
        (system("u", None, "turn_duration"), "custom", "", False),
        (attached("u", None, {"type": "queued_command", "prompt": "wait"}), "custom_message", "custom", True),
        (attached("u", None, {"type": "hook_success", "content": ""}), "custom", "", False),
        (record("u", None, "progress", data={}), "custom", "", False),
        (record("u", None, "brand-new"), "brand-new", "", False),
        (record("u", None, "message"), "claude-code:message", "", False),
        (note("mode", mode="plan"), "note", "", False),
        (note("brand-new"), "note", "", False),
    ],
)
def test_each_record_is_an_event_of_its_kind(
    tmp_path: Path, made: bytes, kind: str, role: str, *, is_by_person: bool
) -> None:
    log = MemoryLog()
    bring(log, tmp_path / "s.jsonl", note("last-prompt"), made)
    (event,) = (each for each in events(log, SESSION) if each.body == made)
    assert (event.kind, event.role) == (kind, role)
    assert node_of(event).by_person is is_by_person


def test_the_usage_of_a_message_is_that_of_its_last_record(tmp_path: Path) -> None:
    log = MemoryLog()
    written = {"ephemeral_1h_input_tokens": 3, "ephemeral_5m_input_tokens": 4}
    last = {
        "input_tokens": 1,
        "output_tokens": 9,
        "cache_read_input_tokens": 5,
        "cache_creation_input_tokens": 7,
        "cache_creation": written,
    }
    bring(
        log,
        tmp_path / "s.jsonl",
        HI,
        answer("a", "u", "m", "one", usage={**last, "output_tokens": 2}),
        answer("b", "a", "m", call("c"), usage=last),
    )
    with log.snapshot() as snapshot:
        found = [each.message.usage for each in answers(snapshot, resolve_cursor(snapshot, SESSION))]
    (usage,) = (each for each in found if each)
    assert (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.cache_write_1h) == (
        1,
        9,
        5,
        7,
        3,
    )
    assert usage.total == 22


def test_a_repeat_is_skipped_and_another_record_under_its_id_is_kept(tmp_path: Path) -> None:
    log = MemoryLog()
    (imported,) = bring(log, tmp_path / "s.jsonl", HI, HI, said("u", None, "other"))
    assert [each.line for each in imported.skipped] == [2]
    assert [each.line for each in imported.differs_from_harness] == [3]
    assert [each.id for each in events(log, SESSION) if each.kind == "message"] == ["u", "u~2"]


def test_records_continue_from_the_one_that_took_an_id(tmp_path: Path) -> None:
    log, path = MemoryLog(), tmp_path / "s.jsonl"
    lines = (HI, said("u", None, "other"), answer("a", "u", "m", "ok"))
    bring(log, path, *lines)
    assert [part.id for part in build_context(log, SESSION).parts] == ["u~2", "a"]
    bring(log, path, *lines, answer("b", "u", "n", "again"))
    assert [part.id for part in build_context(log, SESSION).parts] == ["u~2", "b"]
    # A record that names itself does not go round in a circle.
    bring(log, path, *lines, answer("b", "u", "n", "again"), said("u", "u", "third"))
    assert [part.id for part in build_context(log, SESSION).parts] == ["u~2", "u~3"]


CALLS = answer(
    "a", "u", "m", {"type": "tool_use", "id": "c", "name": "Read", "input": {"type": "text", "x": {}}}
)


@pytest.mark.parametrize("cut", [*range(1, 40), *range(len(CALLS) - 200, len(CALLS), 7)])
def test_a_record_that_is_being_written_is_read_when_it_is_complete(tmp_path: Path, cut: int) -> None:
    log, path = MemoryLog(), tmp_path / "s.jsonl"
    path.write_bytes(HI + b"\n" + CALLS[:cut])
    (torn,) = import_sessions(log, path)
    assert [each.id for each in events(log, SESSION) if each.kind != "import"] == ["u"]
    assert [(each.line, each.reason) for each in torn.skipped] == [
        (2, "the file ends in the middle of this record")
    ]
    (whole,) = bring(log, path, HI, CALLS)
    assert (whole.added, whole.skipped) == (1, [])
    assert [each.id for each in events(log, SESSION) if each.kind != "import"] == ["u", "a"]


def test_a_record_behind_a_torn_one_is_found_but_no_block_inside_it(tmp_path: Path) -> None:
    log, path = MemoryLog(), tmp_path / "s.jsonl"
    (imported,) = bring(log, path, HI, CALLS[:-30] + said("v", "u", "more"))
    assert [each.id for each in events(log, SESSION) if each.kind != "import"] == ["u", "v"]
    assert [each.line for each in imported.skipped] == [2]
    assert [each.line for each in imported.differs_from_harness] == [2]


def test_two_records_in_one_line_are_read_and_reported(tmp_path: Path) -> None:
    log, path = MemoryLog(), tmp_path / "s.jsonl"
    (imported,) = bring(log, path, HI, CALLS + said("v", "a", "more"))
    assert [each.id for each in events(log, SESSION) if each.kind != "import"] == ["u", "a", "v"]
    assert imported.skipped == []
    assert [(each.line, each.reason) for each in imported.differs_from_harness] == [
        (2, "2 records in one line: Claude Code reads nothing of this line")
    ]


@pytest.mark.parametrize(("leaf", "expected"), [("u", "Talk"), ("elsewhere", ""), (None, "Talk")])
def test_a_summary_is_the_title_of_the_session_that_has_its_leaf(
    tmp_path: Path, leaf: str | None, expected: str
) -> None:
    log = MemoryLog()
    bring(log, tmp_path / "s.jsonl", line(type="summary", summary="Talk", leafUuid=leaf), HI)
    assert title(log, SESSION) == expected


TALK = (HI, answer("a", "u", "m", "ok"), said("v", "a", "more"), answer("b", "v", "n", "done"))


@pytest.mark.parametrize("first", [1, 4, 6])
def test_a_rewind_after_which_nothing_is_said_moves_the_session(tmp_path: Path, first: int) -> None:
    log, path = MemoryLog(), tmp_path / "s.jsonl"
    lines = [*TALK, note("last-prompt", leafUuid="b"), note("last-prompt", leafUuid="a")]
    away = answer("c", "a", "o", "else")
    for count in (first, 6, 6):
        bring(log, path, *lines[:count])
    assert _shown(log) == ["u", "a"]
    bring(log, path, *lines, away)
    assert _shown(log) == ["u", "a", "c"]
    bring(log, path, *lines, away, note("last-prompt", leafUuid="b"))
    assert _shown(log) == ["u", "a", "v", "b"]
    bring(log, path, *lines, away, note("last-prompt", leafUuid="b"), note("last-prompt", leafUuid="nowhere"))
    assert _shown(log) == ["u", "a", "v", "b"]
    bring(log, path, *lines, away, note("last-prompt", leafUuid="b"), said("w", "b", "on"))
    assert _shown(log)[-2:] == ["b", "w"]
    assert verify(log).findings == []


@pytest.mark.parametrize("cuts", [(6,), (5, 6), (3, 5, 6)])
def test_a_rewind_moves_the_session_where_a_parent_came_late(tmp_path: Path, cuts: tuple[int, ...]) -> None:
    log, (first, second, third, fourth) = MemoryLog(), TALK
    lines = [first, third, second, fourth, said("w", "b", "on"), note("last-prompt", leafUuid="b")]
    for count in cuts:
        bring(log, tmp_path / "s.jsonl", *lines[:count])
    assert _shown(log) == ["u", "a", "v", "b"]


def test_records_that_tell_nothing_behind_the_named_leaf_are_no_rewind(tmp_path: Path) -> None:
    log, behind = MemoryLog(), system("t", "b", "turn_duration")
    bring(log, tmp_path / "s.jsonl", *TALK, behind, note("last-prompt", leafUuid="b"))
    assert [each.kind for each in events(log, SESSION) if each.is_entry] == [*["message"] * 4, "custom"]


def test_a_boundary_whose_summary_is_lost_hides_nothing(tmp_path: Path) -> None:
    log = MemoryLog()
    bring(log, tmp_path / "s.jsonl", *TALK, boundary("x", "b"), said("w", "x", "next"))
    assert _shown(log) == ["u", "a", "v", "b", "w"]


def _shown(log: MemoryLog) -> list[str]:
    return [part.id for part in build_context(log, SESSION).parts]


def test_the_same_metadata_may_come_any_number_of_times(tmp_path: Path) -> None:
    log, path = MemoryLog(), tmp_path / "s.jsonl"
    same = note("mode", mode="normal")
    for count in (1, 3, 3, 9):
        bring(log, path, HI, *[same] * count)
    found = [each.id for each in events(log, SESSION) if each.kind == "note"]
    assert len(found) == len(set(found)) == 9


def test_an_export_that_comes_back_is_known(tmp_path: Path) -> None:
    log, path = MemoryLog(), tmp_path / "s.jsonl"
    bring(log, path, HI, answer("a", "u", "m", "ok"), said("v", "a", "more"))
    move_to(SessionWriter(log, SESSION, clock=lambda: 0, new_id=lambda: "moved"), "a")
    exported = b"".join(export_session(log, SESSION, "claude-code"))
    added = json.loads(exported.splitlines()[-1])
    assert (added["type"], added["uuid"], added["parentUuid"]) == ("system", "moved", "a")
    path.write_bytes(exported)
    (again,) = import_sessions(log, path)
    assert (again.added, again.rewritten, again.diverged) == (0, 0, False)


def test_a_boundary_under_a_taken_id_does_not_belong_to_the_summary_before_it(
    log: EventLog, tmp_path: Path
) -> None:
    kept = {"headUuid": "u", "tailUuid": "s", "anchorUuid": "x"}
    bring(
        log,
        tmp_path / "s.jsonl",
        HI,
        said("b", "u", "more"),
        summary("s", "gone"),
        boundary("b", "s", preservedSegment=kept),
    )
    assert verify(log).findings == []


class CountedFile(io.BufferedReader):
    """A file that counts the bytes that are read of it."""

    bytes_read = 0

    def read(self, size: int | None = -1, /) -> bytes:
        return self._counted(super().read(size))

    def __next__(self) -> bytes:
        return self._counted(super().__next__())

    def _counted(self, data: bytes) -> bytes:
        self.bytes_read += len(data)
        return data


@pytest.mark.parametrize("ids", [["a", "b", "c"], ["b", "a", "c"]], ids=["in order", "a parent comes later"])
def test_a_file_is_read_once(tmp_path: Path, ids: list[str]) -> None:
    parents = {"a": None, "b": "a", "c": "b"}
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(said(each, parents[each], each) + b"\n" for each in ids))
    with CountedFile(io.FileIO(path)) as file:
        source = Source(file, path, str(path))
        source.file = file
        contents = ClaudeCodeFile(source)
        reader = SessionMatcher(MemoryLog(), source, contents, None).reader(FROM_START)
        file.bytes_read = 0
        read = [piece.event for piece in one_by_one(reader.pieces()) if isinstance(piece, SourceRecord)]
        assert file.bytes_read == source.size
    assert [(event.id, event.parent) for event in read] == [(each, parents[each]) for each in ids]


_BLOCKS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            ["text", "thinking", "redacted_thinking", "tool_use", "tool_result", "image", "other"]
        )
    },
    optional={
        "text": st.text() | st.integers(),
        "thinking": st.text(),
        "signature": st.text(),
        "data": st.text(),
        "name": st.text(),
        "input": st.dictionaries(st.text(), st.text() | st.floats() | st.lists(st.integers())),
        "content": st.text() | st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": st.text()})),
        "source": st.fixed_dictionaries({"type": st.sampled_from(["base64", "url"])}),
    },
)
_MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "robot"])},
    optional={
        "content": st.text() | st.lists(_BLOCKS, max_size=3) | st.none() | st.integers(),
        "model": st.sampled_from(["m", "<synthetic>"]),
        "isMeta": st.booleans(),
    },
)


class TestFacts:
    """An import does not make the node of a message, and stores the same beside it."""

    @given(
        message=_MESSAGES,
        type_=st.sampled_from(["user", "assistant", "system"]),
        flags=st.dictionaries(
            st.sampled_from(["isMeta", "isCompactSummary", "isApiErrorMessage"]), st.booleans() | st.none()
        ),
        is_ascii=st.booleans(),
        damage=st.sampled_from([b"", b"\xff", b"}", b"[" * 600 + b"]" * 600]),
    )
    def test_a_message_has_those_of_its_node(
        self, *, message: dict[str, Any], type_: str, flags: dict[str, Any], is_ascii: bool, damage: bytes
    ) -> None:
        fields = {"type": type_, "uuid": "u", "parentUuid": None, "message": message, **flags, "x": "DAMAGE"}
        text = json.dumps(fields, ensure_ascii=is_ascii, separators=(",", ":"))
        body = text.encode("utf-8", "surrogatepass").replace(b'"DAMAGE"', damage or b"1")
        try:
            every = fields_of(body)
        except msgspec.DecodeError:
            assert alone(body) is None
            return
        if (only := alone(body)) is not None:
            assert only == every
            assert is_utf8(body)
            assert not is_deeper(body, DEEPEST_RECORD)
        kind, flags = kind_of(every), 0 if is_utf8(body) else Flag.REPLACED_TEXT
        assert meaning.facts_of(kind, body, every, flags) == facts_of_node(
            meaning.node_of(kind, every), kind, body
        )

    def test_messages_of_both_sides_and_results_are_alone(self) -> None:
        sides = HI, answer("u", None, "m", "ok"), result("u", None, "c", "out")
        assert all(alone(each.rstrip()) is not None for each in sides)

    @pytest.mark.parametrize("seed", range(20))
    def test_a_file_of_them_is_read_as_one_with_blanks_at_the_ends_of_lines(self, seed: int) -> None:
        rng = random.Random(seed)
        session = [each.rstrip(b"\n") for each in some_session(rng, most=30)]
        plain, blank = (_events_of(b"".join(each + end for each in session)) for end in (b"\n", b" \n"))
        assert plain == blank


def _events_of(content: bytes) -> list[Event]:
    log = MemoryLog(clock=lambda: 0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s.jsonl")
        path.write_bytes(content)
        found = import_sessions(log, path)
    # What refold adds names the digest of the file.
    return [event for each in found for event in events(log, each.id) if event.format != "refold/1"]
