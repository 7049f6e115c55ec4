"""Entries as pi writes them: what the log keeps of them, and the messages in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore.event import ROLES, EventFacts, Flag
from eventstore.facts import facts_of_node
from eventstore.harnesses import format_of, node_of
from eventstore.harnesses.pi.entry import READERS, Entry, entry_of, node_of_entry
from eventstore.harnesses.pi.file import PiHeader, PiReader
from eventstore.harnesses.pi.message import message_view, usage_view
from eventstore.harnesses.source import SeenRecords, Source
from eventstore.javascript import tolerant_json
from eventstore.memory import MemoryLog
from eventstore.views import Block, Extension, Image, Message, Opaque, Shell, Text, Thinking, ToolCall, Usage
from tests.support.events import compaction, event, events, message


def facts(kind: str, *, format: str = "pi/3", **fields: Any) -> EventFacts:
    return facts_of_body(format, kind, json.dumps({"type": kind, **fields}).encode())


def facts_of_body(format: str, kind: str, body: bytes) -> EventFacts:
    return facts_of_node(format_of(format).node(format, kind, body), kind, body)


def message_of(kind: str, entry: Entry) -> Message | None:
    return node_of_entry(kind, entry, READERS).message


def view(**fields: Any) -> Message:
    return message_view(json.dumps(fields).encode())


class TestFacts:
    def test_the_span_of_a_message_is_its_json_as_it_came(self) -> None:
        body = b'{"type":"message","id":"a","message": { "role":"user","content":"h\xc3\xa9" } ,"x":1}'
        start, stop = facts_of_body("pi/3", "message", body).message
        assert body[start:stop] == b'{ "role":"user","content":"h\xc3\xa9" }'

    def test_a_message_that_quotes_itself_has_a_span_of_the_same_bytes(self) -> None:
        inner = {"role": "user", "content": '"message":{"role":"user"}'}
        body = json.dumps({"note": '"message":1', "type": "message", "message": inner}).encode()
        start, stop = facts_of_body("pi/3", "message", body).message
        assert json.loads(body[start:stop]) == inner

    def test_of_two_messages_the_last_counts(self) -> None:
        body = b'{"type":"message","message":{"role":"user"},"message":{"role":"assistant"}}'
        found = facts_of_body("pi/3", "message", body)
        assert found.role == "assistant"
        assert body[slice(*found.message)] == b'{"role":"assistant"}'

    @pytest.mark.parametrize("kind", ["custom", "pi:rewrite", "unknown", "label"])
    def test_an_entry_of_another_kind_has_no_span_whatever_it_holds(self, kind: str) -> None:
        assert facts(kind, message={"role": "user", "content": "x"}) == EventFacts()

    @pytest.mark.parametrize(
        ("kind", "fields", "role"),
        [
            ("message", {"message": {"role": "user"}}, "user"),
            ("message", {"message": {"role": "bashExecution", "command": "ls"}}, "bashExecution"),
            ("message", {"message": {"role": "robot"}}, "other"),
            ("message", {"message": {"role": 5}}, "other"),
            ("message", {"message": None}, "other"),
            ("message", {}, ""),
            ("custom_message", {"content": "x"}, "custom"),
            ("compaction", {"summary": "x"}, "compactionSummary"),
            ("branch_summary", {"summary": "x"}, "branchSummary"),
            ("custom", {}, ""),
        ],
    )
    def test_the_role_is_that_of_the_message_that_an_entry_is_or_holds(
        self, kind: str, fields: dict[str, Any], role: str
    ) -> None:
        assert facts(kind, **fields).role == role

    @pytest.mark.parametrize(
        ("format", "role"), [("pi/1", "custom"), ("pi/2", "custom"), ("pi/3", "hookMessage")]
    )
    def test_a_hook_message_is_a_custom_one_where_pi_renames_it(self, format: str, role: str) -> None:
        found = facts("message", format=format, message={"role": "hookMessage", "content": "x"})
        assert found.role == role
        assert bool(found.flags & Flag.MIGRATED_ROLE) == (role == "custom")
        assert (found.message == (0, 0)) == (role == "custom")

    @pytest.mark.parametrize(
        ("kind", "fields", "flags"),
        [
            ("model_change", {}, Flag.SETS_MODEL),
            ("thinking_level_change", {}, Flag.SETS_THINKING),
            ("message", {"message": {"role": "assistant", "stopReason": "error"}}, Flag.SETS_MODEL),
            ("message", {"message": {"role": "user"}}, 0),
        ],
    )
    def test_what_sets_model_and_thinking_level_is_flagged(
        self, kind: str, fields: dict[str, Any], flags: int
    ) -> None:
        assert facts(kind, **fields).flags == flags

    @pytest.mark.parametrize(
        ("kind", "fields", "target"),
        [
            ("compaction", {"firstKeptEntryId": "a"}, "a"),
            ("label", {"targetId": "a"}, "a"),
            ("undone", {"targetId": "a"}, "a"),
            ("compaction", {"targetId": "a"}, None),
            ("label", {"targetId": ""}, None),
            ("label", {"targetId": 5}, None),
            ("label", {}, None),
        ],
    )
    def test_an_entry_points_at_what_it_names(
        self, kind: str, fields: dict[str, Any], target: str | None
    ) -> None:
        assert facts(kind, **fields).target == target

    def test_bytes_that_are_no_utf_8_are_flagged_and_have_no_span(self) -> None:
        body = b'{"type":"message","message":{"role":"user","content":"a\xffbcde"}}'
        found = facts_of_body("pi/3", "message", body)
        assert (found.flags, found.message, found.role) == (Flag.REPLACED_TEXT, (0, 0), "user")
        assert found.utf16 == 2

    @pytest.mark.parametrize(
        ("content", "utf16", "utf8"),
        [("abcde", 2, 2), ([{"type": "text", "text": "a"}, {"type": "image", "data": "x"}], 1, 1201)],
    )
    def test_estimates_are_those_of_the_message(self, content: Any, utf16: int, utf8: int) -> None:
        found = facts("message", message={"role": "user", "content": content})
        assert (found.utf16, found.utf8) == (utf16, utf8)


class TestMessages:
    @pytest.mark.parametrize(
        ("content", "blocks"),
        [
            ("text", (Text("text"),)),
            (None, ()),
            ([], ()),
            (5, ()),
            ([{"type": "text", "text": "a"}, {"type": "text"}], (Text("a"), Text(""))),
            ([{"type": "thinking", "thinking": "a", "thinkingSignature": "s"}], (Thinking("a", "s"),)),
            (
                [{"type": "toolCall", "id": "1", "name": "read", "arguments": {"path": "a"}}],
                (ToolCall("1", "read", b'{"path": "a"}'),),
            ),
            ([{"type": "toolCall", "id": "1", "name": "read"}], (ToolCall("1", "read", b"{}"),)),
            ([{"type": "image", "mimeType": "image/png", "data": "abcd"}], (Image("image/png", 4),)),
            ([{"type": "redactedThinking", "data": "é"}], (Opaque("redactedThinking", 2),)),
            ([{"text": "a"}], (Opaque("", 0),)),
            ([{"type": "text", "text": 5}, "no block", None, {"type": 7}], (Text(""), Opaque("", 0))),
        ],
    )
    def test_content_becomes_blocks(self, content: Any, blocks: tuple[Block, ...]) -> None:
        assert view(role="assistant", content=content).blocks == blocks

    def test_a_result_names_its_call(self) -> None:
        found = view(role="toolResult", toolCallId="1", toolName="read", isError=True, content="no")
        assert (found.tool_call_id, found.tool_name, found.is_error) == ("1", "read", True)

    def test_an_assistant_names_its_model_and_why_it_stopped(self) -> None:
        found = view(role="assistant", provider="p", model="m", stopReason="toolUse", content=[])
        assert (found.provider, found.model, found.stop_reason) == ("p", "m", "toolUse")

    @pytest.mark.parametrize(
        ("usage", "total"),
        [
            ({"input": 1, "output": 20, "cacheRead": 300, "cacheWrite": 4000, "totalTokens": 9}, 9),
            ({"input": 1, "output": 20, "cacheRead": 300, "cacheWrite": 4000, "totalTokens": 0}, 4321),
            ({"input": 1, "output": 20, "cacheRead": 300, "cacheWrite": 4000}, 4321),
            ({"input": 1}, 1),
            ({"input": "many", "output": 20}, 20),
        ],
    )
    def test_usage_has_the_total_that_is_told_or_the_sum(self, usage: dict[str, Any], total: int) -> None:
        found = view(role="assistant", content=[], usage=usage).usage
        assert found is not None
        assert found.total == total

    @pytest.mark.parametrize("odd", [b'"\\ud800"', b'{"\\ud800":1}', b"[]", b"true", b"null"])
    def test_a_number_of_tokens_that_is_none_is_as_if_it_were_missing(self, odd: bytes) -> None:
        raw = b'{"role":"assistant","usage":{"input":%b,"output":3,"cost":{"total":%b}}}' % (odd, odd)
        assert message_view(raw).usage == Usage(output=3, total=3)

    @pytest.mark.parametrize("tokens", [b"1e999", b"-1e999"])
    def test_a_usage_beyond_all_numbers_counts_nothing(self, tokens: bytes) -> None:
        raw = b'{"role":"assistant","content":[],"usage":{"input":%s,"output":3,"totalTokens":%s}}' % (
            tokens,
            tokens,
        )
        assert message_view(raw).usage == Usage(output=3, total=3)

    @pytest.mark.parametrize("tokens", [-1, 2**53 + 2, "1"])
    def test_a_count_that_none_can_be_counts_nothing(self, tokens: Any) -> None:
        usage = {"input": tokens, "cacheWrite": 3, "cacheWrite1h": tokens, "cost": {"total": tokens}}
        assert view(role="assistant", content=[], usage=usage).usage == Usage(cache_write=3, total=3)

    @pytest.mark.parametrize(
        ("cost", "dollars"), [({"total": 0.25}, 0.25), ({"total": 0}, 0), ({}, None), (None, None), (7, None)]
    )
    def test_a_usage_has_the_cost_that_its_harness_reckoned(self, cost: Any, dollars: float | None) -> None:
        found = view(role="assistant", content=[], usage={"input": 3, "cost": cost}).usage
        assert found == Usage(input=3, total=3, cost=dollars)

    @pytest.mark.parametrize(("hour", "of_them"), [(2, 2), (9, 5), (None, 0)])
    def test_tokens_cached_for_an_hour_are_part_of_those_cached(self, hour: int | None, of_them: int) -> None:
        found = view(role="assistant", content=[], usage={"cacheWrite": 5, "cacheWrite1h": hour}).usage
        assert found == Usage(cache_write=5, cache_write_1h=of_them, total=5)

    def test_a_usage_by_itself_is_read_like_a_messages(self) -> None:
        usage = {"input": 1, "output": "many", "cacheRead": 2, "cost": {"total": 0.5}}
        assert usage_view(usage) == view(role="assistant", content=[], usage=usage).usage
        assert usage_view([usage]) is None

    @pytest.mark.parametrize("usage", [None, 5, []])
    def test_no_usage_is_none(self, usage: Any) -> None:
        assert view(role="assistant", content=[], usage=usage).usage is None

    def test_a_command_is_a_shells(self) -> None:
        found = view(
            role="bashExecution",
            command="ls",
            output="a",
            exitCode=1,
            cancelled=False,
            truncated=True,
            fullOutputPath="/home/all",
            excludeFromContext=True,
        )
        assert found.shell == Shell(
            command="ls", output="a", exit_code=1, truncated=True, full_output="/home/all", excluded=True
        )

    def test_a_field_of_a_wrong_type_is_as_if_it_were_not_there(self) -> None:
        found = view(role="toolResult", toolCallId=5, toolName="read", isError="yes", content="x")
        assert (found.tool_call_id, found.tool_name, found.is_error, found.text) == ("", "read", False, "x")

    @pytest.mark.parametrize("raw", [b"null", b"5", b'"text"', b"[]"])
    def test_a_message_that_is_no_object_is_an_empty_one(self, raw: bytes) -> None:
        assert message_view(raw) == Message(role="")

    def test_lone_surrogates_pass(self) -> None:
        assert message_view(b'{"role":"user","content":"\\ud800"}').text == "\ud800"

    def test_a_summary_is_a_message_of_its_text(self) -> None:
        assert view(role="branchSummary", summary="s", content="no").text == "s"


damaged_entries = st.builds(
    lambda entry, at, damage: entry[:at] + damage + entry[at:],
    st.dictionaries(
        st.sampled_from(["type", "id", "parentId", "timestamp", "message"]) | st.text(max_size=3),
        st.none() | st.integers() | st.text(max_size=5) | st.lists(st.booleans(), max_size=2),
        max_size=4,
    ).map(lambda entry: json.dumps(entry, ensure_ascii=False).encode("utf-8", "surrogatepass")),
    st.integers(0, 60),
    st.binary(max_size=1),
)
"""Objects of JSON, whole or with a byte too many."""


UNNAMED = Extension(type="")


class TestEntries:
    @pytest.mark.parametrize(
        ("kind", "fields", "expected"),
        [
            (
                "custom_message",
                {"content": "x"},
                Message(role="custom", blocks=(Text("x"),), extension=UNNAMED),
            ),
            ("custom_message", {}, Message(role="custom", extension=UNNAMED)),
            ("custom_message", {"content": {"no": 1}}, Message(role="custom", extension=UNNAMED)),
            ("compaction", {"summary": "s"}, Message(role="compactionSummary", blocks=(Text("s"),))),
            ("compaction", {"summary": 5}, Message(role="compactionSummary")),
            ("branch_summary", {"summary": ""}, Message(role="branchSummary", blocks=(Text(""),))),
            ("custom", {"content": "x"}, None),
            ("message", {}, None),
        ],
    )
    def test_the_message_that_an_entry_is(
        self, kind: str, fields: dict[str, Any], expected: Message | None
    ) -> None:
        record = json.dumps({"type": kind, **fields}).encode()
        assert message_of(kind, entry_of(record)) == expected

    @pytest.mark.parametrize("body", [b"", b"{", b"[]", b"5", b"null", b'{"a":NaN}', b'{"a":1}{}', b"\xff"])
    def test_what_is_no_json_object_is_no_entry(self, body: bytes) -> None:
        with pytest.raises(msgspec.DecodeError):
            entry_of(body)

    def test_what_is_nested_without_end_is_no_entry(self) -> None:
        with pytest.raises(msgspec.DecodeError):
            entry_of(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}")

    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            (b'{"id":"\\ud800"}', "\ud800"),
            (b'{"id":"\xff"}', "\ufffd"),
            (b'{"id":"a","x":%s}' % (b"1" * 5000), "a"),
            (b'{"id":"a","x":1e999}', "a"),
            (b'{"id":"a","id":"b"}', "b"),
        ],
    )
    def test_an_entry_is_read_as_javascript_reads_it(self, body: bytes, expected: str) -> None:
        assert entry_of(body).id == expected
        assert tolerant_json(body)["id"] == expected

    def test_a_message_beside_a_lone_surrogate_is_read_too(self) -> None:
        body = b'{"type":"message","id":"\\ud800","message":{"role":"user","content":"h\xc3\xa9"}}'
        found = message_of("message", entry_of(body))
        assert found is not None
        assert found.text == "hé"

    @given(st.binary(max_size=60) | damaged_entries)
    def test_no_bytes_do_more_than_be_refused(self, body: bytes) -> None:
        try:
            entry = entry_of(body)
        except msgspec.DecodeError:
            return
        assert isinstance(json.loads(body.decode("utf-8", "replace")), dict)
        assert entry is not None


BLOCKS = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "thinking", "toolCall", "image", "other"])},
    optional={
        "text": st.text() | st.integers(),
        "thinking": st.text(),
        "thinkingSignature": st.text(),
        "name": st.text(),
        "arguments": st.dictionaries(
            # Not those that JSON has no form for.
            st.text(),
            st.text()
            | st.integers()
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.lists(st.text()),
        ),
        "data": st.text(),
    },
)
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from([*ROLES, "robot"])},
    optional={
        "content": st.text() | st.lists(BLOCKS, max_size=3) | st.none() | st.integers(),
        "summary": st.text(),
        "command": st.text(),
        "output": st.text(),
        "usage": st.dictionaries(st.sampled_from(["input", "output"]), st.integers() | st.text()),
    },
)


class TestAPlainMessage:
    """A line of one message as pi writes it is measured, to the same event as any other way of writing it."""

    @given(
        message=MESSAGES,
        is_ascii=st.booleans(),
        end=st.sampled_from([b"}", b"} ", b"]", b'"', b",", b"\xff"]),
        written_as=st.sampled_from([(3, b"ids first"), (3, b"ids last"), (1, b"no ids"), (3, b"no ids")]),
    )
    def test_a_reader_gives_it_the_event_of_any_other_line(
        self, *, message: dict[str, Any], is_ascii: bool, end: bytes, written_as: tuple[int, bytes]
    ) -> None:
        version, layout = written_as
        head = b'{"type":"message","timestamp":"2025-01-01T00:00:00.000Z","message":%s'
        body = {b"ids last": head + b',"id":"b","parentId":null}', b"no ids": head + b"}"}.get(layout, ROOT)
        text = json.dumps(message, ensure_ascii=is_ascii, separators=(",", ":"))
        line = body % (text.encode("utf-8", "surrogatepass")[:-1] + end)
        plain = _reader(version).plain(line, 0)
        any_other = _reader(version).line(2, line + b"\n", 0)
        assert plain is None or [plain] == [event for _, _, event in any_other.records]
        assert plain is None or not (any_other.skipped or any_other.differs)

    def test_a_reader_knows_it_with_ids_first_last_and_none(self) -> None:
        said = b'{"role":"user","content":[{"type":"text","text":"h\xc3\xa9"}]}'
        late = PLAIN.replace(b'"id":"0a-b","parentId":"a",', b"")[:-1] + b',"id":"0a-b","parentId":null}'
        assert _reader(3).plain(ROOT % said, 0) is not None
        assert _reader(3).plain(late % said, 0) is not None
        assert _reader(1).plain(late.replace(b',"id":"0a-b","parentId":null', b"") % said, 0) is not None

    @pytest.mark.parametrize("field", [b'"details":%s', b'"content":[{"type":"toolCall","arguments":%s}]'])
    def test_one_nested_too_deeply_is_left_to_the_other_way(self, field: bytes) -> None:
        for levels, is_plain in ((400, True), (600, False)):
            said = b'{"role":"assistant",%s}' % (field % (b"[" * levels + b"]" * levels))
            assert (_reader(3).plain(ROOT % said, 0) is not None) == is_plain

    def test_the_same_id_again_is_left_to_the_other_way(self) -> None:
        reader, line = _reader(3), ROOT % b'{"role":"user","content":"x"}'
        assert reader.plain(line, 0) is not None
        assert reader.plain(line, len(line)) is None


def _reader(version: int) -> PiReader:
    # No record is repeated here, so its bytes are never looked up.
    with Path(__file__).open("rb") as file:
        source = Source(file, __file__, "file")
    return PiReader(PiHeader(raw=b"{}", session="s", version=version, line=1), SeenRecords(source))


ROOT = b'{"type":"message","id":"0a-b","parentId":null,"timestamp":"2025-01-01T00:00:00.000Z","message":%s}'
PLAIN = b'{"type":"message","id":"0a-b","parentId":"a","timestamp":"2025-01-01T00:00:00.000Z","message":%s}'


class TestFormats:
    def test_only_a_compaction_of_version_1_points_by_its_place(self) -> None:
        body = b'{"type":"compaction","firstKeptEntryId":"a","targetId":"b"}'
        assert facts_of_body("pi/1", "compaction", body).needs_source
        assert not facts_of_body("pi/3", "compaction", body).needs_source
        assert facts_of_body("pi/1", "label", body).target == "b"
        assert facts_of_body("pi/3", "compaction", body).target == "a"

    def test_the_view_of_an_event_is_that_of_its_message(self) -> None:
        log = MemoryLog()
        log.append("s", [message("a", "hello"), compaction("b"), event("c")])
        views = [node_of(found).message for found in events(log, "s")]
        assert views == [
            Message(role="user", blocks=(Text("hello"),)),
            Message(role="compactionSummary", blocks=(Text("what was before"),)),
            None,
        ]

    def test_the_view_of_a_message_is_that_of_its_json(self) -> None:
        assert format_of("pi/3").message(b'{"role":"user","content":"x"}').text == "x"
