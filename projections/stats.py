"""Count the contents of a log."""

from __future__ import annotations

from collections import Counter

import msgspec

from eventstore.errors import CorruptionError
from eventstore.log import EventLog, Snapshot
from eventstore.paths import events


class KindStats(msgspec.Struct, frozen=True, kw_only=True):
    """The number of events of a kind, and the total size of their records in bytes."""

    kind: str
    events: int
    bytes: int


class Stats(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Totals of a log; kinds are sorted by bytes, largest first.

    `problems` say which sessions are damaged: their events count up to the damage.
    """

    sessions: int
    events: int
    body_bytes: int
    kinds: list[KindStats]
    problems: list[str] = []


def stats(log: EventLog | Snapshot) -> Stats:
    """Count sessions, events and bytes of a log. Reads every event."""
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    problems = list[str]()
    with log.snapshot() as snapshot:
        heads = list(snapshot.heads())
    for head in heads:
        # Each in a snapshot of its own, which tells damage when it closes.
        try:
            with log.snapshot() as snapshot:
                for event in events(snapshot, head.name):
                    counts[event.kind] += 1
                    sizes[event.kind] += event.body_size
        except CorruptionError as error:
            problems.append(str(error))
    return Stats(
        sessions=len(heads),
        events=counts.total(),
        body_bytes=sizes.total(),
        kinds=[KindStats(kind=kind, events=counts[kind], bytes=size) for kind, size in sizes.most_common()],
        problems=problems,
    )
