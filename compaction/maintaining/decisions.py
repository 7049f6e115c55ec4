"""What the log says of earlier decisions, and saying it again only where it has changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec

from eventstore.frame import body_of, header_of, kind_of
from eventstore.log import Snapshot
from eventstore.records import Decision, record_of
from eventstore.writing import SessionWriter

Hook = Literal["before_request", "after_turn", "error", "idle"]
"""At which of a harness's calls something was decided."""
FAILED: Final = "failed"
NO_GAIN: Final = "no-gain"
SKIPPED: Final = "skipped"
NOTHING: Final = "nothing"
_FAILURES: Final = frozenset({FAILED, NO_GAIN})
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

    def skip(self, reason: str) -> list[str]:
        """Put down that nothing was done, unless this hook put down just that last; the ids of what was appended."""
        with self.writer.log.snapshot() as snapshot:
            found = (decision for _, decision in decisions(snapshot, self.writer.session))
            last = next((each for each in found if each.numbers.get("hook") == self.hook), None)
        if last is not None and (last.outcome, last.reason) == (SKIPPED, reason):
            return []
        return self.writer.append(self.decision(SKIPPED, reason))


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


def failures_in_a_row(snapshot: Snapshot, session: str) -> int:
    """How many automatic compactions have failed since one went through, or since a person asked for one."""
    failures = 0
    for _, decision in decisions(snapshot, session):
        if decision.numbers.get("reason") == _MANUAL:
            break
        failures += decision.outcome in _FAILURES
    return failures


def gained_nothing_at(snapshot: Snapshot, session: str, leaf: int) -> bool:
    """Whether a compaction of the context at a leaf, by its number, gained nothing since it came to be."""
    return any(decision.outcome == NO_GAIN and seq > leaf for seq, decision in decisions(snapshot, session))
