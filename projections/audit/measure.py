"""The base of the audit's measures, their shares, and the simplest of them: sizes."""

from __future__ import annotations

import msgspec

from projections.replacement import Replacement
from projections.tokens import Counter


class MetricStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A figure or several; JSON names are in camel case."""


class Share(MetricStruct, frozen=True):
    """A count of `found` among `total`; `share` is found / total, None where there was nothing to find."""

    total: int
    found: int
    share: float | None


def share_of(found: int, total: int) -> Share:
    """A share, with its quotient."""
    return Share(total=total, found=found, share=found / total if total else None)


class Size(MetricStruct, frozen=True):
    """Tokens: before (C) = removed (H) + kept (K); after (C′) = kept + added (S) + returned.

    `removed_share` is H / C, `ratio` S / H; None where that divides by nothing. `grew`: C′ ≥ C, the
    context got no smaller.
    """

    before: int
    after: int
    removed: int
    kept: int
    added: int
    returned: int
    removed_share: float | None
    ratio: float | None
    grew: bool


def size(replacement: Replacement, tokens: Counter) -> Size:
    """Measure a replacement with a counter."""
    before, after, removed, kept, added, returned = (
        sum(tokens.count(parts))
        for parts in (
            replacement.before.parts,
            replacement.after.parts,
            replacement.removed,
            replacement.kept,
            replacement.added,
            replacement.returned,
        )
    )
    return Size(
        before=before,
        after=after,
        removed=removed,
        kept=kept,
        added=added,
        returned=returned,
        removed_share=removed / before if before else None,
        ratio=added / removed if removed else None,
        grew=after >= before,
    )
