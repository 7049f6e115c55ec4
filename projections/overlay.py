"""A context as a rewrite would show it, before there is one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

from eventstore.records import Shown
from projections.context import Part
from projections.rewrites import Rewrites
from projections.rules import rules_named
from projections.rules.rules import HarnessRules


def overlaid(parts: Sequence[Part], targets: Iterable[Shown], *, rules: str = "pi") -> tuple[Part, ...]:
    """The messages of a context with those targets shown otherwise, as the context after such a rewrite has them.

    A message that stands for several has no time here: it is not known which entry's it gets.
    """
    return tuple(_overlaid(parts, Rewrites(targets), rules_named(rules)))


def _overlaid(parts: Sequence[Part], rewrites: Rewrites, harness: HarnessRules) -> Iterator[Part]:
    for part, span in rewrites.visible(parts, attrgetter("id")):
        if span:
            yield part.shown_otherwise(span.message(harness, None))
        elif part.id in rewrites.changes:
            yield part.shown_otherwise(harness.rewrite(part.raw, rewrites.changes[part.id]))
        else:
            yield part
