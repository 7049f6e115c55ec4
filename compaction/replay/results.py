"""Define the results of a replay: boundaries, trials, and what was kept."""

from __future__ import annotations

import msgspec

from compaction.replay.boundaries import Where
from projections.mentions import MentionKind

Thing = tuple[MentionKind, str]


class ReplayStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base class of results; JSON names are in camel case."""


class ReplayedBoundary(ReplayStruct, frozen=True):
    """A place at which variants were tried.

    `leaf` is the id of the context's last entry, number `seq`. `needed_count` counts the things that the log had
    named and that the model used from there to the next compaction, branch summary or undo: the same for every
    variant. `probe_count` counts the questions that each context is asked.
    """

    session: str
    leaf: str
    seq: int
    at: Where
    needed_count: int
    probe_count: int


class Trial(ReplayStruct, frozen=True):
    """The result of a variant for the context at a boundary, given by its index.

    `first_kept` is the id of the first kept message, None for none. Sizes are in tokens, by pi's estimate.
    `kept_count` is how many of the needed things the new context names, `answered_count` how many probes it answers.
    `error` says why there is no result; then the figures are None.
    """

    boundary: int
    variant: str
    first_kept: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    kept_count: int | None = None
    answered_count: int | None = None
    error: str | None = None


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """The needed things that the context of each variant names, by its name; and all of them.

    `summaries` are the texts of the contexts' summaries, for variants that have one.
    """

    needed: frozenset[Thing]
    by_variant: dict[str, frozenset[Thing]]
    summaries: dict[str, str]


class ReplayResult(msgspec.Struct, frozen=True, kw_only=True):
    """A boundary with its trials; `kept` says which things they kept."""

    boundary: ReplayedBoundary
    trials: list[Trial]
    kept: Kept
