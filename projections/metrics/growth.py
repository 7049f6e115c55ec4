"""How the list of things that successive summaries name grows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from eventstore.views import Message, Text
from projections.mentions import Kind
from projections.mentions.message_facts import Holding, holding
from projections.mentions.path_names import Paths
from projections.mentions.presence import Presence
from projections.metrics.shapes import Shape

_KINDS: Final = (Kind.PATH, Kind.SYMBOL, Kind.IDENTIFIER, Kind.URL)


class Growth(Shape, frozen=True):
    """Distinct paths, symbols, identifiers and addresses that a summary names.

    Of the `total`, `carried` stood in the summary before, `fresh` did not; `left_out` are those of the
    summary before that it no longer names.
    """

    total: int
    carried: int
    fresh: int
    left_out: int


def growth(summary: str, previous: str | None) -> Growth:
    """What a summary names, against the summary before it (None: it is the first)."""
    now, before = _held(summary), _held(previous or "")
    paths = Paths((*now.paths, *before.paths))
    things = dict.fromkeys([*_things(now, paths), *_things(before, paths)])
    named, known = Presence([now], paths), Presence([before], paths)
    both = [(named.names(kind, value), known.names(kind, value)) for kind, value in things]
    return Growth(
        total=sum(is_named for is_named, _ in both),
        carried=sum(is_named and was for is_named, was in both),
        fresh=sum(is_named and not was for is_named, was in both),
        left_out=sum(was and not is_named for is_named, was in both),
    )


def _held(text: str) -> Holding:
    return holding(0, "", Message(role="compactionSummary", blocks=(Text(text),)))


def _things(held: Holding, paths: Paths) -> Iterator[tuple[Kind, str]]:
    for kind in _KINDS:
        for value in held.named.get(kind, ()):
            yield kind, paths.whole(value) if kind is Kind.PATH else value
