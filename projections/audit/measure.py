"""The base class of metrics, and the simplest of them: the size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from projections.replacement import Replacement
    from projections.tokens import Counter


class MetricStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base class of metrics; JSON names are in camel case."""


class EventRef(MetricStruct, frozen=True):
    """An event, by id and number."""

    event: str
    seq: int


class Size(MetricStruct, frozen=True):
    """Tokens: C = removed (H) + kept (K); C′ = kept + added (S) + restored + returned.

    `restored` is content that is sent again after a compaction.
    `removed_share` is H / C and `ratio` is S / H, None if the divisor is 0. `grew`: C′ ≥ C, so the context
    did not get smaller.
    """

    before: int
    after: int
    removed: int
    kept: int
    added: int
    restored: int
    returned: int
    removed_share: float | None
    ratio: float | None
    grew: bool


def size(replacement: Replacement, tokens: Counter) -> Size:
    """Measure a replacement with a token counter."""
    before, after, removed, kept, added, restored, returned = (
        sum(tokens.count(parts))
        for parts in (
            replacement.before.parts,
            replacement.after.parts,
            replacement.removed,
            replacement.kept,
            replacement.added,
            replacement.restored,
            replacement.returned,
        )
    )
    return Size(
        before=before,
        after=after,
        removed=removed,
        kept=kept,
        added=added,
        restored=restored,
        returned=returned,
        removed_share=removed / before if before else None,
        ratio=added / removed if removed else None,
        grew=after >= before,
    )
