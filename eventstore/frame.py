"""Encode and decode a stored event: what was written, and in front of it what it means.

A frame has two parts with a checksum each. The *record* is what was appended, and never changes: id, parent as written,
time, cause, digest, body. The *place* is what a reader made of it: kind, role, pointers along the path, where the
message lies; it is made again if a late parent comes or the reader has changed. Numbers are little-endian. The fields
that a rebuild reads come first. Spans count from the start of the frame, so that a message is one slice of the stored
value.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final
from zlib import crc32

import msgspec

from eventstore.chain import UNKNOWN_TIME, link_encoded
from eventstore.errors import CorruptionError
from eventstore.event import ROLES, Event
from eventstore.kinds import CODE_OF_KIND, kind_of_code

VERSION: Final = 3
"""The version of the layout, which begins each frame."""
Buffer = bytes | memoryview

_PLACE: Final = struct.Struct("<BBBxHHHxxIIIIQQQQQQ")
_RECORD: Final = struct.Struct("<BBHHHHQQqq32s")
_HEADER: Final = struct.Struct(_PLACE.format + _RECORD.format.removeprefix("<"))
HEADER_SIZE: Final = _HEADER.size

span_of: Final = struct.Struct("<12xII").unpack_from
"""Returns a frame's message span (start, stop), (0, 0) if it has none that contexts show."""

pointers_of: Final[Callable[[Buffer], tuple[int, int, int, int, int, int, int, int]]] = struct.Struct(
    "<xBxxH22xQQQQQQ"
).unpack_from
"""Returns a frame's kind code, flags, and sequence numbers.

They are parent, run start, compaction, model, thinking, target.
"""

# CRC-32 suits accidental damage; against deliberate changes, no checksum without a key helps. It detects each
# run of up to 32 damaged bits and up to four bits anywhere in 371 bytes, in a quarter of the time of BLAKE2b.
_CHECKSUM_SIZE: Final = 4

_DIGEST_AT: Final = HEADER_SIZE - 32
_POSITION_AT: Final = _DIGEST_AT - 24
_position_of: Final[Callable[[Buffer], tuple[int]]] = struct.Struct(f"<{_POSITION_AT}xQ").unpack_from
_digest_of: Final[Callable[[Buffer], tuple[bytes]]] = struct.Struct(f"<{_DIGEST_AT}x32s").unpack_from
_time_of: Final = struct.Struct(f"<{_DIGEST_AT - 16}xq").unpack_from
_seq_of: Final[Callable[[Buffer], tuple[int]]] = struct.Struct(f"<{_DIGEST_AT - 32}xQ").unpack_from
_sizes_of: Final[Callable[[Buffer], tuple[int, int, int, int, int, int]]] = struct.Struct(
    f"<6xHH{_PLACE.size - 10 + 2}xHHHH"
).unpack_from
"""Returns the sizes of the names in a place, then of those in a record."""

estimates_of: Final[Callable[[Buffer], tuple[int, int]]] = struct.Struct("<20xII").unpack_from
"""Returns the token estimates of a frame's message; see `EventFacts`."""

_ROLE_CODE: Final = {role: code for code, role in enumerate(ROLES)}
_OTHER_ROLE: Final = _ROLE_CODE["other"]
FORMATS: Final = (
    "refold/1",
    "pi/1",
    "pi/2",
    "pi/3",
    "claude-code/1",
    "oh-my-pi/1",
    "oh-my-pi/2",
    "oh-my-pi/3",
    "codex/1",
    "opencode/1",
    "opencode/2",
)
"""Register the names of all harnesses' records.

The index is the code on disk: append only.
"""
_FORMAT_CODE: Final = {name: code for code, name in enumerate(FORMATS)}


# Structs: a class of named tuples takes ten times as long to make as one of them.
class Header(msgspec.Struct, frozen=True, gc=False):
    """The fixed parts of a frame. Names follow `Event`; `type` is the kind as appended."""

    version: int
    kind: int
    role: int
    flags: int
    parent_size: int
    kind_size: int
    start: int
    stop: int
    utf16: int
    utf8: int
    parent_seq: int
    run_start: int
    compaction_seq: int
    model_seq: int
    thinking_seq: int
    target_seq: int
    format: int
    type: int
    id_size: int
    written_size: int
    cause_size: int
    type_size: int
    seq: int
    position: int
    time: int
    recorded: int
    digest: bytes

    @property
    def record_at(self) -> int:
        """The offset of the record's names."""
        return HEADER_SIZE + self.parent_size + self.kind_size + _CHECKSUM_SIZE

    @property
    def body_at(self) -> int:
        """The offset of the body."""
        names = self.id_size + self.written_size + self.cause_size + self.type_size
        return self.record_at + names + _CHECKSUM_SIZE


def header_of(frame: Buffer) -> Header:
    """Return the fixed parts of a frame."""
    return Header(*_HEADER.unpack_from(frame))


class Written(msgspec.Struct, frozen=True, gc=False):
    """The part of a frame that never changes: fixed fields, names with a checksum, body."""

    fixed: Buffer
    names: Buffer
    body: Buffer
    digest: bytes
    is_own: bool


def encode_record(
    names: tuple[bytes, bytes, bytes],
    *,
    type: str,
    format: str,
    numbers: tuple[int, int],
    times: tuple[int | None, int],
    digest: bytes,
    body: bytes,
) -> Written:
    """Encode what was appended; see `Event`.

    `names` are the id, the parent as written and the cause in UTF-8, `type` is the kind of one of refold's own records
    and "" for others, `numbers` are `seq` and `position`, `times` `time` and `recorded`.
    """
    code = CODE_OF_KIND.get(type, 0)
    tag = b"" if code else type.encode()
    event_id, parent, cause = names
    time, recorded = times
    fixed = _RECORD.pack(
        _FORMAT_CODE[format],
        code,
        len(event_id),
        len(parent),
        len(cause),
        len(tag),
        *numbers,
        UNKNOWN_TIME if time is None else time,
        recorded,
        digest,
    )
    named = b"".join((event_id, parent, cause, tag))
    checksum = crc32(named, crc32(fixed)).to_bytes(_CHECKSUM_SIZE, "little")
    return Written(fixed, named + checksum, body, digest, type != "")


def written_in(frame: Buffer) -> Written:
    """Return the part of a frame that was appended."""
    head = header_of(frame)
    names_at, body_at = head.record_at, head.body_at
    names, body = frame[names_at:body_at], frame[body_at:]
    is_own = head.type > 0 or head.type_size > 0
    return Written(frame[_PLACE.size : HEADER_SIZE], names, body, head.digest, is_own)


def encode_place(
    written: Written,
    *,
    kind: str,
    parent: bytes,
    role: str,
    flags: int,
    span: tuple[int, int],
    estimates: tuple[int, int],
    pointers: tuple[int, int, int, int, int, int],
) -> bytes:
    """Return the frame of a record at its place; see `Event`.

    `parent` is the parent's id if it is another than written, `pointers` are the numbers from `parent_seq` to
    `target_seq`.
    """
    code = CODE_OF_KIND.get(kind, 0)
    tag = b"" if code or written.is_own else kind.encode()
    start, stop = span
    names_size = len(parent) + len(tag)
    offset = HEADER_SIZE + names_size + _CHECKSUM_SIZE + len(written.names) if stop else 0
    fixed = _PLACE.pack(
        VERSION,
        code,
        _ROLE_CODE.get(role, _OTHER_ROLE),
        flags,
        len(parent),
        len(tag),
        start + offset,
        stop + offset,
        *estimates,
        *pointers,
    )
    checksum = crc32(fixed)
    if names_size:
        checksum = crc32(tag, crc32(parent, checksum))
    checked = checksum.to_bytes(_CHECKSUM_SIZE, "little")
    return b"".join((fixed, written.fixed, parent, tag, checked, written.names, written.body))


def decode(frame: Buffer, session: str) -> Event:
    """Decode a frame as an event with a copy of its bytes. Raises CorruptionError."""
    seq = 0
    try:
        head = header_of(frame)
        seq = head.seq
        return _decoded(frame, head, session)
    except struct.error as error:
        raise CorruptionError(session, seq, "its frame is truncated") from error
    except (LookupError, ValueError) as error:
        raise CorruptionError(session, seq, f"cannot be read ({error})") from error


def _decoded(frame: Buffer, head: Header, session: str) -> Event:
    if head.version != VERSION:
        raise ValueError(f"its frame is of version {head.version}")
    at, body_at = head.record_at + head.id_size, head.body_at
    if body_at > len(frame):
        raise ValueError("it is cut short")
    event_id = str(frame[head.record_at : at], "utf-8")
    written = str(frame[at : at + head.written_size], "utf-8") or None
    at += head.written_size
    # Most events have neither a cause nor another parent than written.
    cause = str(frame[at : at + head.cause_size], "utf-8") if head.cause_size else ""
    parent = (
        str(frame[HEADER_SIZE : HEADER_SIZE + head.parent_size], "utf-8") if head.parent_size else written
    )
    return Event(
        session=session,
        seq=head.seq,
        position=head.position,
        id=event_id,
        parent=parent if head.parent_seq else None,
        written_parent=written,
        parent_seq=head.parent_seq,
        kind=kind_of(frame),
        role=ROLES[head.role],
        time=None if head.time == UNKNOWN_TIME else head.time,
        recorded=head.recorded,
        cause=cause,
        format=FORMATS[head.format],
        flags=head.flags,
        utf16=head.utf16,
        utf8=head.utf8,
        run_start=head.run_start,
        compaction_seq=head.compaction_seq,
        model_seq=head.model_seq,
        thinking_seq=head.thinking_seq,
        target_seq=head.target_seq,
        message_span=(head.start - body_at, head.stop - body_at) if head.stop else (0, 0),
        digest=head.digest,
        body=bytes(frame[body_at:]),
    )


def role_of(frame: Buffer) -> str:
    """Return the role of a frame's message without decoding the rest. Raises CorruptionError."""
    try:
        return ROLES[frame[2]]
    except IndexError as error:
        raise CorruptionError("", header_of(frame).seq, f"has no role {frame[2]}") from error


def format_of(frame: Buffer) -> str:
    """Return the format of a frame's body. Raises CorruptionError."""
    try:
        return FORMATS[frame[_PLACE.size]]
    except IndexError as error:
        raise CorruptionError("", header_of(frame).seq, "has an unknown format") from error


def is_own(frame: Buffer) -> bool:
    """Return True if refold, or a harness through it, wrote a frame's record."""
    return frame[_PLACE.size] == 0


def id_of(frame: Buffer) -> str:
    """Return the id of a frame's event without decoding the rest. Raises CorruptionError."""
    parent, kind, size, _, _, _ = _sizes_of(frame)
    return _name(frame, HEADER_SIZE + parent + kind + _CHECKSUM_SIZE, size)


def cause_of(frame: Buffer) -> str:
    """Return the cause of a frame's event without decoding the rest. Raises CorruptionError."""
    parent, kind, before, written, size, _ = _sizes_of(frame)
    return _name(frame, HEADER_SIZE + parent + kind + _CHECKSUM_SIZE + before + written, size)


def _name(frame: Buffer, at: int, size: int) -> str:
    try:
        return str(frame[at : at + size], "utf-8")
    except UnicodeDecodeError as error:
        raise CorruptionError("", seq_of(frame), f"its names cannot be read ({error})") from error


def kind_of(frame: Buffer) -> str:
    """Return the kind of a frame's event. Raises CorruptionError."""
    try:
        if code := frame[1]:
            return kind_of_code(code)
    except IndexError as error:
        raise CorruptionError("", seq_of(frame), "its kind cannot be read") from error
    parent, kind, *names, tag = _sizes_of(frame)
    at = HEADER_SIZE + parent
    return _name(frame, at, kind) if kind else _name(frame, at + _CHECKSUM_SIZE + sum(names), tag)


def digest_of(frame: Buffer) -> bytes:
    """Return the session's chained digest up to a frame's event."""
    (digest,) = _digest_of(frame)
    return digest


class Linked(msgspec.Struct, frozen=True, gc=False):
    """The number and digest of a frame with right checksums, and the digest that it should have."""

    seq: int
    digest: bytes
    expected: bytes


def linked(frame: Buffer, previous: bytes | None) -> Linked | None:
    """Return the digests of a frame, None if a checksum is wrong.

    It should follow the digest `previous`, None for any.

    Every frame of a context comes here. Raises CorruptionError if it has no known format or type.
    """
    if len(frame) < HEADER_SIZE:
        return None
    parent_size, kind_size, code, tag_code, id_size, written_size, cause_size, tag_size, seq, time, digest = (
        _linked_of(frame)
    )
    placed = HEADER_SIZE + parent_size + kind_size
    id_at = placed + _CHECKSUM_SIZE
    written_at = id_at + id_size
    cause_at = written_at + written_size
    tag_at = cause_at + cause_size
    named = tag_at + tag_size
    front = bytes(frame[: named + _CHECKSUM_SIZE])
    place = crc32(front[HEADER_SIZE:placed], crc32(front[: _PLACE.size]))
    record = crc32(front[id_at:named], crc32(front[_PLACE.size : HEADER_SIZE]))
    if front[placed:id_at] + front[named:] != _CHECKSUMS(place, record):
        return None
    try:
        format_name, kind = FORMATS[code].encode(), kind_of_code(tag_code).encode() or front[tag_at:named]
    except IndexError as error:
        raise CorruptionError("", seq, "has an unknown format or kind") from error
    if previous is None:
        return Linked(seq, digest, b"")
    names = (format_name, front[id_at:written_at], front[written_at:cause_at], kind, front[cause_at:tag_at])
    return Linked(seq, digest, link_encoded(previous, frame[named + _CHECKSUM_SIZE :], names, time))


_linked_of: Final = struct.Struct(f"<6xHH{_PLACE.size - 10}xBBHHHHQ8xq8x32s").unpack_from
_CHECKSUMS: Final = struct.Struct("<II").pack


def seq_of(frame: Buffer) -> int:
    """Return the number of a frame's event without decoding the rest."""
    (seq,) = _seq_of(frame)
    return seq


def time_of(frame: Buffer) -> int | None:
    """Return the time of a frame's event, in epoch milliseconds."""
    (time,) = _time_of(frame)
    return None if time == UNKNOWN_TIME else time


def position_of(frame: Buffer) -> int:
    """Return the place of a frame's event in the store."""
    (position,) = _position_of(frame)
    return position


def body_of(frame: Buffer) -> Buffer:
    """Return the body of a frame, as a slice of it."""
    return frame[HEADER_SIZE + sum(_sizes_of(frame)) + 2 * _CHECKSUM_SIZE :]


def with_position(frame: bytes, position: int) -> bytes:
    """Return a frame with another place in the store; a checksum that was wrong stays wrong."""
    if len(frame) < HEADER_SIZE or position_of(frame) == position:
        return frame
    head = header_of(frame)
    names, body = frame[head.record_at : head.body_at - _CHECKSUM_SIZE], frame[head.body_at :]
    before = frame[_PLACE.size : HEADER_SIZE]
    at = _POSITION_AT - _PLACE.size
    after = b"".join((before[:at], position.to_bytes(8, "little"), before[at + 8 :]))
    found = int.from_bytes(frame[head.body_at - _CHECKSUM_SIZE : head.body_at], "little")
    checksum = found ^ crc32(names, crc32(before)) ^ crc32(names, crc32(after))
    placed = frame[HEADER_SIZE : head.record_at]
    checked = checksum.to_bytes(_CHECKSUM_SIZE, "little")
    return b"".join((frame[: _PLACE.size], after, placed, names, checked, body))


def header_only(frame: Buffer) -> bytes:
    """Return a copy of a frame without its body."""
    return bytes(frame[: header_of(frame).body_at])


def with_body(header: bytes, frame: Buffer) -> bytes:
    """Return a frame without its body with that of another frame."""
    return b"".join((header, body_of(frame)))


def with_other_body(frame: Buffer, body: Buffer, digest: bytes) -> bytes:
    """Return a frame with another body of the same size, and another digest."""
    head = header_of(frame)
    names = frame[head.record_at : head.body_at - _CHECKSUM_SIZE]
    fixed = b"".join((frame[_PLACE.size : _DIGEST_AT], digest))
    checksum = crc32(names, crc32(fixed)).to_bytes(_CHECKSUM_SIZE, "little")
    return b"".join((frame[: _PLACE.size], fixed, frame[HEADER_SIZE : head.record_at], names, checksum, body))
