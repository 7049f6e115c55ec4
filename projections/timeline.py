"""The size of a session's context after every entry of a path, and what changed it."""

from __future__ import annotations

import msgspec

from eventstore.event import Event
from eventstore.files.sources import observed_rewrites
from eventstore.formats import view_of_event
from eventstore.javascript import iso_time
from eventstore.log import EventLog, Snapshot
from projections.context.build import context_at, parts_of
from projections.context.cursor import Leaf, Standpoint, path, stand
from projections.context.parts import Context, bears_message, is_continuation
from projections.settings import settings_at
from projections.tokens import Counter, counter, is_estimate
from projections.usage import LateUsages, measured

_FOLDED_ANEW = frozenset({"compaction", "rewrite", "undone"})


class Moment(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """After one entry: the context's size in tokens and messages, and the tokens that the entry added or took away.

    `measured` is what the provider counted at this call: the context that it was sent, and its answer.
    `continues`: it goes on after a compaction, and no person said it.
    """

    seq: int
    id: str
    kind: str
    role: str
    time: str | None
    tokens: int
    delta: int
    messages: int
    measured: int | None
    continues: bool


class Timeline(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The moments along a path, oldest first."""

    session: str
    leaf: str | None
    counter: str
    exact: bool
    estimate: bool
    """True if the counts are not by the vocabulary of the model in use at the leaf."""
    moments: list[Moment]


def timeline(
    log: EventLog | Snapshot,
    session: str,
    *,
    leaf: Leaf = None,
    as_of: int | None = None,
    tokens: Counter | None = None,
) -> Timeline:
    """The context's size after every entry of a leaf's path. Raises NotFoundError."""
    tokens = tokens or counter("utf16/4")
    with log.snapshot() as snapshot:
        at = stand(snapshot, session, leaf=leaf, as_of=as_of)
        entries = path(snapshot, at)
        observed = observed_rewrites(snapshot, session, as_of=at.as_of)
        parts = [
            part
            for event in entries
            if bears_message(event)
            for part in parts_of(event, changed=observed.get(event.seq, ()))
        ]
        # All at once: what a counter makes, it keeps in the log.
        counts: dict[int, list[int]] = {}
        for part, count in zip(parts, tokens.count(parts), strict=True):
            counts.setdefault(part.seq, []).append(count)
        moments: list[Moment] = []
        late = LateUsages(snapshot, session, last=at.as_of)
        size = messages = 0
        for event in entries:
            before = size
            if event.kind in _FOLDED_ANEW:
                context = _context(snapshot, at, event)
                size, messages = sum(tokens.count(context.parts)), len(context.parts)
            elif event.seq in counts:
                size += sum(counts[event.seq])
                messages += len(counts[event.seq])
            moments.append(_moment(event, size, size - before, messages, late))
        return Timeline(
            session=session,
            leaf=entries[-1].id if entries else None,
            counter=tokens.name,
            exact=tokens.is_exact,
            estimate=is_estimate(tokens, settings_at(snapshot, session, at.leaf).model),
            moments=moments,
        )


def _context(snapshot: Snapshot, at: Standpoint, event: Event) -> Context:
    return context_at(snapshot, at.at(event.seq))


def _moment(event: Event, tokens: int, delta: int, messages: int, late: LateUsages) -> Moment:
    view = view_of_event(event) if event.role == "assistant" else None
    usage = measured(late.added(event.id, view)) if view else None
    return Moment(
        seq=event.seq,
        id=event.id,
        kind=event.kind,
        role=event.role,
        time=iso_time(event.time),
        tokens=tokens,
        delta=delta,
        messages=messages,
        measured=usage.total if usage else None,
        continues=is_continuation(event),
    )
