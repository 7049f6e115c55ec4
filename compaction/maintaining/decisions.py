"""What the log says of earlier decisions, and saying it again only where it has changed."""

from __future__ import annotations

from collections.abc import Iterator

from eventstore.frame import body_of, header_of, kind_of
from eventstore.log import Snapshot
from eventstore.records import Decision, record_of
from eventstore.writing import SessionWriter

FAILED = "failed"
NO_GAIN = "no-gain"
_FAILURES = frozenset({FAILED, NO_GAIN})
SKIPPED = "skipped"


def decisions(snapshot: Snapshot, session: str) -> Iterator[tuple[int, Decision]]:
    """The decisions since the newest compaction, newest first, with their numbers in the session."""
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


def failures_in_a_row(snapshot: Snapshot, session: str) -> int:
    """How many automatic compactions have failed since one went through."""
    return sum(decision.outcome in _FAILURES for _, decision in decisions(snapshot, session))


def gained_nothing_here(snapshot: Snapshot, session: str) -> bool:
    """Whether a compaction of this very context gained nothing: no entry has come since."""
    leaf = snapshot.head(session).leaf
    return any(decision.outcome == NO_GAIN and seq > leaf for seq, decision in decisions(snapshot, session))


def note_skip(writer: SessionWriter, reason: str, policy: str) -> list[str]:
    """Put down that nothing was done, unless that is what was put down last; the ids of what was appended."""
    with writer.log.snapshot() as snapshot:
        last = next((decision for _, decision in decisions(snapshot, writer.session)), None)
    if last is not None and (last.outcome, last.reason) == (SKIPPED, reason):
        return []
    return writer.append(Decision(outcome=SKIPPED, reason=reason, policy=policy))
