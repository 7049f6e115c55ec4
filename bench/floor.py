"""Measure the lower bound of a rebuild: read the same bodies with one cursor and join them.

The cursor knows where the context begins, how many events it has, and the body's place in each value; refold
must find that out. `join_whole` is a bound that no reader of bodies can reach: whole values, joined in C.
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
    """The place of a context's events: first key, number, and offset of each value's body."""

    first_key: bytes
    count: int
    bodies: list[int]


def span_of_context(log: LmdbLog, session: str) -> Span:
    """Return the events from the first of a context to the leaf, which must be one run."""
    with log.snapshot() as snapshot:
        head = snapshot.head(session)
        _, _, _, run_start, compaction, *_ = pointers_of(snapshot.frame(session, head.leaf))
        *_, first = pointers_of(snapshot.frame(session, compaction)) if compaction else (1,)
        assert run_start == 1, "the floor reads one range of keys"
        frames = snapshot.frames(session, first=first, last=head.leaf)
        bodies = [len(frame) - len(body_of(frame)) for frame in frames]
    return Span(head.number.to_bytes(4, "big") + first.to_bytes(8, "big"), len(bodies), bodies)


def environment_of(log: LmdbLog) -> tuple[lmdb.Environment, Databases]:
    """Return the raw environment below an open store, and its tables."""
    return log._shared.env, log._shared.dbs  # noqa: SLF001  what lies below the store is the point


def events_of(log: LmdbLog) -> tuple[lmdb.Environment, Any]:
    """Return the raw environment below an open store, and its table of events."""
    env, tables = environment_of(log)
    return env, tables.events


def join(env: lmdb.Environment, events: Any, span: Span) -> bytes:
    """Join the bodies of a span."""
    with env.begin(buffers=True) as transaction:
        cursor = transaction.cursor(events)
        cursor.set_key(span.first_key)
        values = zip(cursor.iternext(keys=False), span.bodies, strict=False)
        return b",".join([value[at:] for value, at in values])


def join_whole(env: lmdb.Environment, events: Any, span: Span) -> bytes:
    """Join the whole values of a span."""
    with env.begin(buffers=True) as transaction:
        cursor = transaction.cursor(events)
        cursor.set_key(span.first_key)
        return b",".join(islice(cursor.iternext(keys=False), span.count))


def opened(path: Path, join: Callable[[lmdb.Environment, Any, Span], bytes], span: Span) -> bytes:
    """Open a closed store without checks, and join a span's bytes with `join`."""
    with lmdb.open(
        str(path),
        map_size=MAP_SIZE,
        max_dbs=len(Databases.__struct_fields__),
        max_readers=510,
        lib_version=0,
        readahead=False,
    ) as env:
        return join(env, env.open_db(b"events", create=False), span)
