"""Read what providers measured, and size contexts by it, to decide whether to make one smaller."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from eventstore.event import Event
from eventstore.formats import view_of
from eventstore.log import Snapshot
from eventstore.paths import event, events, events_of_kinds, in_effect_on
from eventstore.views import Message, Usage
from projections.context.build import context_at
from projections.context.cursor import Cursor
from projections.context.parts import Context, view_of_part
from projections.tokens import Counter

FAILED: Final = frozenset({"aborted", "error"})
"""Stop reasons of calls that did not go through."""
CUT_OFF: Final = "length"
"""The stop reason of an answer that ended because it was as long as it might get."""


def measured_usage(message: Message) -> Usage | None:
    """The usage of a call that went through; None for other messages, and for calls that failed or were cut off.

    pi and oh-my-pi ignore the usage of aborted and failed calls, and so does this.
    """
    return None if message.stop_reason in FAILED else billed_usage(message)


def billed_usage(message: Message) -> Usage | None:
    """The usage of any call that its provider counted; one that failed or was cut off was paid for, too."""
    if message.role != "assistant" or message.usage is None:
        return None
    return message.usage if message.usage.total > 0 else None


class Answer(NamedTuple):
    """An assistant's message, by the event that counts for its call.

    `sent_at` is the number of the entry whose context the call was sent, 0 for the root. `records` are the numbers of
    all events of its group.
    """

    event: Event
    message: Message
    sent_at: int
    records: tuple[int, ...]


def answers(snapshot: Snapshot, cursor: Cursor) -> Iterator[Answer]:
    """Iterate over the assistant's messages of every branch, in order of the log, each call once.

    Of the records of one group, whatever stands between them, the last that says a usage has that of all of them; a
    usage that came in a later record is the message's own. Without groups, memory follows the largest record.
    """
    late = LateUsages(snapshot, cursor.session, last=cursor.as_of)
    held: list[tuple[Event, Message, str]] = []
    paying: dict[str, int] = {}
    parents: dict[str, dict[int, int]] = {}
    for each in events(snapshot, cursor.session, last=cursor.as_of):
        if each.role != "assistant":
            continue
        entry = each.decode()
        said = view_of(entry)
        for answer in said.messages:
            if answer.role != "assistant":
                continue
            message = late.added(entry.id, answer)
            if not said.group and not held:
                yield Answer(entry, message, entry.parent_seq, (entry.seq,))
                continue
            if said.group:
                parents.setdefault(said.group, {})[entry.seq] = entry.parent_seq
                if message.usage:
                    paying[said.group] = len(held)
            held.append((entry, message, said.group))
    for place, (entry, message, group) in enumerate(held):
        is_counted = paying.get(group, place) == place
        counted = message if is_counted else msgspec.structs.replace(message, usage=None)
        sent_at, of_group = entry.parent_seq, parents.get(group, {entry.seq: entry.parent_seq})
        while sent_at in of_group:
            sent_at = of_group[sent_at]
        yield Answer(entry, counted, sent_at, tuple(of_group))


class LateUsages:
    """The usages that came in records of their own, from event `first` on; read when a message without one is met."""

    def __init__(self, snapshot: Snapshot, session: str, *, first: int = 1, last: int | None = None) -> None:
        self._notes = events_of_kinds(snapshot, session, {"note"}, first=first, last=last)
        self._found: dict[str, Usage] | None = None

    def added(self, event_id: str, message: Message) -> Message:
        """Return an event's message, with the usage that came for it if it has none of its own."""
        if message.usage is not None or message.role != "assistant":
            return message
        if self._found is None:
            said = (view_of(note).usage for note in self._notes)
            self._found = {each.about: each.usage for each in said if each}
        usage = self._found.get(event_id)
        return message if usage is None else msgspec.structs.replace(message, usage=usage)


class ContextSize(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The size that decides, in tokens, and what it is made of.

    `measured` is what the provider counted at the newest call that went through since the compaction in effect,
    event `measured_at` (None: there is no such call); `saved` what rewrites behind it took away of what it
    measured; `after` the estimate of the messages behind it, as they are now. `estimate` is that of the whole
    context, below which `tokens` never is.
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
    """The size of the context at a leaf.

    A call from before the compaction in effect measured another context, though its message may be kept: by
    its figure every compaction would be followed by the next. Calls that failed or were aborted have none.
    `less_saved`: the savings of rewrites since the measured call count.
    """
    context = context_at(snapshot, cursor)
    counts = tokens.count(context.parts)
    estimate = sum(counts)
    place, usage = _newest_measured(snapshot, cursor, context)
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
        usage = measured_usage(late.added(part.id, view_of_part(part)))
        if usage is not None and event(snapshot, cursor.session, part.seq).compaction_seq == in_effect_here:
            return place, usage.total
    return None, 0


def _saved(snapshot: Snapshot, cursor: Cursor, measured_at: int, now: int, tokens: Counter) -> int:
    """Return what rewrites since a measured call took away of what it measured, which is `now` so many tokens."""
    effective = in_effect_on(snapshot, cursor.session, cursor.leaf, first=measured_at + 1)
    if not any(entry.kind == "rewrite" for entry in effective):
        return 0
    then = sum(tokens.count(context_at(snapshot, cursor.at_leaf(measured_at)).parts))
    return max(then - now, 0)
