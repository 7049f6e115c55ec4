"""The digest chain of a session: what makes a changed, lost or reordered event show."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

START: Final = bytes(32)
"""The digest before a session's first event."""

_FIXED: Final = struct.Struct(">qHHHHH").pack
_UNKNOWN_TIME: Final = -(2**63)


def link(
    previous: bytes,
    *,
    body: bytes,
    format: str,
    id: str,
    parent: str | None,
    kind: str,
    time: int | None,
    cause: str,
) -> bytes:
    """Return the digest after an event: SHA-256 of the one before, its names, its time and its body's SHA-256.

    Nothing in it depends on the machine, the store, the time of recording or the versions of libraries:
    the same events give the same chain anywhere.
    """
    names = [name.encode() for name in (format, id, parent or "", kind, cause)]
    return link_encoded(previous, body, names, time)


def link_encoded(
    previous: bytes, body: bytes | memoryview, names: Sequence[bytes | memoryview], time: int | None
) -> bytes:
    """Return what `link` gives; `names` are format, id, parent, kind and cause, in UTF-8."""
    known = _UNKNOWN_TIME if time is None else time
    return sha256(
        b"".join((previous, _FIXED(known, *map(len, names)), *names, sha256(body).digest()))
    ).digest()


def payload_digest(payload: bytes) -> bytes:
    """Return the digest by which a payload beside the events is kept: SHA-256."""
    return sha256(payload).digest()
