"""The bytes of one stored event: a fixed header, its names, its body.

Numbers are little-endian. The fields that a rebuild looks at stand first; spans count from the start of
the frame, so that a message is one slice of the stored value.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from eventstore.event import ROLES, Event, Flag
from eventstore.kinds import CODE_OF_KIND, kind_of_code

VERSION: Final = 1
Buffer = bytes | memoryview

_HEADER: Final = struct.Struct("<BBBBHHHHHxxIIIIQQQQQQQQqq32s")
HEADER_SIZE: Final = _HEADER.size

span_of: Final = struct.Struct("<16xII").unpack_from
"""Of a frame: start and stop of the message in it that contexts show as it is; (0, 0) where there is none."""

pointers_of: Final = struct.Struct("<xBxxH34xQQQQQQ").unpack_from
"""Of a frame: kind code, flags, then the sequence numbers of parent, run start, compaction, model, thinking, target."""

_name_sizes_of: Final = struct.Struct("<6xHHHH").unpack_from
_time_of: Final = struct.Struct("<96xq").unpack_from
_UNKNOWN_TIME: Final = -(2**63)
_ROLE_CODE: Final = {role: code for code, role in enumerate(ROLES)}
FORMATS: Final = ("refold/1", "pi/1", "pi/2", "pi/3")
"""How bodies are to be read; the place is the code on disk: append only."""
_FORMAT_CODE: Final = {name: code for code, name in enumerate(FORMATS)}


class Header(NamedTuple):
    """The fixed part of a frame, as unpacked. Names follow `Event`."""

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
    """The fixed part of a frame of the current version."""
    return Header._make(_HEADER.unpack_from(frame))


def encode(event: Event) -> bytes:
    """The frame of an event. Its session is in the key alone: a frame does not know the session's name."""
    code = CODE_OF_KIND.get(event.kind, 0)
    tag = b"" if code else event.kind.encode()
    names = (event.id.encode(), (event.parent or "").encode(), event.cause.encode(), tag)
    start, stop = event.message_span
    offset = HEADER_SIZE + sum(map(len, names)) if stop else 0
    header = _HEADER.pack(
        VERSION,
        code,
        _ROLE_CODE.get(event.role, _ROLE_CODE["other"]),
        _FORMAT_CODE[event.format],
        event.flags,
        *map(len, names),
        start + offset,
        stop + offset,
        event.utf16,
        event.utf8,
        event.seq,
        event.parent_seq,
        event.run_start,
        event.compaction_seq,
        event.model_seq,
        event.thinking_seq,
        event.target_seq,
        event.position,
        _UNKNOWN_TIME if event.time is None else event.time,
        event.recorded,
        event.digest,
    )
    return b"".join((header, *names, event.body))


def decode(frame: Buffer, session: str) -> Event:
    """The event of a frame of the current version, owning its bytes."""
    head = header_of(frame)
    at, names = HEADER_SIZE, []
    for size in (head.id_size, head.parent_size, head.cause_size, head.tag_size):
        names.append(str(frame[at : at + size], "utf-8"))
        at += size
    event_id, parent, cause, tag = names
    return Event(
        session=session,
        seq=head.seq,
        position=head.position,
        id=event_id,
        parent=parent if head.parent_seq else None,
        parent_seq=head.parent_seq,
        kind=kind_of_code(head.kind) or tag,
        role=ROLES[head.role],
        time=None if head.time == _UNKNOWN_TIME else head.time,
        recorded=head.recorded,
        cause=cause,
        format=FORMATS[head.format],
        flags=Flag(head.flags),
        utf16=head.utf16,
        utf8=head.utf8,
        run_start=head.run_start,
        compaction_seq=head.compaction_seq,
        model_seq=head.model_seq,
        thinking_seq=head.thinking_seq,
        target_seq=head.target_seq,
        message_span=(head.start - at, head.stop - at) if head.stop else (0, 0),
        digest=head.digest,
        body=bytes(frame[at:]),
    )


def role_of(frame: Buffer) -> str:
    """The role of a frame's message, without decoding the rest."""
    return ROLES[frame[2]]


def names_of(frame: Buffer, head: Header) -> tuple[str, str]:
    """Id and cause of a frame, without decoding the rest."""
    at = HEADER_SIZE + head.id_size
    cause_at = at + head.parent_size
    return (
        str(frame[HEADER_SIZE:at], "utf-8"),
        str(frame[cause_at : cause_at + head.cause_size], "utf-8"),
    )


def kind_of(frame: Buffer, head: Header) -> str:
    """The kind of a frame's event."""
    if head.kind:
        return kind_of_code(head.kind)
    at = HEADER_SIZE + head.id_size + head.parent_size + head.cause_size
    return str(frame[at : at + head.tag_size], "utf-8")


def digest_of(frame: Buffer) -> bytes:
    """The session's chained digest up to a frame's event."""
    return bytes(frame[HEADER_SIZE - 32 : HEADER_SIZE])


def time_of(frame: Buffer) -> int | None:
    """When the event of a frame happened, in epoch milliseconds."""
    (time,) = _time_of(frame)
    return None if time == _UNKNOWN_TIME else time


def body_of(frame: Buffer) -> Buffer:
    """The body of a frame, as a slice of it."""
    return frame[HEADER_SIZE + sum(_name_sizes_of(frame)) :]


Step = Callable[[bytes], bytes]

STEPS: Final[Mapping[int, Step]] = {}
"""From a frame version to the step that leads its frames to the next one: `{1: to_2, 2: to_3}`."""


def upcast(frame: Buffer, steps: Mapping[int, Step] = STEPS, *, to: int = VERSION) -> Buffer:
    """The frame in version `to`, led there one step a version; the same object if it is there already.

    Raises KeyError where no step leads on from the frame's version.
    """
    while frame[0] != to:
        frame = steps[frame[0]](bytes(frame))
    return frame
