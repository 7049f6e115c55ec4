"""Define the results of a replay: boundaries, and the trials of each variant."""

from __future__ import annotations

import msgspec

from compaction.replay.boundaries import Where


class ReplayStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base class of results; JSON names are in camel case."""


class ReplayedBoundary(ReplayStruct, frozen=True):
    """A place at which variants were tried; `leaf` is the context's last entry, number `seq`."""

    session: str
    leaf: str
    seq: int
    at: Where


class Trial(ReplayStruct, frozen=True):
    """The result of a variant for the context at a boundary, given by its index.

    `first_kept` is the id of the first kept message, None for none. Sizes are in tokens, by pi's estimate.
    `tokens_restored` are those of `tokens_after` that show content again, as recorded or reckoned from usage.
    `error` says why there is no result; then the figures are None.
    """

    boundary: int = 0
    variant: str = ""
    first_kept: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    tokens_restored: int | None = None
    error: str | None = None


class ReplayResult(msgspec.Struct, frozen=True, kw_only=True):
    """A boundary with its trials; `summaries` are the texts of those that have one, by variant."""

    boundary: ReplayedBoundary
    trials: list[Trial]
    summaries: dict[str, str]
