"""Name the conditions of replacements to look at, which a gate can refuse."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from eventstore.records import FileOperations
from projections.audit.measure import MetricStruct
from projections.audit.metrics import Metrics

LEAST_GAIN: Final = 0.1
"""The share of its size by which a compaction shrinks a context at least, to be worth it."""
FEWEST_ANSWERS: Final = 5
"""Answers of the model between two compactions, below which they follow in quick succession."""
CLAIM_TOLERANCE: Final = 0.1
"""Accepted relative difference between a claim and a count, because no two counters agree."""


class Condition(StrEnum):
    """A condition of a replacement, or of a session; the definitions are in the docs."""

    UNCOVERED = "uncovered"
    """Messages, or an older summary, left the context, and no summary covers them."""
    LARGER = "larger"
    """The context is larger than before."""
    NO_GAIN = "no-gain"
    """The context is hardly smaller than before."""
    QUICK = "quick"
    """It came soon after the compaction before it."""
    FAILED = "failed"
    """A compaction was tried and failed; a condition of the session."""
    FETCHED_AGAIN = "fetched-again"
    """A file's content was read again though the context before held it."""
    FAILED_AGAIN = "failed-again"
    """A call failed again as it had failed before."""
    FILES = "files"
    """The record's list of files differs from the log."""
    CLAIM = "claim"
    """The record's size of the context before differs from every count of it."""
    SERIOUS = "serious"
    """A model read a serious loss; a condition of the session."""


class TokensBefore(MetricStruct, frozen=True):
    """The size of the context before a compaction.

    `claimed` is the record's figure. `measured` is the provider's count at the last call before it, event
    `measured_at`; `recomputed` is our count of the whole context. `unexplained` is the part of the measured
    call that the log does not have: system prompt, tools, and the error of the estimate.
    """

    claimed: int | None
    measured: int | None
    measured_at: str | None
    recomputed: int
    unexplained: int | None

    @property
    def is_wrong(self) -> bool:
        """True if the claim is near none of the counts."""
        counts = [count for count in (self.measured, self.recomputed) if count]
        return self.claimed is not None and bool(counts) and not any(map(self._is_near, counts))

    def _is_near(self, count: int) -> bool:
        return abs((self.claimed or 0) - count) <= CLAIM_TOLERANCE * count


class FilesAudit(MetricStruct, frozen=True):
    """File operations as a summary's record claims them (None: no claim) and as logged.

    `missing` were touched but not claimed, `unfounded` were claimed but not touched.
    """

    claimed: FileOperations | None
    recomputed: FileOperations
    missing: list[str]
    unfounded: list[str]


def conditions_of(
    metrics: Metrics,
    *,
    shrinks: float | None = None,
    is_covered: bool = True,
    answers_since: int | None = None,
    files: FilesAudit | None = None,
    before: TokensBefore | None = None,
) -> list[Condition]:
    """Return the conditions of a replacement, in the order of `Condition`.

    `shrinks` is the share by which the context should shrink at least, None if it need not.
    """
    size, rework = metrics.size, metrics.rework
    # A session may begin at a compaction whose history is elsewhere.
    is_larger = shrinks is not None and size.after > size.before > 0
    gain = size.before - size.after
    holds = {
        Condition.UNCOVERED: not is_covered,
        Condition.LARGER: is_larger,
        Condition.NO_GAIN: shrinks is not None
        and size.after <= size.before
        and (gain == 0 or gain < shrinks * size.before),
        Condition.QUICK: answers_since is not None and answers_since < FEWEST_ANSWERS,
        Condition.FETCHED_AGAIN: rework is not None and bool(rework.fetched),
        Condition.FAILED_AGAIN: rework is not None and bool(rework.failed),
        Condition.FILES: files is not None and bool(files.missing or files.unfounded),
        Condition.CLAIM: before is not None and before.is_wrong,
    }
    return [condition for condition, does_hold in holds.items() if does_hold]


def rank(uncovered: int, conditions: int, tokens: int) -> tuple[int, int, int]:
    """Return a sort key: the worst replacement, or session, first.

    Most messages that no summary covers come first, then most conditions, then most tokens fetched again.
    """
    return (-uncovered, -conditions, -tokens)
