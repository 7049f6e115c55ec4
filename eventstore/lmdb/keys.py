"""Encode the keys of an LMDB store's tables."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, TypeAlias
from zlib import crc32

from eventstore import encoding

if TYPE_CHECKING:
    import lmdb


Transaction: TypeAlias = "lmdb.Transaction[memoryview]"

place: Final = struct.Struct(">IQ")
"""An event's session and number: its key, and the value of its position."""
event_key: Final = place.pack
number_key: Final = struct.Struct(">cI").pack
position_key: Final = struct.Struct(">Q").pack
sequence: Final = struct.Struct(">Q")


def id_key(number: int, event_id: str) -> bytes:
    """Return the key of an event's id in a session, given by its number."""
    return number.to_bytes(4, "big") + encoding.id_key(event_id)


def id_keys(number: int, ids: Iterable[str]) -> list[bytes]:
    """Return the keys of the ids of a session's events."""
    session = number.to_bytes(4, "big")
    # The call takes longer than the rest, and only a long id needs it.
    return [session + (each.encode() if len(each) < _SHORT else encoding.id_key(each)) for each in ids]


_SHORT: Final = encoding.MAX_ID_BYTES_IN_KEY // 4
"""Characters that take no more bytes than an id's key has."""


def holder_key(key: bytes) -> bytes:
    """Return the key, a checksum of the id and the session's number, for a key of `id_key`."""
    return crc32(key[4:]).to_bytes(4, "big") + key[:4]
