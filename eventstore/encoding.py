"""Encode heads, states of files, and keys of ids as stores keep them, on whichever engine."""

from __future__ import annotations

import zlib
from hashlib import sha256
from typing import Final

import msgspec

from eventstore.errors import CorruptionError
from eventstore.log import Head, SourceState

MAX_ID_BYTES_IN_KEY: Final = 480
_encode_head: Final = msgspec.msgpack.Encoder().encode
_decode_head: Final = msgspec.msgpack.Decoder(Head).decode
_CHECKED_HEAD: Final = 2
"""The first byte of a head."""

encode_source: Final = msgspec.msgpack.Encoder().encode


def encode_name(name: str) -> bytes:
    """Encode a name for a lookup; a lone surrogate not of `decode_name` finds nothing."""
    try:
        return name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return name.encode("utf-8", "surrogatepass")


def decode_name(stored: bytes | memoryview) -> str:
    """Decode the name of a session or event; bytes that are no text are damage, and surrogates."""
    return str(stored, "utf-8", "surrogateescape")


def id_key(event_id: str) -> bytes:
    """Return the key of an id: of a long one, its beginning (for prefixes) and its digest."""
    name = encode_name(event_id)
    if len(name) > MAX_ID_BYTES_IN_KEY:
        name = name[: MAX_ID_BYTES_IN_KEY - 32] + sha256(name).digest()
    return name


def id_prefix(prefix: str) -> bytes:
    """Return what the keys of all ids with a prefix begin with."""
    return encode_name(prefix)[: MAX_ID_BYTES_IN_KEY - 32]


def encode_head(head: Head) -> bytes:
    """Encode a session's head: a mark, a CRC-32 of the rest, then MessagePack."""
    packed = _encode_head(head)
    return bytes([_CHECKED_HEAD]) + zlib.crc32(packed).to_bytes(4, "little") + packed


def decode_head(stored: bytes | memoryview | None, session: str = "") -> Head:
    """Decode a stored head. Raises CorruptionError that names `session`."""
    stored = stored or b""
    try:
        packed = stored[5:]
        if stored[:1] != bytes([_CHECKED_HEAD]) or zlib.crc32(packed) != int.from_bytes(
            stored[1:5], "little"
        ):
            raise CorruptionError(session, 0, "the checksum of the session's head is wrong")
        return _decode_head(packed)
    except msgspec.DecodeError as error:
        raise CorruptionError(session, 0, f"the session's head cannot be read ({error})") from error


def source_key(path: bytes) -> bytes:
    """Return a file's path as a key: paths may be longer than keys."""
    return sha256(path).digest()


def decode_source(stored: bytes | memoryview) -> SourceState:
    """Decode a stored state of a session file. Raises CorruptionError."""
    try:
        return msgspec.msgpack.decode(stored, type=SourceState)
    except msgspec.DecodeError as error:
        raise CorruptionError("", 0, f"the state of a session file cannot be read ({error})") from error
