"""Check refold's own records: one for each kind, in pi's shape, with stable names."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from eventstore import EventLog, Parent
from eventstore.errors import CorruptionError
from eventstore.event import Flag
from eventstore.harnesses.refold.events import compose
from eventstore.records import (
    FORMAT,
    RECORDS,
    BranchSummary,
    Compaction,
    Custom,
    CustomMessage,
    Decision,
    FileOperations,
    Import,
    Label,
    LeafMoved,
    Link,
    MessageRecord,
    ModelChange,
    Note,
    ObservedRewrite,
    Record,
    Rewrite,
    SessionInfo,
    TextReplacement,
    ThinkingLevelChange,
    Undone,
    embed,
    embedded,
    record_of,
)
from tests.support.events import events

MESSAGE = MessageRecord(message=msgspec.Raw(b'{"role":"user","content":"hi"}'))
WRITTEN: list[tuple[Record, dict[str, Any]]] = [
    (MESSAGE, {"type": "message", "message": {"role": "user", "content": "hi"}}),
    (
        ModelChange(provider="p", model_id="m"),
        {"type": "model_change", "provider": "p", "modelId": "m"},
    ),
    (ThinkingLevelChange(thinking_level="low"), {"type": "thinking_level_change", "thinkingLevel": "low"}),
    (
        Compaction(
            summary="s",
            first_kept_entry_id="a",
            tokens_before=5,
            details=FileOperations(read_files=["r"], modified_files=["m"]),
        ),
        {
            "type": "compaction",
            "summary": "s",
            "firstKeptEntryId": "a",
            "tokensBefore": 5,
            "details": {"readFiles": ["r"], "modifiedFiles": ["m"]},
        },
    ),
    (BranchSummary(from_id="a", summary="s"), {"type": "branch_summary", "fromId": "a", "summary": "s"}),
    (
        CustomMessage(custom_type="x", content="c"),
        {"type": "custom_message", "customType": "x", "content": "c", "display": True},
    ),
    (Custom(custom_type="x", data=[1]), {"type": "custom", "customType": "x", "data": [1]}),
    (
        Rewrite(
            reason="prune",
            targets=[TextReplacement(target="a", text="x"), TextReplacement(target="b", text="y", block=2)],
        ),
        {
            "type": "rewrite",
            "reason": "prune",
            "targets": [{"target": "a", "shown": "x"}, {"target": "b", "shown": "y", "block": 2}],
        },
    ),
    (LeafMoved(from_id="a"), {"type": "leaf_moved", "fromId": "a"}),
    (Undone(target_id="a"), {"type": "undone", "targetId": "a"}),
    (Note(), {"type": "note"}),
    (Note(target_id="a", data=[1]), {"type": "note", "targetId": "a", "data": [1]}),
    (Label(target_id="a", label="here"), {"type": "label", "targetId": "a", "label": "here"}),
    (Label(target_id="a"), {"type": "label", "targetId": "a"}),
    (SessionInfo(name="title"), {"type": "session_info", "name": "title"}),
    (Decision(outcome="skip", reason="small"), {"type": "decision", "outcome": "skip", "reason": "small"}),
    (Link(relation="fork", session="t"), {"type": "link", "relation": "fork", "session": "t"}),
    (
        ObservedRewrite(target_id="a", record=msgspec.Raw(b'{"x":1}')),
        {"type": "observed_rewrite", "targetId": "a", "record": {"x": 1}},
    ),
]


def body_of(record: Record) -> bytes:
    return compose(record, id="x", time=None).body


@pytest.mark.parametrize(("record", "written"), WRITTEN)
def test_a_record_is_written_in_pis_shape_without_what_is_by_default(
    record: Record, written: dict[str, Any]
) -> None:
    assert json.loads(body_of(record)) == written


@pytest.mark.parametrize("record", [record for record, _ in WRITTEN])
def test_a_record_comes_back_from_its_body(record: Record) -> None:
    assert body_of(record_of(record.kind, body_of(record))) == body_of(record)


@pytest.mark.parametrize("record", [record for record, _ in WRITTEN])
def test_the_kind_of_a_record_is_the_type_in_its_body(record: Record) -> None:
    assert json.loads(body_of(record))["type"] == record.kind
    assert RECORDS[record.kind] is type(record)


def test_a_field_that_a_newer_refold_adds_does_not_matter() -> None:
    assert record_of("label", b'{"type":"label","targetId":"a","color":"red"}') == Label(target_id="a")


def test_a_kind_that_refold_does_not_write_is_an_error() -> None:
    with pytest.raises(KeyError):
        record_of("harness:kind", b"{}")


def test_a_body_of_another_kind_is_an_error() -> None:
    with pytest.raises(CorruptionError):
        record_of("label", b'{"type":"undone","targetId":"a"}')


def test_a_relation_that_is_none_is_an_error() -> None:
    with pytest.raises(CorruptionError):
        record_of("link", b'{"type":"link","relation":"friend","session":"t"}')


class TestComposing:
    def test_an_event_carries_its_record(self) -> None:
        new = compose(Custom(custom_type="x"), id="a", time=5, parent="p", cause="why")
        assert (new.id, new.kind, new.format, new.time, new.parent, new.cause) == (
            "a",
            "custom",
            FORMAT,
            5,
            "p",
            "why",
        )

    def test_an_event_goes_to_the_leaf_if_nothing_else_is_said(self) -> None:
        assert compose(Custom(custom_type="x"), id="a", time=None).parent is Parent.LEAF

    @pytest.mark.parametrize(
        ("record", "target"),
        [
            (Compaction(summary="", first_kept_entry_id="k", tokens_before=0), "k"),
            (Label(target_id="k"), "k"),
            (Undone(target_id="k"), "k"),
            (ObservedRewrite(target_id="k", record=msgspec.Raw(b"{}")), "k"),
            (LeafMoved(from_id="k"), None),
            (BranchSummary(from_id="k", summary=""), None),
        ],
    )
    def test_an_event_points_at_what_its_record_names(self, record: Record, target: str | None) -> None:
        assert compose(record, id="a", time=None).facts.target == target

    def test_the_message_in_a_record_is_found_in_its_body(self) -> None:
        new = compose(MESSAGE, id="a", time=None)
        assert new.body[slice(*new.facts.message)] == b'{"role":"user","content":"hi"}'
        assert (new.facts.role, new.facts.utf16) == ("user", 1)

    def test_a_model_change_is_flagged(self) -> None:
        assert (
            compose(ModelChange(provider="p", model_id="m"), id="a", time=None).facts.flags == Flag.SETS_MODEL
        )

    def test_half_a_surrogate_pair_is_stored_as_its_replacement(self) -> None:
        paths = FileOperations(read_files=["a\ud83d.py"])
        record = Compaction(summary="\ude00", first_kept_entry_id="", tokens_before=1, details=paths)
        body = record_of("compaction", compose(record, id="c", time=0).body)
        assert body == Compaction(
            summary="\ufffd",
            first_kept_entry_id="",
            tokens_before=1,
            details=FileOperations(read_files=["a\ufffd.py"]),
        )

    @pytest.mark.parametrize(
        ("said", "stored"),
        [(r"a \ud83d", "a \ufffd"), (r"\ude00\ud83d b", "\ufffd\ufffd b"), (r"\ud83d\ude00", "\U0001f600")],
    )
    def test_half_a_surrogate_pair_that_a_message_brings_along_is_stored_as_its_replacement(
        self, said: str, stored: str
    ) -> None:
        record = MessageRecord(message=msgspec.Raw(f'{{"role":"user","content":"{said}"}}'.encode()))
        found = compose(record, id="a", time=0)
        assert json.loads(found.body)["message"]["content"] == stored
        assert json.loads(found.body[slice(*found.facts.message)])["content"] == stored

    def test_a_message_whose_escapes_are_whole_pairs_is_stored_byte_for_byte(self) -> None:
        raw = rb'{"role":"user","content":"\ud83d\ude00","n":1.50}'
        assert raw in compose(MessageRecord(message=msgspec.Raw(raw)), id="a", time=0).body

    def test_every_record_can_be_appended(self, log: EventLog) -> None:
        log.append("s", [compose(record, id=f"e{at}", time=at) for at, (record, _) in enumerate(WRITTEN)])
        assert [found.kind for found in events(log, "s")] == [record.kind for record, _ in WRITTEN]


class TestEmbedding:
    @pytest.mark.parametrize(
        "data",
        [
            b"{}",
            b'{ "a" : 1.0 }',
            b'{"a":"\\ud800"}',
            b'{"a":"\xff"}',
            b'{"a":"h\xc3\xa9"}',
            b'{"a":1e999}',
            b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}",
        ],
    )
    def test_a_foreign_object_comes_back_byte_for_byte(self, data: bytes) -> None:
        body = body_of(ObservedRewrite(target_id="a", record=embed(data)))
        record = record_of("observed_rewrite", body)
        assert isinstance(record, ObservedRewrite)
        assert embedded(record.record) == data

    def test_a_sound_object_is_readable_in_its_record(self) -> None:
        assert b'"record":{"a": 1}' in body_of(ObservedRewrite(target_id="a", record=embed(b'{"a": 1}')))


def test_what_an_import_has_to_say_is_required() -> None:
    required = {field.encode_name for field in msgspec.structs.fields(Import) if field.required}
    assert required == {
        "sourceFormat",
        "header",
        "records",
        "offset",
        "size",
        "digest",
        "lines",
        "tail",
        "resume",
    }
