"""Look up the readings of a session's boundaries, whose quotations were checked."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec

from eventstore import paths
from eventstore.harnesses import node_of
from eventstore.log import Snapshot
from eventstore.paths import events_of_kinds
from projections.audit.measure import EventRef, MetricStruct
from projections.person_text import folded, outside_tags
from projections.pieces import Who, pieces_of

BOUNDARIES: Final = frozenset({"compaction", "branch_summary"})
"""Kinds of entries at which a summary replaces messages."""
PUBLIC: Final = re.compile(
    r"\bgit\s+push\b|\bgh\s+(?:pr|issue|release)\s+(?:create|comment|merge|close|edit)\b"
    r"|\b(?:npm|pnpm|yarn|cargo|poetry|uv)\s+publish\b|\btwine\s+upload\b|\bdocker\s+push\b|\bgem\s+push\b"
)
"""Commands by which others see what was done."""
_LARGEST_GROUP: Final = 200
"""Events behind the first one of a message in which others of it are sought."""


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
    """Either: only the provider can read the summary, or no record has the memory files."""


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
    """A summary's sentence about a person's words, approval or decision, and its basis.

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
    """Return the newest reading of each boundary of a session, by the boundary.

    Claims whose quotations do not stand in the log are among those refused: anybody can append a note.
    """
    newest = {each.boundary: each for _, each in paths.own_notes(snapshot, session, Reading)}
    return {boundary: _Recheck(snapshot, session, boundary).of(each) for boundary, each in newest.items()}


class _Recheck:
    """Compare the quotations of a stored reading with the log."""

    def __init__(self, snapshot: Snapshot, session: str, boundary: str) -> None:
        self._snapshot, self._session = snapshot, session
        self._seq = snapshot.locate(session, boundary) if boundary else 0
        self._summary = self._summary_at(self._seq) if self._seq else ""
        self._previous: str | None = None
        self._pieces: dict[int, list[tuple[Who, str]]] = {}

    def of(self, reading: Reading) -> Reading:
        """Return a reading whose unproved claims are refused."""
        refused = [
            *(each.rule for each in reading.rules if not self._proves_rule(each)),
            *(each.fact for each in reading.facts if not self._proves_fact(each)),
            *(each.loss for each in reading.losses if not self._proves_loss(each)),
            *(each.sentence for each in reading.statements if not self._proves_statement(each)),
        ]
        if not refused:
            return reading
        return msgspec.structs.replace(
            reading,
            rules=[each for each in reading.rules if self._proves_rule(each)],
            facts=[each for each in reading.facts if self._proves_fact(each)],
            losses=[each for each in reading.losses if self._proves_loss(each)],
            statements=[each for each in reading.statements if self._proves_statement(each)],
            refused=[
                *reading.refused,
                *(
                    Refused(claim=each, reason="the log does not say what the note quotes")
                    for each in refused
                ),
            ],
        )

    def _proves_rule(self, rule: Rule) -> bool:
        return (
            self._is_summed_up(rule.in_summary)
            and self._stand(rule.said, is_before=True, by={Who.PERSON})
            and (rule.state is not RuleState.BROKEN or self._stand(rule.broken))
        )

    def _proves_fact(self, fact: Fact) -> bool:
        return self._is_summed_up(fact.in_summary) and self._stand(fact.known, is_before=True)

    def _is_summed_up(self, words: str | None) -> bool:
        """Return True for words of the summary, or none."""
        return words is None or _is_within(words, self._summary)

    def _proves_loss(self, loss: Loss) -> bool:
        if loss.person is not None and not self._stand([loss.person], by={Who.PERSON}):
            return False
        stands = self._stand(loss.known, is_before=True) and self._stand([*loss.trouble, loss.because])
        return stands and (
            loss.weight is not Weight.SERIOUS
            or loss.person is not None
            or any(
                who is Who.CALL and PUBLIC.search(text) is not None
                for each in loss.trouble
                for who, text in self._pieces_at(each.seq)
            )
        )

    def _proves_statement(self, statement: Statement) -> bool:
        is_said = not statement.said or self._stand(
            statement.said, is_before=True, by={Who.PERSON, Who.RESULT, Who.ANSWER}
        )
        is_carried = statement.in_previous is None or _is_within(statement.in_previous, self._carried)
        return is_said and is_carried and _is_within(statement.sentence, self._summary)

    def _summary_at(self, seq: int) -> str:
        node = node_of(paths.event(self._snapshot, self._session, seq), self._snapshot)
        return folded(node.summary.summary) if node.summary else ""

    @property
    def _carried(self) -> str:
        """The summaries before the boundary."""
        if self._previous is None:
            last = self._seq - 1 if self._seq else None
            found = events_of_kinds(self._snapshot, self._session, BOUNDARIES, last=last)
            self._previous = "\n".join(self._summary_at(each.seq) for each in found)
        return self._previous

    def _stand(
        self,
        quotations: Sequence[Quotation],
        *,
        is_before: bool = False,
        by: Collection[Who] = frozenset(Who),
    ) -> bool:
        """Return True if quotations are all by these authors, on this side of the boundary."""
        return bool(quotations) and all(
            (not self._seq or (each.seq < self._seq) == is_before)
            and self._snapshot.locate(self._session, each.event) == each.seq
            and any(who in by and folded(each.quote) in text for who, text in self._pieces_at(each.seq))
            for each in quotations
        )

    def _pieces_at(self, seq: int) -> list[tuple[Who, str]]:
        """Return the texts of an event, and of those that form one message with it."""
        if seq not in self._pieces:
            node = node_of(paths.event(self._snapshot, self._session, seq))
            last = seq + _LARGEST_GROUP if node.group else seq
            later = paths.events(self._snapshot, self._session, first=seq + 1, last=last)
            nodes = [node, *(other for each in later if (other := node_of(each)).group == node.group)]
            self._pieces[seq] = [
                (who, folded(text))
                for each in nodes
                for message in each.messages
                for who, text in pieces_of(message, by_person=each.by_person and not each.continues)
            ] + [(Who.PERSON, folded(outside_tags(each.typed))) for each in nodes if each.typed]
        return self._pieces[seq]


def _is_within(words: str, text: str) -> bool:
    return bool(words.strip()) and folded(words) in text


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
