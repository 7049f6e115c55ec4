"""What a whole log holds, in numbers."""

from __future__ import annotations

from collections import Counter

import msgspec

from eventstore.frame import body_of, header_of, kind_of
from eventstore.log import EventLog, Snapshot


class KindStats(msgspec.Struct, frozen=True, kw_only=True):
    """How many events of a kind there are, and the bytes of their records."""

    kind: str
    events: int
    bytes: int


class Stats(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A log in numbers; kinds with the most bytes first."""

    sessions: int
    events: int
    body_bytes: int
    kinds: list[KindStats]


def stats(log: EventLog | Snapshot) -> Stats:
    """Count what a log holds. Reads every frame."""
    events: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    with log.snapshot() as snapshot:
        heads = list(snapshot.heads())
        for head in heads:
            for frame in snapshot.frames(head.name):
                kind = kind_of(frame, header_of(frame))
                events[kind] += 1
                sizes[kind] += len(body_of(frame))
    return Stats(
        sessions=len(heads),
        events=events.total(),
        body_bytes=sizes.total(),
        kinds=[KindStats(kind=kind, events=events[kind], bytes=size) for kind, size in sizes.most_common()],
    )
