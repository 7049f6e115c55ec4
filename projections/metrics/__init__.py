"""What a replacement lost, and what it cost: figures by pure functions over the log.

Adding a metric: a module with its shape and its function, a line in `Metrics` and in `measure`, its docs.
"""

from __future__ import annotations

from collections.abc import Sequence

from eventstore.event import Event
from eventstore.formats import view_of_message
from eventstore.javascript import tolerant_json
from projections.context.parts import Part
from projections.mentions.message_facts import Holdings
from projections.metrics.asked import asked_by
from projections.metrics.cache import Cache, cache
from projections.metrics.cost import Cost, cost
from projections.metrics.future_use import FutureUse, future_use
from projections.metrics.growth import Growth, growth
from projections.metrics.instructions import Instructions, instructions
from projections.metrics.recall import Recall, recall
from projections.metrics.regret import Regret, regret
from projections.metrics.requests import Request
from projections.metrics.sections import TURN_PREFIX, Sections, sections
from projections.metrics.shapes import Shape
from projections.metrics.size import Size, size
from projections.prices import Prices
from projections.replacement import Replacement
from projections.tokens import Counter


class Metrics(Shape, frozen=True):
    """All that is measured of one replacement. Rewrites have neither sections nor growth."""

    size: Size
    recall: Recall
    future_use: FutureUse
    instructions: Instructions
    regret: Regret
    sections: Sections | None
    growth: Growth | None
    cache: Cache
    cost: Cost


def measure(
    replacement: Replacement, *, tokens: Counter, holdings: Holdings, prices: Prices, calls: Sequence[Request]
) -> Metrics:
    """Everything that there is to measure of a replacement.

    `holdings` are those of its session, so that each message is read once; `calls` the requests of the path
    that it lies on.
    """
    summary = _text(replacement.summary)
    previous = next((part for part in replacement.before.parts if part.role == "compactionSummary"), None)
    return Metrics(
        size=size(replacement, tokens),
        recall=recall(replacement, holdings),
        future_use=future_use(replacement, holdings),
        instructions=instructions(replacement),
        regret=regret(replacement, holdings),
        sections=None if summary is None else _sections(summary, replacement.event),
        growth=None if summary is None else growth(summary, _text(previous)),
        cache=cache(replacement, tokens, calls),
        cost=cost(replacement, tokens, prices, calls),
    )


def _sections(summary: str, event: Event) -> Sections:
    """By the template that the record names; an update asks for the sections of what it updates.

    Where the record tells the requests, it also tells which sections are missing, and whether any were asked
    for of a turn's beginning.
    """
    named, asked = tolerant_json(event.body).get("template"), asked_by(event)
    if not isinstance(named, str) or not named:
        named = asked.templates[0] if asked else ""
    name, _, _ = named.partition("@")
    if asked and name not in asked.templates:
        name = ""
    return sections(
        summary,
        kind=event.kind,
        template=name.removesuffix("-update"),
        quotes_turn=asked is not None and TURN_PREFIX not in asked.templates,
        missing=None if asked is None else asked.missing,
    )


def _text(part: Part | None) -> str | None:
    return None if part is None else view_of_message(part.raw).text
