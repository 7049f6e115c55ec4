"""Bounds on what replacements keep: a gate for CI."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from cli.output import unbroken
from cli.replaced import names, replacements, undone

if TYPE_CHECKING:
    from projections.audit import Audit
    from projections.metrics import Metrics

_OF_RECALL: Final = "recall."
KINDS: Final = (
    "paths-read",
    "paths-modified",
    "symbols",
    "identifiers",
    "errors",
    "urls",
    "quantities",
    "commands",
)
"""The kinds of things that recall is measured of."""
METRICS: Final = ("future-use", "recall", "instructions", *(_OF_RECALL + kind for kind in KINDS))
"""The shares that can have a bound."""


class Bound(msgspec.Struct, frozen=True):
    """The least share of a metric that will do."""

    metric: str
    least: float


def bound(text: str) -> Bound:
    """A bound from `METRIC=SHARE`. Raises ValueError that says what is wrong with it."""
    metric, _, share = text.partition("=")
    if metric not in METRICS:
        raise ValueError(f"there is no metric {unbroken(metric)!r}; there are: {', '.join(METRICS)}")
    try:
        least = float(share)
    except ValueError:
        least = -1.0
    if not 0 <= least <= 1:
        raise ValueError(f"{metric} needs a share from 0 to 1, as in {metric}=0.8")
    return Bound(metric, least)


def breaches(audit: Audit, bounds: Sequence[Bound]) -> Iterator[str]:
    """A line for every replacement and bound that it is under.

    What was undone is left out, and where there was nothing to find, there is no share that could be too small.
    """
    called, without_effect = names(audit), undone(audit)
    for each in replacements(audit):
        for limit in () if each.seq in without_effect else bounds:
            share = share_of(each.metrics, limit.metric)
            if share is not None and share < limit.least:
                yield (
                    f"session {audit.session!r}, {called[each.seq]} ({each.id} #{each.seq}): "
                    f"{limit.metric} is {share:.4g}, under {limit.least:g}"
                )


def share_of(metrics: Metrics, metric: str) -> float | None:
    """The share of a metric by its name, None where there was nothing to find."""
    if metric == "future-use":
        return metrics.future_use.share
    if metric == "instructions":
        return metrics.instructions.share
    if metric == "recall":
        return metrics.recall.share
    kind = metric.removeprefix(_OF_RECALL)
    return next((each.share for each in metrics.recall.kinds if each.kind == kind), None)
