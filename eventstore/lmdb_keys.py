"""Keys and values of the tables of an LMDB store."""

from __future__ import annotations

import struct
from hashlib import sha256
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from eventstore.log import Head

if TYPE_CHECKING:
    import lmdb

Transaction: TypeAlias = "lmdb.Transaction[memoryview]"

event_key: Final = struct.Struct(">IQ").pack
number_key: Final = struct.Struct(">cI").pack
position_key: Final = struct.Struct(">Q").pack
place: Final = struct.Struct(">IQ")
sequence: Final = struct.Struct(">Q")
LONGEST_ID_IN_KEY: Final = 480
encode_head: Final = msgspec.msgpack.Encoder().encode
decode_head: Final = msgspec.msgpack.Decoder(Head).decode


def utf8(name: str) -> bytes:
    """A name to look for; one with a lone surrogate, which no stored name has, is found nowhere."""
    return name.encode("utf-8", "surrogatepass")


def id_key(number: int, event_id: str) -> bytes:
    """An id as a key; a long one keeps its beginning, so that prefixes still find it, and gets its digest."""
    name = utf8(event_id)
    if len(name) > LONGEST_ID_IN_KEY:
        name = name[: LONGEST_ID_IN_KEY - 32] + sha256(name).digest()
    return number.to_bytes(4, "big") + name
