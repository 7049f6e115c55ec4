"""Keep audits in the store, to use again while nothing that they depend on has changed."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import msgspec

import eventstore
import projections
from eventstore.checked import require_sound
from eventstore.dependencies import DependencySnapshot, digest_of_session
from eventstore.log import EventLog, Snapshot
from projections.audit.prices import Prices, library_prices
from projections.audit.session import Audit, audit
from projections.context.cursor import Leaf
from projections.tokens import Counter


class _KeptAudit(msgspec.Struct, frozen=True, array_like=True):
    """An audit, and the digests of the sessions that were read for it.

    None stands for a session that was not in the store.
    """

    sessions: dict[str, bytes | None]
    audit: Audit


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(_KeptAudit).decode


def kept_audit(
    log: EventLog,
    session: str,
    *,
    leaf: Leaf = None,
    as_of: int | None = None,
    every_branch: bool = False,
    tokens: Counter,
    prices: Prices | None = None,
) -> Audit:
    """Return what `audit` returns, from the store if that is possible.

    A stored audit is used if it was made from the same events, by the same code and with the same prices, and if no
    event was altered since. Raises NotFoundError, and CorruptionError for an altered event.
    """
    prices = prices or library_prices()
    asked = session, repr(leaf), as_of, every_branch, tokens.name, tokens.is_exact, _table(prices), _code()
    key = b"audit " + blake2b(repr(asked).encode("utf-8", "surrogatepass"), digest_size=16).digest()
    with log.snapshot() as snapshot:
        value = snapshot.derived(key)
        if value is not None and (kept := _still_true(snapshot, value)) is not None:
            return kept
        read = DependencySnapshot(snapshot)
        made = audit(
            read, session, leaf=leaf, as_of=as_of, every_branch=every_branch, tokens=tokens, prices=prices
        )
    if read.reads_all:
        return made
    # A lone surrogate has no UTF-8 form, and a huge number no form at all; such an audit is made again each time.
    with suppress(UnicodeEncodeError, OverflowError):
        log.keep([(key, _encode(_KeptAudit(read.sessions, made)))])
    return made


def _still_true(snapshot: Snapshot, value: bytes) -> Audit | None:
    try:
        kept = _decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if any(digest_of_session(snapshot, session) != digest for session, digest in kept.sessions.items()):
        return None
    # The heads say that nothing was appended. That nothing was altered takes a look at every event.
    for session, digest in kept.sessions.items():
        if digest is not None:
            require_sound(snapshot, session)
    return kept.audit


def _table(prices: Prices) -> tuple[str, str, str]:
    """Identify a table of prices, and the library's, which also knows the windows of models."""
    table = msgspec.json.encode(prices).decode() if isinstance(prices, msgspec.Struct) else prices.date
    return prices.name, table, library_prices().name


@cache
def _code() -> list[tuple[str, int, int]]:
    """Identify the code that makes audits, so that a change to it leaves no old ones in use.

    Libraries that decide what is alike are told by their files.
    """
    libraries = [find_spec(name) for name in ("rapidfuzz", "Stemmer")]
    rooms = (Path(file).parent for file in (eventstore.__file__, projections.__file__) if file)
    files = sorted(file for room in rooms for file in room.rglob("*.py"))
    files += [Path(found.origin) for found in libraries if found and found.origin]
    return [(str(file), stat.st_size, stat.st_mtime_ns) for file in files if (stat := file.stat())]
