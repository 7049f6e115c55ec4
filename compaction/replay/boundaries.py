"""Find the entries of a session at which to try other policies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, Literal

import msgspec

from compaction.window import has_open_calls
from eventstore.event import Event
from eventstore.log import Snapshot
from eventstore.paths import event
from projections.audit.calls import sized_calls
from projections.audit.gaps import path_gaps, reckoned_restored
from projections.context.cursor import Cursor, path
from projections.context.incremental import IncrementalContexts
from projections.rules import rules_at
from projections.tokens import counter

Where = Literal["clean", "recorded"]
SMALLEST: Final = 30_000
STEP: Final = 10_000
"""Tokens, by pi's estimate, up to the first clean boundary and between two of them."""
_FEWEST_ANSWERS: Final = 3
"""Minimum answers of the model after a clean boundary; fewer can hardly need anything."""


class Boundary(msgspec.Struct, frozen=True, kw_only=True):
    """An entry at which a context is compacted.

    `leaf` is the last entry of the context. `compaction` is the recorded compaction of a `recorded` boundary, None
    for a `clean` one. `reckoned` are the tokens that its harness restored then without a record.
    """

    leaf: Event
    compaction: Event | None = None
    reckoned: int = 0


def boundaries_of(snapshot: Snapshot, cursor: Cursor, at: Where) -> Iterator[Boundary]:
    """Yield the boundaries on the path to a cursor's leaf, in order."""
    entries = path(snapshot, cursor)
    return (_clean if at == "clean" else _recorded)(snapshot, cursor, entries)


def courses_of(snapshot: Snapshot, cursor: Cursor, at: Where, rounds: int = 0) -> Iterator[list[Boundary]]:
    """Yield a path's boundaries one by one, or the first `rounds` of them as one course."""
    found = boundaries_of(snapshot, cursor, at)
    if rounds:
        course = list(islice(found, rounds))
        if course:
            yield course
    else:
        yield from ([each] for each in found)


def _clean(snapshot: Snapshot, cursor: Cursor, entries: Sequence[Event]) -> Iterator[Boundary]:
    """Yield boundaries before a path's first compaction, each after a step of growth.

    No summary has shaped what follows them. No call is open at them, so that any harness could compact there.
    """
    end = next((at for at, entry in enumerate(entries) if entry.kind == "compaction"), len(entries))
    contexts = IncrementalContexts(snapshot, cursor, entries)
    due = SMALLEST
    answers = [at for at, entry in enumerate(entries[:end]) if entry.role == "assistant"]
    last = answers[-_FEWEST_ANSWERS] if len(answers) >= _FEWEST_ANSWERS else 0
    size = 0
    for place in range(last):
        entry = entries[place]
        size += entry.utf16
        if size < due or not entry.role:
            continue
        parts = contexts.context_at(entry.seq).parts
        in_context = sum(part.utf16 for part in parts)
        if in_context >= due and not has_open_calls(parts):
            size, due = in_context, in_context + STEP
            yield Boundary(leaf=entry)


def _recorded(snapshot: Snapshot, cursor: Cursor, entries: Sequence[Event]) -> Iterator[Boundary]:
    """Yield the places at which compactions of a path were made."""
    places = [at for at, entry in enumerate(entries) if at and entry.kind == "compaction"]
    reckoned = _reckoned(snapshot, cursor) if places else {}
    for place in places:
        yield Boundary(
            leaf=entries[place - 1],
            compaction=entries[place],
            reckoned=reckoned.get(entries[place].seq, 0),
        )


def _reckoned(snapshot: Snapshot, cursor: Cursor) -> dict[int, int]:
    """Return the tokens that each compaction restored without a record, by usage."""
    calls = sized_calls(snapshot, cursor, counter("utf16/4"))
    rules = rules_at(snapshot, event(snapshot, cursor.session, cursor.leaf))
    gaps = path_gaps(snapshot, cursor, rules, calls, next(iter(calls), None))
    return reckoned_restored(gaps, calls)
