"""What a report is made of, read out of a log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from cli.replaced import replacements
from cli.report.calls import Call, call_of
from cli.report.exchange import Exchange, exchange
from eventstore.event import Event
from eventstore.formats import view_of_event
from eventstore.frame import decode
from eventstore.log import EventLog, Snapshot
from eventstore.views import Message
from projections.audit import Audit, audit
from projections.context.build import context_at, part_of
from projections.context.cursor import Leaf, Standpoint, path, stand
from projections.context.parts import Fate
from projections.prices import Prices
from projections.replacement import replacement_of
from projections.timeline import Timeline, timeline
from projections.tokens import Counter
from projections.tree import Tree, tree


class Material(msgspec.Struct, frozen=True, kw_only=True):
    """A session at a leaf.

    By the numbers of events: `path` are the entries from root to leaf, `fates` those of the messages in the
    context there, `views` and `tokens` those of every message, `exchanges` one a replacement of the audit.
    `calls` are all model calls in order of the log.
    """

    audit: Audit
    timeline: Timeline
    tree: Tree
    events: Sequence[Event]
    path: frozenset[int]
    fates: Mapping[int, Fate]
    views: Mapping[int, Message]
    tokens: Mapping[int, int]
    exchanges: Mapping[int, Exchange]
    calls: Sequence[Call]


def read_material(
    log: EventLog,
    session: str,
    *,
    tokens: Counter,
    prices: Prices,
    leaf: Leaf = None,
    as_of: int | None = None,
) -> Material:
    """Read a session as of one moment. Raises NotFoundError."""
    with log.snapshot() as snapshot:
        at = stand(snapshot, session, leaf=leaf, as_of=as_of)
        found = audit(snapshot, session, leaf=leaf, as_of=as_of, tokens=tokens, prices=prices)
        events = [decode(frame, session) for frame in snapshot.frames(session, last=at.as_of)]
        views = {event.seq: view for event in events if (view := view_of_event(event)) is not None}
        return Material(
            audit=found,
            timeline=timeline(snapshot, session, leaf=leaf, as_of=as_of, tokens=tokens),
            tree=tree(snapshot, session, as_of=as_of),
            events=events,
            path=frozenset(entry.seq for entry in path(snapshot, at)),
            fates={part.seq: part.fate for part in context_at(snapshot, at).parts},
            views=views,
            tokens=_tokens(snapshot, events, tokens),
            exchanges=dict(_exchanges(snapshot, at, found, tokens)),
            calls=[
                call
                for event in events
                if event.seq in views and (call := call_of(event, views[event.seq], prices))
            ],
        )


def _tokens(snapshot: Snapshot, events: Sequence[Event], tokens: Counter) -> dict[int, int]:
    found = (part_of(snapshot.frame(event.session, event.seq)) for event in events if event.role)
    parts = [part for part in found if part is not None]
    return dict(zip((part.seq for part in parts), tokens.count(parts), strict=True))


def _exchanges(
    snapshot: Snapshot, at: Standpoint, found: Audit, tokens: Counter
) -> Iterator[tuple[int, Exchange]]:
    dropped = {each.seq: each.dropped for each in found.compactions}
    for each in replacements(found):
        event = decode(snapshot.frame(at.session, each.seq), at.session)
        replacement = replacement_of(event, snapshot, at)
        yield (
            each.seq,
            exchange(replacement, dropped=dropped.get(each.seq, ()), tokens=tokens),
        )
