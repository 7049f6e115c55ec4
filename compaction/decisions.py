"""Name the outcomes of decisions, and read the newest ones: what is logged, how many failed."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from itertools import takewhile
from typing import Final, Literal

import msgspec

from eventstore.log import Snapshot
from eventstore.paths import LazyEvent, event, events
from eventstore.records import Attempt, Decision, own_record


class DecisionOutcome(StrEnum):
    """The outcome of a decision."""

    TRIGGERED = "triggered"
    PROMOTED = "promoted"
    HANDED_OFF = "handed off"
    SKIPPED = "skipped"
    NOTHING = "nothing"
    CANCELLED = "cancelled"
    NO_GAIN = "no-gain"
    STILL_TOO_LARGE = "still too large"
    FAILED = "failed"
    CIRCUIT_OPEN = "circuit open"
    HOOK_FAILED = "hook failed"


HookName = Literal["before_request", "after_turn", "error", "idle"]
"""The harness's call at which something was decided."""
_FAILURES: Final = frozenset({DecisionOutcome.FAILED, DecisionOutcome.NO_GAIN})
_ASIDE: Final = frozenset(
    {DecisionOutcome.CIRCUIT_OPEN, DecisionOutcome.HOOK_FAILED, DecisionOutcome.STILL_TOO_LARGE}
)
"""Outcomes that are logged beside the main outcome of a call."""
_MANUAL: Final = "manual"
IN_A_ROW: Final = "inARow"
"""The field of a decision that counts compactions in a row that left the context too large."""


class FailureHistory(msgspec.Struct, frozen=True, kw_only=True):
    """Outcomes of automatic compactions since one succeeded or a person asked for one.

    `failures` counts failures in a row. `is_open` means that the log records an open circuit.
    `gained_nothing` means that a compaction of the present context saved nothing. `left_too_large` counts
    compactions in a row, the newest included, that left the context too large.
    """

    failures: int = 0
    is_open: bool = False
    gained_nothing: bool = False
    left_too_large: int = 0


def is_logged(snapshot: Snapshot, session: str, decision: Decision) -> bool:
    """Return True if the newest decision at the same hook has the same outcome and reason."""
    is_aside, hook = decision.outcome in _ASIDE, decision.numbers["hook"]
    for _, each in recent_decisions(snapshot, session):
        is_like = each.outcome == decision.outcome if is_aside else each.outcome not in _ASIDE
        if is_like and each.numbers.get("hook") == hook:
            return (each.outcome, each.reason) == (decision.outcome, decision.reason)
    return False


def recent_decisions(snapshot: Snapshot, session: str) -> Iterator[tuple[int, Decision]]:
    """Yield (seq, decision) of the session's branch since its newest compaction, newest first.

    A person's failed request counts as a decision. Decisions follow the entry that was the leaf at that time;
    other branches are not read.
    """
    head = snapshot.head(session)
    seq, behind = head.leaf, head.version + 1
    while True:
        for aside in reversed(_asides(snapshot, session, seq, behind)):
            decision = _decided(aside)
            if decision is not None:
                yield aside.seq, decision
        if not seq:
            return
        entry = event(snapshot, session, seq)
        if entry.kind == "compaction":
            return
        seq, behind = entry.parent_seq, seq


def _asides(snapshot: Snapshot, session: str, seq: int, behind: int) -> list[LazyEvent]:
    """Return the off-path events that directly follow an entry, before `behind`."""
    if seq + 1 == behind:
        return []
    behind_it = events(snapshot, session, first=seq + 1, last=behind - 1)
    return list(takewhile(lambda each: not each.is_entry, behind_it))


def _decided(event: LazyEvent) -> Decision | None:
    record = own_record(event)
    if isinstance(record, Attempt) and record.request.get("reason") == _MANUAL:
        return Decision(outcome=DecisionOutcome.FAILED, reason=record.error, numbers={"reason": _MANUAL})
    return record if isinstance(record, Decision) else None


def failure_history(snapshot: Snapshot, session: str, leaf: int) -> FailureHistory:
    """Count the outcomes of automatic compactions since one succeeded or a person asked.

    Only decisions on the session's branch count. A cancellation is no failure.
    """
    failures, is_open, gained_nothing, is_theirs, too_large = 0, False, False, True, 0
    for seq, decision in recent_decisions(snapshot, session):
        is_theirs = is_theirs and decision.numbers.get("reason") != _MANUAL
        failures += is_theirs and decision.outcome in _FAILURES
        is_open = is_open or (is_theirs and decision.outcome == DecisionOutcome.CIRCUIT_OPEN)
        gained_nothing = gained_nothing or (decision.outcome == DecisionOutcome.NO_GAIN and seq > leaf)
        if is_theirs and decision.outcome == DecisionOutcome.STILL_TOO_LARGE:
            in_a_row = decision.numbers.get(IN_A_ROW)
            too_large = in_a_row if isinstance(in_a_row, int) else 1
    return FailureHistory(
        failures=failures, is_open=is_open, gained_nothing=gained_nothing, left_too_large=too_large
    )
