"""Read what providers measured, and compute the size of a context for compaction decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final, NamedTuple

import msgspec

from eventstore.event import Event
from eventstore.harnesses import node_of
from eventstore.log import Snapshot
from eventstore.node import SettingsView
from eventstore.paths import event, events, events_of_kinds, in_effect_on
from eventstore.views import Message, Usage
from projections.context.build import context_at
from projections.context.cursor import Cursor
from projections.context.parts import Context, view_of_part
from projections.tokens import Counter

FAILED: Final = frozenset({"aborted", "error"})
"""Stop reasons of calls that failed or were aborted."""
CUT_OFF: Final = "length"
"""The stop reason of an answer that reached its length limit."""

CACHE_LIFETIME: Final = 5 * 60 * 1000
"""Milliseconds before an unused cache entry expires: five minutes, as Anthropic's default."""


def measured_usage(message: Message) -> Usage | None:
    """Return the usage of a completed call; None for other calls and messages.

    pi and oh-my-pi ignore the usage of aborted and failed calls too.
    """
    return None if message.stop_reason in FAILED else billed_usage(message)


def billed_usage(message: Message) -> Usage | None:
    """Return the usage that a provider counted, including that of failed and truncated calls."""
    if message.role != "assistant" or message.usage is None:
        return None
    return message.usage if message.usage.total > 0 else None


_NONE_READ: Final[Mapping[int, Event]] = {}


class RecordedAnswer(NamedTuple):
    """An assistant message, and the entry whose context its call was sent; 0 is the root."""

    event: Event
    message: Message
    sent_at: int
    records: tuple[int, ...]


def answers(
    snapshot: Snapshot, cursor: Cursor, *, first: int = 1, read: Mapping[int, Event] = _NONE_READ
) -> Iterator[RecordedAnswer]:
    """Yield the assistant messages of every branch from event `first` on, each call once.

    `read` are events that the caller has already decoded, by number, in order.

    Records of one group are one call, even if others stand between them: the last one with a usage counts. A
    usage from a later record belongs to its message. A message that names no model is by the one that the settings
    name. Without groups, memory use follows the largest record.
    """
    late = LateUsages(snapshot, cursor.session, first=first, last=cursor.as_of)
    held: list[tuple[Event, Message, str]] = []
    paying: dict[str, int] = {}
    parents: dict[str, dict[int, int]] = {}
    open_groups: dict[int, str] = {}
    for entry in _assistant_events(snapshot, cursor, first, read):
        view = node_of(entry)
        for answer in view.messages:
            if answer.role != "assistant":
                continue
            message = _with_model(snapshot, entry, late.added(entry.seq, answer))
            group = view.group
            if view.joins_answer:
                group = open_groups.pop(entry.parent_seq, f"#{entry.seq}")
                if not message.usage:
                    open_groups[entry.seq] = group
            if not group and not held:
                yield RecordedAnswer(entry, message, entry.parent_seq, (entry.seq,))
                continue
            if group:
                parents.setdefault(group, {})[entry.seq] = entry.parent_seq
                if message.usage:
                    paying[group] = len(held)
            held.append((entry, message, group))
    for place, (entry, message, group) in enumerate(held):
        is_counted = paying.get(group, place) == place
        counted = message if is_counted else msgspec.structs.replace(message, usage=None)
        of_group = parents.get(group, {entry.seq: entry.parent_seq})
        # Results of calls may stand between the records of a message that the model sent all at once.
        yield RecordedAnswer(entry, counted, of_group[min(of_group)], tuple(of_group))


def _with_model(snapshot: Snapshot, entry: Event, message: Message) -> Message:
    """Return an answer with the model that wrote it."""
    if message.model or not entry.model_seq:
        return message
    named = node_of(event(snapshot, entry.session, entry.model_seq)).settings or SettingsView()
    provider, model = (each if isinstance(each, str) else "" for each in (named.provider, named.model))
    return msgspec.structs.replace(message, provider=message.provider or provider, model=model)


def _assistant_events(
    snapshot: Snapshot, cursor: Cursor, first: int, read: Mapping[int, Event]
) -> Iterator[Event]:
    """Yield the events with an assistant's message; read those that the caller has not."""
    start = first
    for seq in chain(read, (cursor.as_of + 1,)):
        if seq > start:
            others = events(snapshot, cursor.session, first=start, last=seq - 1)
            yield from (each.decode() for each in others if each.role == "assistant")
        if seq >= start and seq in read and read[seq].role == "assistant":
            yield read[seq]
        start = max(start, seq + 1)


class LateUsages:
    """Usages recorded separately, from event `first` on; read once a message lacks its own."""

    def __init__(self, snapshot: Snapshot, session: str, *, first: int = 1, last: int | None = None) -> None:
        self._notes = events_of_kinds(snapshot, session, {"note"}, first=first, last=last)
        self._found: dict[int, Usage] | None = None

    def added(self, seq: int, message: Message) -> Message:
        """Return an event's message, with its late usage if it has none of its own."""
        if message.usage is not None or message.role != "assistant":
            return message
        if self._found is None:
            usages = ((each.target_seq, node_of(each).usage) for each in self._notes if each.target_seq)
            self._found = {target: usage for target, usage in usages if usage}
        usage = self._found.get(seq)
        return message if usage is None else msgspec.structs.replace(message, usage=usage)


class ContextSize(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The size in tokens that compaction decisions use, and how it is made up.

    `measured` is the provider's count for the newest call since the compaction in effect, event `measured_at`
    (None: no such call). `saved` is what later rewrites removed from it; `after` estimates the messages
    since. `estimate` covers the whole context, and `tokens` is never below it.
    """

    tokens: int
    estimate: int
    measured: int | None
    measured_at: str | None
    saved: int
    after: int


def context_size(
    snapshot: Snapshot, cursor: Cursor, tokens: Counter, *, less_saved: bool = True
) -> ContextSize:
    """Return the size of the context at a leaf.

    Calls before the compaction in effect are ignored: they measured another context, and would trigger a
    compaction right after every compaction. So are failed and aborted calls, and all for a counter that
    `ignores_usage`. With `less_saved`, subtract what rewrites saved since the measured call.
    """
    context = context_at(snapshot, cursor)
    counts = tokens.count(context.parts)
    estimate = sum(counts)
    place, usage = (None, 0) if tokens.ignores_usage else _newest_measured(snapshot, cursor, context)
    if place is None:
        return ContextSize(
            tokens=estimate, estimate=estimate, measured=None, measured_at=None, saved=0, after=0
        )
    after = sum(counts[place + 1 :])
    saved = 0
    if less_saved:
        saved = _saved(snapshot, cursor, context.parts[place].seq, sum(counts[: place + 1]), tokens)
    return ContextSize(
        tokens=max(usage - saved + after, estimate),
        estimate=estimate,
        measured=usage,
        measured_at=context.parts[place].id,
        saved=saved,
        after=after,
    )


def _newest_measured(snapshot: Snapshot, cursor: Cursor, context: Context) -> tuple[int | None, int]:
    in_effect_here = event(snapshot, cursor.session, cursor.leaf).compaction_seq if cursor.leaf else 0
    late = LateUsages(snapshot, cursor.session, first=in_effect_here + 1, last=cursor.as_of)
    for place in range(len(context.parts) - 1, -1, -1):
        part = context.parts[place]
        if part.role != "assistant" or part.session != cursor.session:
            continue
        usage = measured_usage(late.added(part.seq, view_of_part(part)))
        if usage is not None and event(snapshot, cursor.session, part.seq).compaction_seq == in_effect_here:
            return place, usage.total
    return None, 0


def _saved(snapshot: Snapshot, cursor: Cursor, measured_at: int, now: int, tokens: Counter) -> int:
    """Return the tokens that rewrites removed from a measured context, whose size is now `now`."""
    effective = in_effect_on(snapshot, cursor.session, cursor.leaf, first=measured_at + 1)
    if not any(entry.kind == "rewrite" for entry in effective):
        return 0
    then = sum(tokens.count(context_at(snapshot, cursor.at_leaf(measured_at)).parts))
    return max(then - now, 0)
