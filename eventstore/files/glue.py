"""Store the bytes between a file's records, so that exports reproduce it byte for byte."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from eventstore.chain import is_tombstone, payload_digest
from eventstore.frame import body_of
from eventstore.log import Snapshot
from eventstore.records import Segment

PURGED_PAYLOAD: Final = b"refoldPurged"
"""Stands for a payload that was purged."""
_PAYLOAD_BYTES: Final = 4 << 20
_decode_payload: Final = msgspec.msgpack.Decoder(list[tuple[int, bytes]]).decode


class SegmentWriter:
    """Collect part of a file: gap, record, gap, record, …, gap.

    Equal gaps in a row are counted, so that a million line ends take a few bytes.
    """

    def __init__(self) -> None:
        self._payloads: list[bytes] = []
        self._runs: list[list[int]] = []
        self._sessions: list[int] = []
        self._slots = 0
        self._numbered = 0
        self._early: dict[int, tuple[int, int, int]] = {}
        self._gaps: list[tuple[int, bytes]] = []
        self._gaps_bytes = 0
        self._gap = bytearray()
        self._newest, self._repeats = b"", 0

    def between(self, data: bytes) -> None:
        """Add bytes that belong to no record."""
        self._gap += data

    def record(self) -> int:
        """Return a slot for a record at this place; `number` fills it in later."""
        slot = self._slots
        self._slots = slot + 1
        gap = self._gap
        if gap == self._newest:
            self._repeats += 1
        else:
            self._end_run()
            self._newest, self._repeats = bytes(gap), 1
        gap.clear()
        return slot

    def records(self, count: int, gap: bytes) -> int:
        """Return the first of adjacent slots for records that `gap` follows each."""
        first = self.record()
        if count > 1:
            self._slots += count - 1
            if gap != self._newest:
                self._end_run()
                self._newest = gap
            self._repeats += count - 1
        self._gap += gap
        return first

    def _end_run(self) -> None:
        if not self._repeats:
            return
        self._gaps.append((self._repeats, self._newest))
        self._gaps_bytes += len(self._newest)
        self._repeats = 0
        if self._gaps_bytes > _PAYLOAD_BYTES:
            self._flush()

    def number(self, slot: int, seq: int, session: int = 0, *, count: int = 1) -> None:
        """Fill a slot with the record's sequence number, and those behind it with the next ones.

        Slots may be filled in any order.
        """
        if slot != self._numbered:
            self._early[slot] = (seq, session, count)
            return
        self._next(seq, session, count)
        while self._early and (early := self._early.pop(self._numbered, None)) is not None:
            self._next(*early)

    def _next(self, seq: int, session: int, count: int) -> None:
        run = self._runs[-1] if self._runs else None
        if run is not None and run[0] + run[1] == seq and self._sessions[-1] == session:
            run[1] += count
        else:
            self._runs.append([seq, count])
            self._sessions.append(session)
        self._numbered += count

    def _flush(self) -> None:
        self._payloads.append(msgspec.msgpack.encode(self._gaps))
        self._gaps, self._gaps_bytes = [], 0

    def finish(self) -> tuple[Segment, list[bytes]]:
        """Return the segment and its payloads."""
        self.record()
        self._end_run()
        self._flush()
        return (
            Segment(
                records=[(first, count) for first, count in self._runs],
                glue=[payload_digest(payload).hex() for payload in self._payloads],
                sessions=self._sessions if any(self._sessions) else [],
            ),
            self._payloads,
        )


def segment_digests(*segments: Segment) -> list[bytes]:
    """Return the digests of the payloads of segments."""
    return [bytes.fromhex(digest) for segment in segments for digest in segment.glue]


def segment_bytes(
    snapshot: Snapshot, sessions: Sequence[str], segment: Segment
) -> Iterator[bytes | memoryview]:
    """Yield a segment's part of its file; `sessions` are the import's own and the others.

    Raises PurgedError if some of it was purged.
    """
    places = segment.sessions or [0] * len(segment.records)
    bodies = (
        body_of(frame)
        for place, (first, count) in zip(places, segment.records, strict=True)
        for frame in snapshot.frames(sessions[place], first=first, last=first + count - 1)
    )
    gaps = (
        gap
        for digest in segment_digests(segment)
        for count, gap in _gaps(snapshot.blob(digest))
        for _ in range(count)
    )
    for gap in gaps:
        yield gap
        body = next(bodies, None)
        if body is not None:
            if is_tombstone(body):
                raise PurgedError
            yield body


def _gaps(payload: bytes) -> list[tuple[int, bytes]]:
    if payload == PURGED_PAYLOAD:
        raise PurgedError
    return _decode_payload(payload)


class PurgedError(Exception):
    """Part of a file was purged from the store."""
