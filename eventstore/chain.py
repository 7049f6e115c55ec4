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
    digest = body_digest(body)
    return sha256(b"".join((previous, packed, format_name, event_id, parent, kind, cause, digest))).digest()


_PURGED: Final = b'{"refoldPurged":"'
"""The beginning of a tombstone; two digests follow, of the body as appended and of the rest."""
_KEPT: Final = slice(len(_PURGED), len(_PURGED) + 64)
_REST: Final = slice(_KEPT.stop, _KEPT.stop + 64)


def body_digest(body: bytes | memoryview) -> bytes:
    """Return the SHA-256 of a body as it was appended, also if a tombstone is in its place now."""
    # Every event comes here, so nothing but a slice is looked at first.
    if body[: len(_PURGED)] == _PURGED and is_tombstone(body):
        return bytes.fromhex(str(body[_KEPT], "ascii"))
    return sha256(body).digest()


def is_tombstone(body: bytes | memoryview) -> bool:
    """Return True if a body is what `tombstone` made, and is unchanged since."""
    if body[: len(_PURGED)] != _PURGED or not _HEX_DIGITS.issuperset(body[_KEPT]):
        return False
    return body[_REST] == sha256(body[_REST.stop :]).hexdigest().encode()


_HEX_DIGITS: Final = frozenset(b"0123456789abcdef")


def is_same_body(new: bytes, stored: bytes) -> bool:
    """Return True if two bodies were equal when they were appended."""
    if new == stored:
        return True
    return (is_tombstone(new) or is_tombstone(stored)) and body_digest(new) == body_digest(stored)


def tombstone(body: bytes, shown: bytes) -> bytes:
    """Return a body's tombstone: its digest, and the fields of `shown`, a JSON object."""
    rest = b'"}' if shown == b"{}" else b'",' + shown[1:]
    return b"".join((_PURGED, body_digest(body).hex().encode(), sha256(rest).hexdigest().encode(), rest))


def shown_of(body: bytes) -> bytes:
    """Return the fields that a tombstone shows, as a JSON object; another body unchanged."""
    if not is_tombstone(body):
        return body
    after = body[_REST.stop + 1 :]
    return b"{}" if after == b"}" else b"{" + after[1:]


def payload_digest(payload: bytes) -> bytes:
    """Return the SHA-256 by which a payload is stored beside the events."""
    return sha256(payload).digest()
