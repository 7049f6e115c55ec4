"""The model calls of a path that went through: what each was sent, and what a prompt cache held of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise, takewhile

import msgspec

from eventstore.event import Event
from eventstore.formats import view_of_event
from eventstore.frame import decode
from eventstore.log import Snapshot
from eventstore.sources import observed_rewrites
from eventstore.views import Usage
from projections.context import Part, context_at, part_of
from projections.coverage import bears_message
from projections.replacement import Replacement
from projections.standpoint import Standpoint, path
from projections.tokens import Counter
from projections.usage import measured

_FOLDED_ANEW = frozenset({"compaction", "rewrite", "undone"})
_ENDS_EFFECT = frozenset({"compaction", "undone"})


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A call that went through, by its assistant message.

    `idle` are the milliseconds since the call before it in the session, on whatever branch; None where a
    time is not known. `readable` are the tokens of its prompt that a cache held, were it still alive; None
    for the first call of the session.
    """

    seq: int
    id: str
    usage: Usage
    idle: int | None
    readable: int | None


def requests(snapshot: Snapshot, at: Standpoint, tokens: Counter) -> list[Request]:
    """The calls on the path to a leaf that went through, oldest first.

    What lies before the messages, system prompt and tools, is what the path's first call measured less the
    tokens of its messages. A cache holds that; and of what the session's call before measured beyond it, the
    share that the messages have that begin this call, too, byte for byte. So it holds the whole call before where
    the context only grew, and none of its messages where a summary comes first. Another model has another cache.
    """
    calls = _calls(snapshot, at)
    found: list[Request] = []
    overhead = 0
    for sent in _sent(snapshot, at, tokens, calls):
        call, before = calls[sent.event.seq], calls.get(sent.before)
        if not found:
            overhead = max(0, call.usage.prompt - sent.tokens)
        request = Request(
            seq=sent.event.seq,
            id=sent.event.id,
            usage=call.usage,
            idle=_between(before, call) if before else None,
            readable=_readable(before, call, overhead, sent.share) if before else None,
        )
        found.append(request)
    return found


def records_cache(calls: Sequence[Request]) -> bool:
    """Whether any of some calls read from a prompt cache or wrote to it."""
    return any(call.usage.cache_read or call.usage.cache_write for call in calls)


def in_effect(replacement: Replacement) -> Iterator[Event]:
    """The entries behind a replacement whose contexts grow from its C′: up to the next compaction or undo."""
    return takewhile(lambda entry: entry.kind not in _ENDS_EFFECT, replacement.later)


def shared_messages(one: Sequence[Part], other: Sequence[Part]) -> int:
    """With how many messages two contexts begin alike, byte for byte."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0].raw == pair[1].raw, pairs))


class _Call(msgspec.Struct, frozen=True):
    parent: int
    time: int | None
    model: tuple[str, str]
    usage: Usage


def _calls(snapshot: Snapshot, at: Standpoint) -> dict[int, _Call]:
    """The calls of every branch that went through, in order, by the number of their message."""
    calls: dict[int, _Call] = {}
    for frame in snapshot.frames(at.session, last=at.as_of):
        event = decode(frame, at.session)
        view = view_of_event(event) if event.role == "assistant" else None
        usage = measured(view) if view else None
        if view and usage:
            calls[event.seq] = _Call(event.parent_seq, event.time, (view.provider, view.model), usage)
    return calls


def _between(before: _Call, call: _Call) -> int | None:
    return None if before.time is None or call.time is None else call.time - before.time


def _readable(before: _Call, call: _Call, overhead: int, share: Fraction) -> int:
    if before.model != call.model:
        return 0
    fixed = min(overhead, before.usage.prompt)
    return min(fixed + int((before.usage.prompt - fixed) * share), call.usage.prompt)


class _Sent(msgspec.Struct, frozen=True):
    """A call of the path, the tokens of its messages, and which call of the session was the one before (0: none).

    `share` of that one's messages, by their tokens, begin this call, too.
    """

    event: Event
    tokens: int
    before: int
    share: Fraction


def _sent(snapshot: Snapshot, at: Standpoint, tokens: Counter, calls: dict[int, _Call]) -> Iterator[_Sent]:
    """What each call of the path was sent, the contexts grown from each other wherever they do."""
    entries = path(snapshot, at)
    own = _own_parts(snapshot, at, entries, tokens)
    previous = {seq: before for before, seq in pairwise(calls)}
    context: list[Part] = []
    # sizes[n] are the tokens of the first n messages; the call before on the path, `last`, had the first `same`.
    sizes, same, last, last_size = [0], 0, 0, 0
    for event in entries:
        if event.seq in calls:
            before = previous.get(event.seq, 0)
            if before == last:
                share = _quotient(sizes[same], last_size)
            else:
                elsewhere = context_at(snapshot, at.at(calls[before].parent)).parts
                alike = shared_messages(elsewhere, context)
                share = _quotient(sizes[alike], sum(tokens.count(elsewhere)))
            yield _Sent(event, sizes[-1], before, share)
            same, last, last_size = len(context), event.seq, sizes[-1]
        if event.kind in _FOLDED_ANEW:
            folded = context_at(snapshot, at.at(event.seq)).parts
            same = min(same, shared_messages(context, folded))
            context, sizes = list(folded), list(accumulate(tokens.count(folded), initial=0))
        elif event.seq in own:
            part, size = own[event.seq]
            context.append(part)
            sizes.append(sizes[-1] + size)


def _own_parts(
    snapshot: Snapshot, at: Standpoint, entries: Sequence[Event], tokens: Counter
) -> dict[int, tuple[Part, int]]:
    """What each entry shows where nothing but itself has a say in it, with its tokens."""
    observed = observed_rewrites(snapshot, at.session, as_of=at.as_of)
    shown = (
        part_of(snapshot.frame(at.session, entry.seq), changed=observed.get(entry.seq, ()))
        for entry in entries
        if bears_message(entry)
    )
    parts = [part for part in shown if part is not None]
    # All at once: what a counter makes, it keeps in the log.
    return {part.seq: (part, size) for part, size in zip(parts, tokens.count(parts), strict=True)}


def _quotient(part: int, whole: int) -> Fraction:
    return Fraction(part, whole) if whole else Fraction(0)
