"""Decisions in the log: what is put down, whether it is said again, and what it says of trying once more."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import Any, Final, Literal

import msgspec

from eventstore.log import Snapshot
from eventstore.paths import LazyEvent, event, events
from eventstore.records import Attempt, Decision, DecisionOutcome, record_of
from eventstore.writing import SessionWriter

HookName = Literal["before_request", "after_turn", "error", "idle"]
"""At which of a harness's calls something was decided."""
_FAILURES: Final = frozenset({DecisionOutcome.FAILED, DecisionOutcome.NO_GAIN})
_ASIDE: Final = frozenset(
    {DecisionOutcome.CIRCUIT_OPEN, DecisionOutcome.HOOK_FAILED, DecisionOutcome.STILL_TOO_LARGE}
)
"""Outcomes that are put down beside what came of a call."""
_MANUAL: Final = "manual"
GAINED_NOTHING: Final = "a compaction of this context gained nothing"
IN_A_ROW: Final = "inARow"
"""The number of a decision that says how many compactions in a row have left the context too large."""


class FailureHistory(msgspec.Struct, frozen=True, kw_only=True):
    """The outcomes of automatic compactions since one succeeded or a person asked for one.

    `failures` in a row; whether the log says that the circuit `is_open`; whether a compaction of the very
    context that is now `gained_nothing`; how many in a row, the newest compaction included, have `left_too_large` a
    context.
    """

    failures: int = 0
    is_open: bool = False
    gained_nothing: bool = False
    left_too_large: int = 0


class HookCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a harness: the session that it is about, at which hook, by which policy.

    `model` is the one in use by what the harness says, None where it says nothing.
    """

    writer: SessionWriter
    hook: HookName
    policy: str
    model: str | None = None

    def decision(self, outcome: DecisionOutcome, reason: str, **numbers: Any) -> Decision:
        """Return a decision of this occasion."""
        return Decision(
            outcome=outcome, reason=reason, policy=self.policy, numbers={**numbers, "hook": self.hook}
        )

    def log_decision(self, outcome: DecisionOutcome, reason: str, **numbers: Any) -> list[str]:
        """Put a decision down; the ids of what was appended."""
        return self.writer.append(self.decision(outcome, reason, **numbers))

    def log_decision_once(self, outcome: DecisionOutcome, reason: str, **numbers: Any) -> list[str]:
        """The same, unless just that was put down last at this hook."""
        with self.writer.log.snapshot() as snapshot:
            last = next(self._comparable(snapshot, outcome), None)
        if last is not None and (last.outcome, last.reason) == (outcome, reason):
            return []
        return self.log_decision(outcome, reason, **numbers)

    def _comparable(self, snapshot: Snapshot, outcome: DecisionOutcome) -> Iterator[Decision]:
        for _, decision in decisions(snapshot, self.writer.session):
            is_like = decision.outcome == outcome if outcome in _ASIDE else decision.outcome not in _ASIDE
            if is_like and decision.numbers.get("hook") == self.hook:
                yield decision


def decisions(snapshot: Snapshot, session: str) -> Iterator[tuple[int, Decision]]:
    """Yield the decisions on a session's branch since its newest compaction, newest first, with their seqs.

    A person's request that failed is told as one, too. Decisions come behind the entry at which the session stood:
    of the session's other branches nothing is read.
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
    """Return the off-path frames of the time when the session stood at an entry, up to `behind`."""
    if seq + 1 == behind:
        return []
    behind_it = events(snapshot, session, first=seq + 1, last=behind - 1)
    return list(takewhile(lambda each: not each.is_entry, behind_it))


def _decided(event: LazyEvent) -> Decision | None:
    kind = event.kind
    if kind not in ("decision", "attempt"):
        return None
    record = record_of(kind, event.body)
    if isinstance(record, Attempt) and record.request.get("reason") == _MANUAL:
        return Decision(outcome=DecisionOutcome.FAILED, reason=record.error, numbers={"reason": _MANUAL})
    return record if isinstance(record, Decision) else None


def failure_history(snapshot: Snapshot, session: str, leaf: int) -> FailureHistory:
    """Return the outcomes of automatic compactions since one succeeded or a person asked, at a leaf.

    That is of those on the branch where the session stands. What was called off is no failure.
    """
    failures, is_open, gained_nothing, is_theirs, too_large = 0, False, False, True, 0
    for seq, decision in decisions(snapshot, session):
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


def reason_to_give_up(history: FailureHistory, most: int) -> str:
    """Return why no compaction is tried, "" where one is; `most` failures in a row open the circuit."""
    if history.failures >= most:
        return open_circuit_message(history.failures)
    return GAINED_NOTHING if history.gained_nothing else ""


def must_open_circuit(history: FailureHistory, most: int) -> bool:
    """Return True if the circuit opens now, which nobody has put down yet."""
    return history.failures >= most and not history.is_open


def open_circuit_message(failures: int) -> str:
    """Return what is said of an open circuit."""
    return f"{failures} compactions in a row have failed: compact by hand to go on"
