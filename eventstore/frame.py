"""Encode and decode a stored event: a fixed header, names, a checksum of both, the body.

Numbers are little-endian. The fields that a rebuild reads come first. Spans count from the start of the
frame, so that a message is one slice of the stored value.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, NamedTuple
from zlib import crc32

from eventstore.chain import UNKNOWN_TIME, link_encoded
from eventstore.errors import CorruptionError
from eventstore.event import ROLES, Event
from eventstore.kinds import CODE_OF_KIND, kind_of_code

VERSION: Final = 2
Buffer = bytes | memoryview

_HEADER: Final = struct.Struct("<BBBBHHHHHxxIIIIQQQQQQQQqq32s")
HEADER_SIZE: Final = _HEADER.size

span_of: Final = struct.Struct("<16xII").unpack_from
"""Returns a frame's message span (start, stop), (0, 0) if it has none that contexts show."""

pointers_of: Final[Callable[[Buffer], tuple[int, int, int, int, int, int, int, int]]] = struct.Struct(
    "<xBxxH34xQQQQQQ"
).unpack_from
"""Returns a frame's kind code, flags, and sequence numbers.

They are parent, run start, compaction, model, thinking, target.
"""

# CRC-32 suits accidental damage; against deliberate changes, no checksum without a key helps. It detects each
# run of up to 32 damaged bits and up to four bits anywhere in 371 bytes, in a quarter of the time of BLAKE2b.
_CHECKSUM_SIZE: Final = 4

_POSITION_AT: Final = 88
_DIGEST_AT: Final = 112
_position_of: Final = struct.Struct(f"<{_POSITION_AT}xQ").unpack_from
_digest_of: Final[Callable[[Buffer], tuple[bytes]]] = struct.Struct(f"<{_DIGEST_AT}x32s").unpack_from
_name_sizes_of: Final = struct.Struct("<6xHHHH").unpack_from
_time_of: Final = struct.Struct("<96xq").unpack_from
_seq_of: Final[Callable[[Buffer], tuple[int]]] = struct.Struct("<32xQ").unpack_from
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
)
"""The formats of bodies; the index is the code on disk: append only."""
_FORMAT_CODE: Final = {name: code for code, name in enumerate(FORMATS)}


class Header(NamedTuple):
    """The fixed part of a frame, unpacked. Names follow `Event`."""

    version: int
    kind: int
    role: int
    format: int
    flags: int
    id_size: int
    parent_size: int
    cause_size: int
    tag_size: int
    start: int
    stop: int
    utf16: int
    utf8: int
    seq: int
    parent_seq: int
    run_start: int
    compaction_seq: int
    model_seq: int
    thinking_seq: int
    target_seq: int
    position: int
    time: int
    recorded: int
    digest: bytes


def header_of(frame: Buffer) -> Header:
    """Return the fixed part of a frame."""
    return Header._make(_HEADER.unpack_from(frame))


def encode(event: Event) -> bytes:
    """Encode an event as a frame, without the session's name, which is in the key alone."""
    return encode_fields(
        (event.id.encode(), (event.parent or "").encode(), event.cause.encode()),
        kind=event.kind,
        role=event.role,
        format=event.format,
        flags=event.flags,
        span=event.message_span,
        estimates=(event.utf16, event.utf8),
        numbers=(
            event.seq,
            event.parent_seq,
            event.run_start,
            event.compaction_seq,
            event.model_seq,
            event.thinking_seq,
            event.target_seq,
            event.position,
        ),
        times=(event.time, event.recorded),
        digest=event.digest,
        body=event.body,
    )


def encode_fields(
    names: tuple[bytes, bytes, bytes],
    *,
    kind: str,
    role: str,
    format: str,
    flags: int,
    span: tuple[int, int],
    estimates: tuple[int, int],
    numbers: tuple[int, int, int, int, int, int, int, int],
    times: tuple[int | None, int],
    digest: bytes,
    body: bytes,
) -> bytes:
    """Encode an event's fields as a frame; see `Event`.

    `names` are id, parent and cause in UTF-8, `estimates` `utf16` and `utf8`, `numbers` the sequence numbers from
    `seq` to `target_seq` in the order of `Header`, then the position, `times` `time` and `recorded`.
    """
    code = CODE_OF_KIND.get(kind, 0)
    tag = b"" if code else kind.encode()
    event_id, parent, cause = names
    id_size, parent_size, cause_size, tag_size = len(event_id), len(parent), len(cause), len(tag)
    start, stop = span
    offset = HEADER_SIZE + id_size + parent_size + cause_size + tag_size + _CHECKSUM_SIZE if stop else 0
    time, recorded = times
    header = _HEADER.pack(
        VERSION,
        code,
        _ROLE_CODE.get(role, _OTHER_ROLE),
        _FORMAT_CODE[format],
        flags,
        id_size,
        parent_size,
        cause_size,
        tag_size,
        start + offset,
        stop + offset,
        *estimates,
        *numbers,
        UNKNOWN_TIME if time is None else time,
        recorded,
        digest,
    )
    checked = b"".join((header, event_id, parent, cause, tag))
    return b"".join((checked, crc32(checked).to_bytes(_CHECKSUM_SIZE, "little"), body))


def _checksum(header_and_names: Buffer) -> bytes:
    return crc32(header_and_names).to_bytes(_CHECKSUM_SIZE, "little")


def is_intact(frame: Buffer) -> bool:
    """Return True if header and names match their checksum."""
    if len(frame) < HEADER_SIZE:
        return False
    stop = HEADER_SIZE + sum(_name_sizes_of(frame))
    return _checksum(frame[:stop]) == frame[stop : stop + _CHECKSUM_SIZE]


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
    at = HEADER_SIZE + head.id_size
    event_id = str(frame[HEADER_SIZE:at], "utf-8")
    parent = str(frame[at : at + head.parent_size], "utf-8")
    at += head.parent_size
    # Most events have neither a cause nor a kind without a code.
    cause = str(frame[at : at + head.cause_size], "utf-8") if head.cause_size else ""
    at += head.cause_size
    tag = str(frame[at : at + head.tag_size], "utf-8") if head.tag_size else ""
    at += head.tag_size
    body_at = at + _CHECKSUM_SIZE
    if body_at > len(frame):
        raise ValueError("it is cut short")
    return Event(
        session=session,
        seq=head.seq,
        position=head.position,
        id=event_id,
        parent=parent if head.parent_seq else None,
        parent_seq=head.parent_seq,
        kind=kind_of_code(head.kind) or tag,
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


def id_of(frame: Buffer, head: Header) -> str:
    """Return the id of a frame's event without decoding the rest. Raises CorruptionError."""
    try:
        return str(frame[HEADER_SIZE : HEADER_SIZE + head.id_size], "utf-8")
    except UnicodeDecodeError as error:
        raise CorruptionError("", head.seq, f"its id cannot be read ({error})") from error


def names_of(frame: Buffer, head: Header) -> tuple[str, str]:
    """Return the id and cause of a frame without decoding the rest. Raises CorruptionError."""
    at = HEADER_SIZE + head.id_size
    cause_at = at + head.parent_size
    try:
        return (
            str(frame[HEADER_SIZE:at], "utf-8"),
            str(frame[cause_at : cause_at + head.cause_size], "utf-8"),
        )
    except UnicodeDecodeError as error:
        raise CorruptionError("", head.seq, f"its names cannot be read ({error})") from error


def kind_of(frame: Buffer, head: Header) -> str:
    """Return the kind of a frame's event. Raises CorruptionError."""
    try:
        if head.kind:
            return kind_of_code(head.kind)
        at = HEADER_SIZE + head.id_size + head.parent_size + head.cause_size
        return str(frame[at : at + head.tag_size], "utf-8")
    except (IndexError, UnicodeDecodeError) as error:
        raise CorruptionError("", head.seq, "its kind cannot be read") from error


def digest_of(frame: Buffer) -> bytes:
    """Return the session's chained digest up to a frame's event."""
    (digest,) = _digest_of(frame)
    return digest


def linked_digest_of(frame: Buffer, head: Header, previous: bytes) -> bytes:
    """Return the digest that a frame of the current version should have after `previous`.

    Raises CorruptionError if the header has no known format or kind.
    """
    names, at = [], HEADER_SIZE
    for size in (head.id_size, head.parent_size, head.cause_size, head.tag_size):
        names.append(frame[at : at + size])
        at += size
    event_id, parent, cause, tag = names
    try:
        format_name = FORMATS[head.format].encode()
        kind = kind_of_code(head.kind).encode() or tag
    except IndexError as error:
        raise CorruptionError("", head.seq, "has an unknown format or kind") from error
    return link_encoded(
        previous,
        frame[at + _CHECKSUM_SIZE :],
        (format_name, event_id, parent if head.parent_seq else b"", kind, cause),
        head.time,
    )


def seq_of(frame: Buffer) -> int:
    """Return the number of a frame's event without decoding the rest."""
    (seq,) = _seq_of(frame)
    return seq


def time_of(frame: Buffer) -> int | None:
    """Return the time of a frame's event, in epoch milliseconds."""
    (time,) = _time_of(frame)
    return None if time == UNKNOWN_TIME else time


def body_of(frame: Buffer) -> Buffer:
    """Return the body of a frame, as a slice of it."""
    return frame[HEADER_SIZE + sum(_name_sizes_of(frame)) + _CHECKSUM_SIZE :]


def with_other_body(frame: Buffer, body: Buffer, digest: bytes) -> bytes:
    """Return a frame with another body of the same size, and another digest."""
    stop = HEADER_SIZE + sum(_name_sizes_of(frame))
    checked = b"".join((frame[:_DIGEST_AT], digest, frame[_DIGEST_AT + len(digest) : stop]))
    return b"".join((checked, _checksum(checked), body))


def with_position(frame: bytes, position: int) -> bytes:
    """Return a frame with another place in the store; a checksum that was wrong stays wrong."""
    if len(frame) < HEADER_SIZE or _position_of(frame) == (position,):
        return frame
    stop = HEADER_SIZE + sum(_name_sizes_of(frame))
    before = frame[:stop]
    after = b"".join((before[:_POSITION_AT], position.to_bytes(8, "little"), before[_POSITION_AT + 8 :]))
    checksum = int.from_bytes(frame[stop : stop + _CHECKSUM_SIZE], "little") ^ crc32(before) ^ crc32(after)
    return b"".join((after, checksum.to_bytes(_CHECKSUM_SIZE, "little"), frame[stop + _CHECKSUM_SIZE :]))
