"""The bytes of a stored event: what goes in comes out, spans lead to messages."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore.chain import START
from eventstore.errors import CorruptionError
from eventstore.event import ROLES, Event, Flag
from eventstore.frame import (
    FORMATS,
    HEADER_SIZE,
    VERSION,
    body_of,
    cause_of,
    decode,
    header_of,
    id_of,
    kind_of,
    linked,
    pointers_of,
    role_of,
    span_of,
    time_of,
    with_position,
    written_in,
)
from eventstore.kinds import CODE_OF_KIND
from tests.support.frames import encode

PLAIN = Event(
    session="s",
    seq=7,
    position=9,
    id="id",
    parent="above",
    written_parent="above",
    parent_seq=6,
    kind="message",
    role="user",
    time=1000,
    recorded=2000,
    cause="why",
    format="pi/3",
    flags=Flag.SETS_MODEL | Flag.OVERLAID,
    utf16=11,
    utf8=12,
    run_start=5,
    compaction_seq=4,
    model_seq=3,
    thinking_seq=2,
    target_seq=1,
    message_span=(3, 9),
    digest=bytes(range(32)),
    body=b"...MESSAG...",
)

names = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=40)
seqs = st.integers(0, 2**64 - 1)
sizes = st.integers(0, 2**32 - 1)
times = st.integers(-(2**63) + 1, 2**63 - 1)
events = st.builds(
    lambda parent, **fields: Event(
        session="s",
        parent=parent[0],
        parent_seq=parent[1],
        flags=fields.pop("flag"),
        message_span=(2, 5) if len(fields["body"]) > 5 else (0, 0),
        **fields,
    ),
    parent=st.one_of(st.just((None, 0)), st.tuples(names, st.integers(1, 2**64 - 1))),
    written_parent=st.one_of(st.none(), names),
    flag=st.integers(0, 127),
    seq=seqs,
    position=seqs,
    id=names,
    kind=st.one_of(st.sampled_from([*CODE_OF_KIND]), names),
    role=st.sampled_from(ROLES),
    time=st.one_of(st.none(), times),
    recorded=times,
    cause=st.one_of(st.just(""), names),
    format=st.sampled_from(FORMATS),
    utf16=sizes,
    utf8=sizes,
    run_start=seqs,
    compaction_seq=seqs,
    model_seq=seqs,
    thinking_seq=seqs,
    target_seq=seqs,
    digest=st.binary(min_size=32, max_size=32),
    body=st.binary(max_size=80),
)


@given(events)
def test_an_event_comes_back_from_its_frame(event: Event) -> None:
    assert decode(encode(event), "s") == event


@given(events)
def test_a_frame_may_lie_in_foreign_memory(event: Event) -> None:
    assert decode(memoryview(encode(event)), "s") == event


def test_a_frame_begins_with_its_version() -> None:
    assert encode(PLAIN)[0] == VERSION


def test_a_frame_ends_with_the_body_as_it_came() -> None:
    assert bytes(body_of(encode(PLAIN))) == PLAIN.body


def test_the_span_of_a_frame_leads_to_the_message_in_it() -> None:
    frame = encode(PLAIN)
    start, stop = span_of(frame)
    assert frame[start:stop] == b"MESSAG"
    assert decode(frame, "s").message == b"MESSAG"


def test_an_event_without_a_message_has_no_span() -> None:
    frame = encode(msgspec.structs.replace(PLAIN, message_span=(0, 0)))
    assert span_of(frame) == (0, 0)
    assert decode(frame, "s").message == b""


def test_the_pointers_of_a_frame_are_read_without_the_rest() -> None:
    flags = Flag.SETS_MODEL | Flag.OVERLAID
    assert pointers_of(encode(PLAIN)) == (CODE_OF_KIND["message"], flags, 6, 5, 4, 3, 2, 1)


def test_the_header_of_a_frame_is_read_without_the_rest() -> None:
    header = header_of(encode(PLAIN))
    assert (header.seq, header.position, header.recorded, header.digest) == (7, 9, 2000, PLAIN.digest)
    assert (header.utf16, header.utf8, header.target_seq) == (11, 12, 1)


def test_id_and_cause_of_a_frame_are_read_without_the_rest() -> None:
    frame = encode(msgspec.structs.replace(PLAIN, id="größe", cause="ursache"))
    assert (id_of(frame), cause_of(frame)) == ("größe", "ursache")


@pytest.mark.parametrize("kind", ["message", "harness:größe", "x" * 300])
def test_the_kind_of_a_frame_is_read_without_the_rest(kind: str) -> None:
    frame = encode(msgspec.structs.replace(PLAIN, kind=kind))
    assert kind_of(frame) == kind


def test_a_known_kind_takes_no_room_for_its_name() -> None:
    known = encode(msgspec.structs.replace(PLAIN, kind="thinking_level_change"))
    assert len(known) == len(encode(PLAIN))


@pytest.mark.parametrize("time", [None, 0, -1, 1000])
def test_the_time_of_a_frame_may_be_unknown(time: int | None) -> None:
    assert time_of(encode(msgspec.structs.replace(PLAIN, time=time))) == time


def test_a_role_that_no_harness_has_is_another() -> None:
    assert decode(encode(msgspec.structs.replace(PLAIN, role="robot")), "s").role == "other"


def test_a_root_has_no_parent_whatever_name_it_was_given() -> None:
    assert decode(encode(msgspec.structs.replace(PLAIN, parent="x", parent_seq=0)), "s").parent is None


FRAME = encode(PLAIN)


def test_a_frame_has_the_bytes_that_were_fixed() -> None:
    assert (VERSION, HEADER_SIZE) == (3, 150)
    place = bytes.fromhex("03 01 01 00 2100 0000 0000 0000 ab000000 b1000000 0b000000 0c000000")
    place += struct.pack("<QQQQQQ", 6, 5, 4, 3, 2, 1)
    record = bytes.fromhex("03 00 0200 0500 0300 0000")
    record += struct.pack("<QQqq", 7, 9, 1000, 2000) + bytes(range(32))
    names = b"idabovewhy"
    checksums = [zlib.crc32(each).to_bytes(4, "little") for each in (place, record + names)]
    assert place + record + checksums[0] + names + checksums[1] + PLAIN.body == FRAME


@pytest.mark.parametrize(
    "fields", [{"parent": "other"}, {"flags": 0}, {"kind": "hologram"}, {"compaction_seq": 9}]
)
def test_another_place_leaves_the_record_as_it_is(fields: dict[str, object]) -> None:
    other = encode(msgspec.structs.replace(PLAIN, **fields))
    assert other != FRAME
    assert written_in(other) == written_in(FRAME)


@given(events, st.data())
def test_a_flipped_bit_of_header_names_or_checksum_is_noticed(event: Event, data: st.DataObject) -> None:
    frame = bytearray(encode(event))
    bit = data.draw(st.integers(0, (len(frame) - len(event.body)) * 8 - 1))
    assert linked(bytes(frame), START) is not None
    moved = with_position(bytes(frame), event.position ^ 1)
    assert linked(moved, START) is not None
    assert decode(moved, event.session) == msgspec.structs.replace(event, position=event.position ^ 1)
    frame[bit // 8] ^= 1 << bit % 8
    assert linked(bytes(frame), START) is None
    assert linked(with_position(bytes(frame), event.position ^ 1), START) is None


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        FRAME[:100],
        FRAME[:155],
        b"\x02" + FRAME[1:],
        b"\x04" + FRAME[1:],
        FRAME[:2] + b"\xff" + FRAME[3:],
    ],
    ids=["nothing", "half a header", "half a name", "older", "newer", "of no role"],
)
def test_a_frame_that_cannot_be_read_is_damage(damaged: bytes) -> None:
    with pytest.raises(CorruptionError) as info:
        decode(damaged, "s")
    assert info.value.session == "s"


@pytest.mark.parametrize("read", [id_of, kind_of], ids=["id", "kind"])
def test_a_name_that_cannot_be_read_is_damage(read: Callable[..., object]) -> None:
    frame = bytearray(encode(msgspec.structs.replace(PLAIN, kind="hologram")))
    for at in (header_of(frame).record_at, frame.index(b"hologram")):
        frame[at] = 0xFF
    with pytest.raises(CorruptionError) as info:
        read(frame)
    assert info.value.seq == PLAIN.seq


def test_a_role_that_cannot_be_read_is_damage() -> None:
    frame = encode(PLAIN)
    with pytest.raises(CorruptionError) as info:
        role_of(frame[:2] + b"\xff" + frame[3:])
    assert info.value.seq == PLAIN.seq
