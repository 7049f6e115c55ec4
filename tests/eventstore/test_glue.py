"""Store the bytes between a file's records apart, and put the file together again."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore import EventLog
from eventstore.chain import payload_digest
from eventstore.errors import NotFoundError
from eventstore.files import glue as glue_
from eventstore.files.glue import SegmentWriter, segment_bytes, segment_digests
from eventstore.memory import MemoryLog
from eventstore.records import Segment
from tests.support.events import event, events


def written(gaps: list[bytes], numbers: list[int] | None = None) -> tuple[Segment, list[bytes]]:
    """The segment of a file part with these gaps around its records."""
    writer = SegmentWriter()
    for gap in gaps[:-1]:
        writer.between(gap)
        writer.record()
    writer.between(gaps[-1])
    for slot, number in enumerate(range(1, len(gaps)) if numbers is None else numbers):
        writer.number(slot, number)
    return writer.finish()


def put_together(log: EventLog, segment: Segment) -> bytes:
    with log.snapshot() as snapshot:
        return b"".join(map(bytes, segment_bytes(snapshot, ["s"], segment)))


def with_bodies(count: int, payloads: list[bytes]) -> EventLog:
    log = MemoryLog()
    log.append("s", [event(f"e{number}") for number in range(count)], blobs=payloads)
    return log


@given(st.lists(st.binary(max_size=6), min_size=1, max_size=12))
def test_gaps_and_records_are_put_together_as_they_were(gaps: list[bytes]) -> None:
    segment, payloads = written(gaps)
    log = with_bodies(len(gaps) - 1, payloads)
    bodies = [found.body for found in events(log, "s")] if len(gaps) > 1 else []
    expected = b"".join(gap + body for gap, body in zip(gaps, [*bodies, b""], strict=True))
    assert put_together(log, segment) == expected


@given(st.lists(st.tuples(st.sampled_from([b"", b"\n", b"x"]), st.integers(1, 3)), max_size=8))
def test_adjacent_records_are_written_as_one_by_one(runs: list[tuple[bytes, int]]) -> None:
    together, alone = SegmentWriter(), SegmentWriter()
    seq = 1
    for gap, count in runs:
        together.between(gap)
        alone.between(gap)
        together.number(together.records(count, b"\n"), seq, count=count)
        for number in range(seq, seq + count):
            alone.number(alone.record(), number)
            alone.between(b"\n")
        seq += count
    assert together.finish() == alone.finish()


@given(st.lists(st.binary(min_size=1, max_size=9), min_size=1, max_size=12), st.integers(0, 20))
def test_gaps_may_fill_several_payloads(gaps: list[bytes], limit: int) -> None:
    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(glue_, "_PAYLOAD_BYTES", limit)
        segment, payloads = written(gaps)
    assert len(payloads) == len(segment.glue)
    log = with_bodies(len(gaps) - 1, payloads)
    without_bodies = put_together(log, msgspec.structs.replace(segment, records=[]))
    assert without_bodies == b"".join(gaps)


@pytest.mark.slow
def test_a_million_equal_line_ends_take_a_few_bytes() -> None:
    _, payloads = written([b"\n"] * 1_000_000, numbers=[])
    assert sum(map(len, payloads)) < 50


def test_consecutive_events_are_one_run() -> None:
    segment, _ = written([b""] * 6, numbers=[4, 5, 6, 9, 2])
    assert segment.records == [(4, 3), (9, 1), (2, 1)]


def test_a_part_without_records_is_its_gap() -> None:
    segment, payloads = written([b"blank\n"])
    assert segment.records == []
    assert put_together(with_bodies(0, payloads), segment) == b"blank\n"


def test_gaps_come_in_pieces() -> None:
    writer = SegmentWriter()
    for piece in (b"a", b"b", b"", b"c"):
        writer.between(piece)
    segment, payloads = writer.finish()
    assert put_together(with_bodies(0, payloads), segment) == b"abc"


def test_a_segment_names_its_payloads_by_their_digests() -> None:
    segment, payloads = written([b"a", b"b"])
    assert segment_digests(segment) == [payload_digest(payload) for payload in payloads]
    assert segment_digests(segment, segment) == segment_digests(segment) * 2


def test_a_missing_payload_is_an_error() -> None:
    segment, _ = written([b"a"])
    with pytest.raises(NotFoundError):
        put_together(with_bodies(0, []), segment)


@given(st.permutations(list(range(9))), st.lists(st.integers(0, 2), min_size=9, max_size=9))
def test_records_may_be_numbered_in_any_order(order: list[int], sessions: list[int]) -> None:
    writer = SegmentWriter()
    for _ in order:
        writer.record()
    numbers = [10 * session + slot for slot, session in enumerate(sessions)]
    for slot in order:
        writer.number(slot, numbers[slot], sessions[slot])
    segment, _ = writer.finish()
    places = segment.sessions or [0] * len(segment.records)
    runs = zip(places, segment.records, strict=True)
    assert [(place, seq) for place, (first, count) in runs for seq in range(first, first + count)] == [
        (session, number) for session, number in zip(sessions, numbers, strict=True)
    ]


def test_a_first_record_may_be_numbered_last() -> None:
    writer = SegmentWriter()
    for _ in range(5000):
        writer.record()
    for slot in range(4999, -1, -1):
        writer.number(slot, slot + 1)
    segment, _ = writer.finish()
    assert segment.records == [(1, 5000)]
