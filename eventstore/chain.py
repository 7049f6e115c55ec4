"""Chain the digests of a session's events, to reveal changed, lost or reordered events."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

START: Final = bytes(32)
"""The digest before a session's first event."""

_FIXED: Final = struct.Struct(">qHHHHH").pack
UNKNOWN_TIME: Final = -(2**63)


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
    """Return an event's digest: SHA-256 of the previous digest, names, time and body digest.

    It does not depend on the machine, the store, the recording time or library versions: equal events give
    equal chains anywhere.
    """
    names = (format.encode(), id.encode(), (parent or "").encode(), kind.encode(), cause.encode())
    return link_encoded(previous, body, names, time)


def link_encoded(
    previous: bytes, body: bytes | memoryview, names: Sequence[bytes | memoryview], time: int | None
) -> bytes:
    """Return the same as `link`; `names` are format, id, parent, kind and cause, in UTF-8."""
    format_name, event_id, parent, kind, cause = names
    packed = _FIXED(
        UNKNOWN_TIME if time is None else time,
        len(format_name),
        len(event_id),
        len(parent),
        len(kind),
        len(cause),
    )
    digest = sha256(body).digest()
    return sha256(b"".join((previous, packed, format_name, event_id, parent, kind, cause, digest))).digest()


def payload_digest(payload: bytes) -> bytes:
    """Return the SHA-256 by which a payload is stored beside the events."""
    return sha256(payload).digest()
