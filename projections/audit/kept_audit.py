"""Keep audits in the store, to use again while nothing that they depend on has changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Final

import msgspec

import eventstore
import projections
from eventstore.errors import NotFoundError
from eventstore.frame import Buffer
from eventstore.log import EventLog, FeedItem, Head, Snapshot, SourceState
from projections.audit.prices import Prices, library_prices
from projections.audit.session import Audit, audit
from projections.context.cursor import Leaf
from projections.tokens import Counter


class _KeptAudit(msgspec.Struct, frozen=True, array_like=True):
    """An audit, and the digests of the sessions that it was read from; None for one that was not there."""

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
    """Return `audit(…)`, from the store if it was made from the same events by the same code and prices.

    Raises NotFoundError.
    """
    prices = prices or library_prices()
    asked = session, str(leaf), as_of, every_branch, tokens.name, tokens.is_exact, _table(prices), _code()
    key = b"audit " + blake2b(repr(asked).encode("utf-8", "surrogatepass"), digest_size=16).digest()
    with log.snapshot() as snapshot:
        value = snapshot.derived(key)
        if value is not None and (kept := _still_true(snapshot, value)) is not None:
            return kept
        read = _RecordingSnapshot(snapshot)
        made = audit(
            read, session, leaf=leaf, as_of=as_of, every_branch=every_branch, tokens=tokens, prices=prices
        )
    if read.reads_all:
        return made
    # A lone surrogate has no UTF-8 form; such an audit is made again each time.
    with suppress(UnicodeEncodeError):
        log.keep([(key, _encode(_KeptAudit(read.sessions, made)))])
    return made


def _still_true(snapshot: Snapshot, value: bytes) -> Audit | None:
    try:
        kept = _decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    is_true = all(_digest(snapshot, session) == digest for session, digest in kept.sessions.items())
    return kept.audit if is_true else None


def _digest(snapshot: Snapshot, session: str) -> bytes | None:
    try:
        return snapshot.head(session).digest
    except NotFoundError:
        return None


def _table(prices: Prices) -> tuple[str, str, str]:
    """Identify a table of prices, and the library's, which also knows the windows of models."""
    table = msgspec.json.encode(prices).decode() if isinstance(prices, msgspec.Struct) else prices.date
    return prices.name, table, library_prices().name


@cache
def _code() -> list[tuple[str, int, int]]:
    """Identify the code that makes audits, so that a change to it leaves no old ones in use."""
    rooms = (Path(file).parent for file in (eventstore.__file__, projections.__file__) if file)
    files = sorted(file for room in rooms for file in room.rglob("*.py"))
    return [(str(file), stat.st_size, stat.st_mtime_ns) for file in files if (stat := file.stat())]


class _RecordingSnapshot:
    """A `Snapshot` that remembers which sessions were read, with their digests.

    `reads_all`: a result depends on all sessions, also on those that are not there yet.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.sessions: dict[str, bytes | None] = {}
        self.reads_all = False

    def _read(self, session: str) -> Snapshot:
        if session not in self.sessions:
            self.sessions[session] = _digest(self._snapshot, session)
        return self._snapshot

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        return nullcontext(self)

    def heads(self) -> Iterator[Head]:
        self.reads_all = True
        return self._snapshot.heads()

    def head(self, session: str) -> Head:
        return self._read(session).head(session)

    def frame(self, session: str, seq: int) -> Buffer:
        return self._read(session).frame(session, seq)

    def frames(
        self, session: str, *, first: int = 1, last: int | None = None, backward: bool = False
    ) -> Iterator[Buffer]:
        return self._read(session).frames(session, first=first, last=last, backward=backward)

    def path(self, session: str, leaf: int, *, first: int = 1) -> Iterator[Buffer]:
        return self._read(session).path(session, leaf, first=first)

    def locate(self, session: str, event_id: str) -> int:
        return self._read(session).locate(session, event_id)

    def ids(self, session: str, prefix: str = "") -> Iterator[str]:
        return self._read(session).ids(session, prefix)

    def feed(self, after: int = 0) -> Iterator[FeedItem]:
        self.reads_all = True
        return self._snapshot.feed(after)

    def blob(self, digest: bytes) -> bytes:
        return self._snapshot.blob(digest)

    def derived(self, key: bytes) -> bytes | None:
        return self._snapshot.derived(key)

    def source(self, path: bytes) -> SourceState | None:
        return self._snapshot.source(path)

    def sources(self) -> Iterator[SourceState]:
        return self._snapshot.sources()
