"""Track the size of a session's context along a path, entry by entry."""

from __future__ import annotations

import msgspec

from eventstore.as_of import as_of_event
from eventstore.event import Event
from eventstore.log import EventLog, Snapshot
from projections.context.cursor import Cursor, Leaf, path, resolve_cursor
from projections.context.incremental import IncrementalSizes
from projections.settings import settings_at
from projections.tokens import Counter, counter, is_estimate
from projections.usage import answers, measured_usage


class TimelinePoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The context's size in tokens after one entry.

    `measured` is the provider's count for this call: the context it was sent plus its answer.
    """

    seq: int
    kind: str
    tokens: int
    measured: int | None


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """The points along a path, oldest first."""

    counter: str
    estimate: bool
    """True unless the counter uses the vocabulary of the model in use at the leaf."""
    moments: list[TimelinePoint]


def timeline(
    log: EventLog | Snapshot,
    session: str,
    *,
    leaf: Leaf = None,
    as_of: int | None = None,
    tokens: Counter | None = None,
) -> Timeline:
    """Return the context's size after every entry on the path to a leaf. Raises NotFoundError."""
    tokens = tokens or counter("utf16/4")
    with log.snapshot() as newest:
        snapshot = as_of_event(newest, session, as_of)
        cursor = resolve_cursor(snapshot, session, leaf=leaf, as_of=as_of)
        entries = path(snapshot, cursor)
        along = IncrementalSizes(snapshot, cursor, entries, tokens)
        moments: list[TimelinePoint] = []
        measured = _measured_at(snapshot, cursor, {entry.seq: entry for entry in entries})
        for event in entries:
            along.add(event)
            moments.append(
                TimelinePoint(
                    seq=event.seq, kind=event.kind, tokens=along.sizes[-1], measured=measured.get(event.seq)
                )
            )
        return Timeline(
            counter=tokens.name,
            estimate=is_estimate(tokens, settings_at(snapshot, session, cursor.leaf).model),
            moments=moments,
        )


def _measured_at(snapshot: Snapshot, cursor: Cursor, on_path: dict[int, Event]) -> dict[int, int]:
    """Return a path's measured calls, by the number of the last record of their message."""
    return {
        max(records): usage.total
        for answer in answers(snapshot, cursor, read=on_path)
        if (records := on_path.keys() & answer.records) and (usage := measured_usage(answer.message))
    }
