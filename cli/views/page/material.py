"""Read the material of a report from a log."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

import msgspec

from cli.views.model import AuditView, audit_view
from eventstore import paths
from eventstore.as_of import as_of_event
from eventstore.event import Event
from eventstore.harnesses import node_of
from eventstore.imports import copied_through
from eventstore.log import EventLog, Snapshot
from eventstore.views import Message, Usage
from projections.audit.measure import EventRef
from projections.audit.prices import Prices
from projections.audit.session import Audit
from projections.context.build import context_at, parts_of
from projections.context.cursor import Cursor, Leaf, path, resolve_cursor
from projections.context.parts import Fate, Part, view_of_part
from projections.diff import Change
from projections.replacement import Replacement, replacement_of
from projections.timeline import Timeline, timeline
from projections.tokens import Counter
from projections.tree import Tree, tree
from projections.usage import answers, billed_usage


class BilledCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call with usage, on whatever branch.

    `model` is its name with its provider's, "" if unknown. `dollars` is its cost as recorded, or else by the price
    table; None if unknown.
    """

    seq: int
    model: str
    usage: Usage
    dollars: float | None
    is_recorded: bool


def billed_call(event: Event, view: Message, prices: Prices) -> BilledCall | None:
    """Return the call that a message answers; None for other messages."""
    usage = billed_usage(view)
    if usage is None:
        return None
    dollars = usage.cost
    if dollars is None:
        price = prices.price(view.model, provider=view.provider, time=event.time, prompt=usage.prompt)
        dollars = price.of(usage) if price else None
    return BilledCall(
        seq=event.seq,
        model=model_name(view),
        usage=usage,
        dollars=dollars,
        is_recorded=usage.cost is not None,
    )


def model_name(view: Message) -> str:
    """Return the model that wrote a message, with its provider; "" if unknown."""
    return "/".join(filter(None, (view.provider, view.model)))


def total_cost(calls: Sequence[BilledCall]) -> float | None:
    """Return the sum of all known costs in US dollars; None if none is known."""
    known = [call.dollars for call in calls if call.dollars is not None]
    return math.fsum(known) if known else None


def cumulative_cost(calls: Sequence[BilledCall], entries: Sequence[int]) -> Iterator[tuple[int, float]]:
    """Yield each entry of a path with the cost up to then, including calls on other branches."""
    done, total = 0, 0.0
    for seq in entries:
        while done < len(calls) and calls[done].seq <= seq:
            total += calls[done].dollars or 0.0
            done += 1
        yield seq, total


class MessageChange(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a context and what happened to it.

    `message` is its new content if it was rewritten, or its text if a compaction holds it.
    """

    seq: int
    tokens: int
    change: Change
    message: Message | None


class ContextChange(msgspec.Struct, frozen=True, kw_only=True):
    """The contexts before and after a replacement."""

    before: tuple[MessageChange, ...]
    after: tuple[MessageChange, ...]


def context_change(
    replacement: Replacement, *, uncovered: Iterable[EventRef], tokens: Counter
) -> ContextChange:
    """Return a replacement's change; `uncovered` are messages that no summary covers."""
    shown_after = {part.key for part in replacement.after.parts}
    kept = {part.key for part in replacement.kept}
    rewritten = {part.key for part in replacement.removed} & shown_after
    gone = {each.event for each in uncovered}

    def before(part: Part) -> Change:
        if part.key in kept:
            return Change.KEPT
        if part.key in rewritten:
            return Change.REWRITTEN
        return Change.GONE if part.id in gone else Change.SUMMARIZED

    def after(part: Part) -> Change:
        if part.key in kept:
            return Change.KEPT
        return Change.REWRITTEN if part.key in rewritten else Change.NEW

    return ContextChange(
        before=tuple(
            _shown(part, count, before(part)) for part, count in _counted(replacement.before.parts, tokens)
        ),
        after=tuple(
            _shown(part, count, after(part), is_after=True)
            for part, count in _counted(replacement.after.parts, tokens)
        ),
    )


def _counted(parts: tuple[Part, ...], tokens: Counter) -> Iterable[tuple[Part, int]]:
    return zip(parts, tokens.count(parts), strict=True)


def _shown(part: Part, count: int, change: Change, *, is_after: bool = False) -> MessageChange:
    view = view_of_part(part)
    # Several messages may be of one compaction: its event's line says nothing of the others.
    is_other = (part.kind == "compaction" and view.text) or (is_after and change is Change.REWRITTEN)
    return MessageChange(
        seq=part.seq,
        tokens=count,
        change=change,
        message=view if is_other else None,
    )


class Material(msgspec.Struct, frozen=True, kw_only=True):
    """A session at a leaf, read for a report.

    By event number: `path` are the entries from root to leaf, `fates` those of messages in the context,
    `views` and `tokens` those of every message, `exchanges` one per replacement of the audit. `calls` are the
    session's own model calls in log order: a fork has none of those that it shares with its original.
    """

    view: AuditView
    timeline: Timeline
    tree: Tree
    events: Sequence[Event]
    path: frozenset[int]
    fates: Mapping[int, Fate]
    views: Mapping[int, Message]
    tokens: Mapping[int, int]
    exchanges: Mapping[int, ContextChange]
    calls: Sequence[BilledCall]


def read_material(
    log: EventLog | Snapshot, audit: Audit, *, tokens: Counter, prices: Prices, leaf: Leaf = None
) -> Material:
    """Read the session of an audit at its leaf, as of the same moment. Raises NotFoundError."""
    session, as_of, audited = audit.session, audit.events, audit_view(audit)
    with log.snapshot() as newest:
        snapshot = as_of_event(newest, session, as_of)
        cursor = resolve_cursor(snapshot, session, leaf=leaf, as_of=as_of)
        copied = copied_through(snapshot, session)
        events = [event.decode() for event in paths.events(snapshot, session, last=cursor.as_of)]
        views = {event.seq: view for event in events if (view := node_of(event).message) is not None}
        return Material(
            view=audited,
            timeline=timeline(snapshot, session, leaf=leaf, as_of=as_of, tokens=tokens),
            tree=tree(snapshot, session, leaf=leaf, as_of=as_of),
            events=events,
            path=frozenset(entry.seq for entry in path(snapshot, cursor)),
            fates={
                seq: part.fate
                for part in context_at(snapshot, cursor).parts
                if part.session == session
                for seq in (part.seq, *part.merged)
            },
            views=views,
            tokens=_tokens(events, tokens),
            exchanges=dict(_exchanges(snapshot, cursor, audited, tokens)),
            calls=[
                call
                for answer in answers(snapshot, cursor)
                if answer.event.seq > copied
                and (call := billed_call(answer.event, answer.message, prices)) is not None
            ],
        )


def _tokens(events: Sequence[Event], tokens: Counter) -> dict[int, int]:
    parts = [part for event in events if event.role for part in parts_of(event)]
    sizes: dict[int, int] = {}
    for part, size in zip(parts, tokens.count(parts), strict=True):
        sizes[part.seq] = sizes.get(part.seq, 0) + size
    return sizes


def _exchanges(
    snapshot: Snapshot, cursor: Cursor, view: AuditView, tokens: Counter
) -> Iterator[tuple[int, ContextChange]]:
    for each in view.replacements:
        event = paths.event(snapshot, cursor.session, each.seq).decode()
        replacement = replacement_of(event, snapshot, cursor)
        yield (
            each.seq,
            context_change(replacement, uncovered=each.uncovered, tokens=tokens),
        )


class EventStatus(StrEnum):
    """The place of an event relative to the leaf."""

    KEPT = "kept"
    """In the context, as recorded."""
    REWRITTEN = "rewritten"
    """In the context, with other content."""
    SUMMARIZED = "summarized"
    """Not in the context; a summary or another text replaces it."""
    GONE = "gone"
    """Not in the context, and no summary covers it."""
    ASIDE = "aside"
    """On another branch."""
    SILENT = "silent"
    """Not something that a model is sent."""


class EventOutcome(msgspec.Struct, frozen=True):
    """A message's fate, and the number of the event that caused it, if any."""

    status: EventStatus
    by: int | None = None


_OF_FATE = {Fate.REWRITTEN: EventStatus.REWRITTEN}
_OF_CHANGE = {Change.SUMMARIZED: EventStatus.SUMMARIZED, Change.GONE: EventStatus.GONE}


def outcomes(material: Material) -> dict[int, EventOutcome]:
    """Return the outcome of every event by its number."""
    without_effect = {each.seq for each in material.view.replacements if each.is_undone}
    taken: dict[int, EventOutcome] = {}
    changed: dict[int, int] = {}
    for seq, exchange in sorted(material.exchanges.items()):
        for shown in exchange.before if seq not in without_effect else ():
            if standing := _OF_CHANGE.get(shown.change):
                taken[shown.seq] = EventOutcome(standing, seq)
            elif shown.change is Change.REWRITTEN:
                changed[shown.seq] = seq
    found: dict[int, EventOutcome] = {}
    for event in material.events:
        if fate := material.fates.get(event.seq):
            standing = _OF_FATE.get(fate, EventStatus.KEPT)
            found[event.seq] = EventOutcome(
                standing, changed.get(event.seq) if standing is not EventStatus.KEPT else None
            )
        elif event.seq in taken:
            found[event.seq] = taken[event.seq]
        elif not event.role:
            found[event.seq] = EventOutcome(EventStatus.SILENT)
        else:
            found[event.seq] = EventOutcome(
                EventStatus.SILENT if event.seq in material.path else EventStatus.ASIDE
            )
    return found
