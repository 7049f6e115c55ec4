"""Look up the readings of a session's boundaries, whose quotations were checked."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import msgspec

from eventstore.log import Snapshot
from eventstore.paths import LazyEvent, events_of_kinds
from eventstore.records import Note, own_record
from projections.audit.measure import EventRef, MetricStruct

BOUNDARIES: Final = frozenset({"compaction", "branch_summary"})
"""Kinds of entries at which a summary replaces messages."""


class Quotation(EventRef, frozen=True):
    """Words of an event, white space aside."""

    quote: str


class RuleState(StrEnum):
    """The state of a rule behind a boundary."""

    KEPT = "kept"
    WEAKENED = "weakened"
    GONE = "gone"
    BROKEN = "broken"
    UNKNOWN = "unknown"
    """Only the provider can read the summary."""


class Verdict(StrEnum):
    """The judgement of a second look on a claimed loss."""

    LOST = "lost"
    NOT_HEEDED = "kept but not heeded"
    NEVER_KNOWN = "never known"
    NOT_NEEDED = "not needed"
    UNREADABLE = "lost or not heeded"
    """Either, because only the provider can read the summary."""


class Weight(StrEnum):
    """The cost of a loss, by a person's words and by the calls that followed."""

    SERIOUS = "serious"
    MINOR = "minor"
    NONE = "none"


class Rule(MetricStruct, frozen=True):
    """A standing rule of a person, and its state behind the boundary.

    `in_summary` are words of the summary, None if nothing there says it. `broken` are words that break it.
    """

    rule: str
    said: list[Quotation]
    state: RuleState
    in_summary: str | None
    broken: list[Quotation]


class Fact(MetricStruct, frozen=True):
    """Something known before the boundary that the rest of the session could need."""

    fact: str
    kind: str
    known: list[Quotation]
    in_summary: str | None = None


class Loss(MetricStruct, frozen=True):
    """Something known before the boundary, missing behind it, and its trouble.

    `missing` are terms that nothing sent behind the boundary has, up to the trouble. `verdict` is that of the second
    look, with the words that it rests on. `person` are words by which a person repeated, corrected or refused
    something because of it, None for none.
    """

    loss: str
    kind: str
    known: list[Quotation]
    missing: list[str]
    trouble: list[Quotation]
    verdict: Verdict
    because: Quotation
    weight: Weight
    person: Quotation | None = None


class Statement(MetricStruct, frozen=True):
    """A sentence of a summary about a person's words, approval or decision, and the words that it rests on.

    `said` are words of a person, `in_previous` those of the summary before, None for none.
    """

    sentence: str
    said: list[Quotation]
    in_previous: str | None = None

    @property
    def is_unfounded(self) -> bool:
        """True if nobody said this."""
        return not self.said and self.in_previous is None


class Refused(MetricStruct, frozen=True):
    """A claim that failed a check, and the reason."""

    claim: str
    reason: str


class Reading(MetricStruct, frozen=True, tag_field="type", tag="reading"):
    """The data of a `note`: what a model read at one boundary.

    `boundary` is the id of a compaction or a branch summary, "" for the open window. `until` is the id of the last
    event read, `input` the digest of all that was read. `request` is the record of the requests.
    """

    boundary: str
    until: str
    input: str
    rules: list[Rule]
    facts: list[Fact]
    losses: list[Loss]
    refused: list[Refused]
    request: dict[str, Any]
    statements: list[Statement] = msgspec.field(default_factory=list)

    @property
    def unfounded(self) -> list[Statement]:
        """The statements that nobody made."""
        return [each for each in self.statements if each.is_unfounded]

    @property
    def shown_losses(self) -> list[Loss]:
        """The losses with a cost, the worst first."""
        weights = [*Weight]
        found = [each for each in self.losses if each.weight is not Weight.NONE]
        return sorted(found, key=lambda each: weights.index(each.weight))


def readings(snapshot: Snapshot, session: str) -> dict[str, Reading]:
    """Return the newest reading of each boundary of a session, by the boundary."""
    found = (_reading_of(event) for event in events_of_kinds(snapshot, session, {"note"}))
    return {each.boundary: each for each in found if each is not None}


def losses_by_event(snapshot: Snapshot, session: str) -> dict[int, tuple[str, ...]]:
    """Return what readings say was lost, by the number of each event that had it."""
    found: dict[int, tuple[str, ...]] = {}
    for reading in readings(snapshot, session).values():
        lost = [(each.loss, each.known) for each in reading.shown_losses]
        lost += [
            (f"rule {each.state}: {each.rule}", each.said)
            for each in reading.rules
            if each.state is not RuleState.KEPT
        ]
        for what, places in lost:
            for seq in {each.seq for each in places}:
                found[seq] = (*found.get(seq, ()), what)
    return found


def _reading_of(event: LazyEvent) -> Reading | None:
    note = own_record(event)
    try:
        return msgspec.convert(note.data, Reading) if isinstance(note, Note) else None
    except msgspec.ValidationError:
        return None
