"""What the log says of earlier decisions, and saying it again only where it has changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec

from compaction.maintaining.circuit import Past
from eventstore.frame import body_of, header_of, kind_of
from eventstore.log import Snapshot
from eventstore.records import Decision, record_of
from eventstore.writing import SessionWriter

Hook = Literal["before_request", "after_turn", "error", "idle"]
"""At which of a harness's calls something was decided."""
TRIGGERED: Final = "triggered"
PROMOTED: Final = "promoted"
HANDED_OFF: Final = "handed off"
FAILED: Final = "failed"
NO_GAIN: Final = "no-gain"
CANCELLED: Final = "cancelled"
CIRCUIT_OPEN: Final = "circuit open"
SKIPPED: Final = "skipped"
NOTHING: Final = "nothing"
HOOK_FAILED: Final = "hook failed"
_FAILURES: Final = frozenset({FAILED, NO_GAIN})
_ASIDE: Final = frozenset({CIRCUIT_OPEN, HOOK_FAILED})
"""Outcomes that are put down beside what came of a call."""
_MANUAL: Final = "manual"


class Occasion(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a harness: the session that it is about, at which hook, by which policy."""

    writer: SessionWriter
    hook: Hook
    policy: str

    def decision(self, outcome: str, reason: str, **numbers: Any) -> Decision:
        """A decision of this occasion."""
        return Decision(
            outcome=outcome, reason=reason, policy=self.policy, numbers={**numbers, "hook": self.hook}
        )

    def put_down(self, outcome: str, reason: str, **numbers: Any) -> list[str]:
        """Put a decision down; the ids of what was appended."""
        return self.writer.append(self.decision(outcome, reason, **numbers))

    def put_down_once(self, outcome: str, reason: str, **numbers: Any) -> list[str]:
        """The same, unless just that was put down last at this hook."""
        with self.writer.log.snapshot() as snapshot:
            last = next(self._comparable(snapshot, outcome), None)
        if last is not None and (last.outcome, last.reason) == (outcome, reason):
            return []
        return self.put_down(outcome, reason, **numbers)

    def _comparable(self, snapshot: Snapshot, outcome: str) -> Iterator[Decision]:
        for _, decision in decisions(snapshot, self.writer.session):
            is_like = decision.outcome == outcome if outcome in _ASIDE else decision.outcome not in _ASIDE
            if is_like and decision.numbers.get("hook") == self.hook:
                yield decision


def decisions(snapshot: Snapshot, session: str) -> Iterator[tuple[int, Decision]]:
    """The decisions since the newest compaction, newest first, with their numbers in the session.

    A person's request that failed is told as one, too.
    """
    if not snapshot.head(session).version:
        return
    for frame in snapshot.frames(session, backward=True):
        head = header_of(frame)
        kind = kind_of(frame, head)
        if kind == "compaction":
            return
        if kind == "decision":
            record = record_of(kind, bytes(body_of(frame)))
            assert isinstance(record, Decision)  # noqa: S101  the kind says so
            yield head.seq, record
        if kind == "attempt":
            attempt: Any = record_of(kind, bytes(body_of(frame)))
            if attempt.request.get("reason") == _MANUAL:
                yield head.seq, Decision(outcome=FAILED, reason=attempt.error, numbers={"reason": _MANUAL})


def past(snapshot: Snapshot, session: str, leaf: int) -> Past:
    """What came of automatic compactions since one went through or a person asked, for the context at a leaf's number.

    What was called off is no failure.
    """
    failures, is_open, gained_nothing, is_theirs = 0, False, False, True
    for seq, decision in decisions(snapshot, session):
        is_theirs = is_theirs and decision.numbers.get("reason") != _MANUAL
        failures += is_theirs and decision.outcome in _FAILURES
        is_open = is_open or (is_theirs and decision.outcome == CIRCUIT_OPEN)
        gained_nothing = gained_nothing or (decision.outcome == NO_GAIN and seq > leaf)
    return Past(failures=failures, is_open=is_open, gained_nothing=gained_nothing)
