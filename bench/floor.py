"""The floor of a rebuild: the same bodies' bytes, read from LMDB by one cursor and joined, nothing decoded.

It is told where the context begins, how many events it has, and where in each value the body lies; refold has to
find that out. Below it lies what no reader of bodies can reach: the values joined whole, in C.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import lmdb

from eventstore.frame import body_of, pointers_of
from eventstore.lmdb.opening import MAP_SIZE, Databases
from eventstore.lmdb.store import LmdbLog


class Span(NamedTuple):
    """Where a context's events stand: the key of the first one, their number, and where each value's body begins."""

    first_key: bytes
    count: int
    bodies: list[int]


def span_of_context(log: LmdbLog, session: str) -> Span:
    """The events between the first that a session's context shows and its leaf, which have to be one run."""
    with log.snapshot() as snapshot:
        head = snapshot.head(session)
        _, _, _, run_start, compaction, *_ = pointers_of(snapshot.frame(session, head.leaf))
        *_, first = pointers_of(snapshot.frame(session, compaction)) if compaction else (1,)
        assert run_start == 1, "the floor reads one range of keys"
        frames = snapshot.frames(session, first=first, last=head.leaf)
        bodies = [len(frame) - len(body_of(frame)) for frame in frames]
    return Span(head.number.to_bytes(4, "big") + first.to_bytes(8, "big"), len(bodies), bodies)


def environment_of(log: LmdbLog) -> tuple[lmdb.Environment, Databases]:
    """The raw environment below an open store, and its tables."""
    return log._shared.env, log._shared.dbs  # noqa: SLF001  what lies below the store is the point


def events_of(log: LmdbLog) -> tuple[lmdb.Environment, Any]:
    """The raw environment below an open store, and its table of events."""
    env, tables = environment_of(log)
    return env, tables.events


def join(env: lmdb.Environment, events: Any, span: Span) -> bytes:
    """The bodies of a span, joined."""
    with env.begin(buffers=True) as transaction:
        cursor = transaction.cursor(events)
        cursor.set_key(span.first_key)
        values = zip(cursor.iternext(keys=False), span.bodies, strict=False)
        return b",".join([value[at:] for value, at in values])


def join_whole(env: lmdb.Environment, events: Any, span: Span) -> bytes:
    """The values of a span, joined as they are."""
    with env.begin(buffers=True) as transaction:
        cursor = transaction.cursor(events)
        cursor.set_key(span.first_key)
        return b",".join(islice(cursor.iternext(keys=False), span.count))


def opened(path: Path, join: Callable[[lmdb.Environment, Any, Span], bytes], span: Span) -> bytes:
    """One of the two from a closed store: opened as a store is, but without a look at what is in it."""
    with lmdb.open(
        str(path),
        map_size=MAP_SIZE,
        max_dbs=len(Databases._fields),
        max_readers=510,
        lib_version=0,
        readahead=False,
    ) as env:
        return join(env, env.open_db(b"events", create=False), span)
