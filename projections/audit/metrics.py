"""Measure the losses and the cost of a replacement, and rank replacements by them.

To add a metric: write its struct and its function in a module of this package, add a line to `Metrics` and to
`measure`, and document it.
"""

from __future__ import annotations

from collections.abc import Sequence

from eventstore.event import Event
from eventstore.formats import view_of
from projections.audit.cache import CacheEffect, cache_effect
from projections.audit.calls import ModelCall
from projections.audit.cost import Cost, cost
from projections.audit.future_use import FutureUse, future_use
from projections.audit.instruction_fates import Instructions, instructions
from projections.audit.losses import Recall, recall
from projections.audit.measure import MetricStruct, Size, size
from projections.audit.prices import Prices
from projections.audit.rework import Rework, rework
from projections.audit.rule_readings import RuleReadings
from projections.audit.summary_text import TURN_PREFIX, Growth, Sections, growth, sections
from projections.context.parts import Part, view_of_part
from projections.mentions.message_facts import SessionFacts
from projections.replacement import Replacement
from projections.tokens import Counter


class Metrics(MetricStruct, frozen=True):
    """All metrics of one replacement. Rewrites have no sections and no growth."""

    size: Size
    recall: Recall
    future_use: FutureUse
    instructions: Instructions
    rework: Rework
    sections: Sections | None
    growth: Growth | None
    cache: CacheEffect
    cost: Cost


def measure(
    replacement: Replacement,
    *,
    tokens: Counter,
    facts: SessionFacts,
    readings: RuleReadings,
    prices: Prices,
    calls: Sequence[ModelCall],
) -> Metrics:
    """Return all metrics of a replacement.

    `facts` are those of its session, so that each message is read once. `readings` are what a model read in it, `calls`
    the model calls on its path.
    """
    summary = _text(replacement.summary)
    previous = next((part for part in replacement.before.parts if part.role == "compactionSummary"), None)
    return Metrics(
        size=size(replacement, tokens),
        recall=recall(replacement, facts),
        future_use=future_use(replacement, facts),
        instructions=instructions(replacement, facts, readings),
        rework=rework(replacement, facts),
        sections=None if summary is None else _sections(summary, replacement.event),
        growth=None if summary is None else growth(summary, _text(previous)),
        cache=cache_effect(replacement, tokens, calls),
        cost=cost(replacement, tokens, prices, calls),
    )


def _sections(summary: str, event: Event) -> Sections:
    """Compare a summary's sections with the template that its record names.

    An update must have the sections of the template that it updates. A record with requests also says which
    sections are missing, and whether any were required for the beginning of a split turn.
    """
    view = view_of(event)
    asked = tuple(dict.fromkeys(each.template for each in view.requests if each.template is not None))
    named, missing = (view.summary.template, view.summary.missing_sections) if view.summary else ("", ())
    name, _, _ = (named or "".join(asked[:1])).partition("@")
    if asked and name not in asked:
        name = ""
    return sections(
        summary,
        kind=event.kind,
        template=name.removesuffix("-update"),
        quotes_turn=bool(asked) and TURN_PREFIX not in asked,
        missing=list(missing) if asked else None,
    )


def _text(part: Part | None) -> str | None:
    return None if part is None else view_of_part(part).text


Rank = tuple[int, int, int, bool, float, int]
"""A sort key that puts the worst first."""


def rank(dropped: int, serious: int, minor: int, future_use: float | None, losses: int) -> Rank:
    """Return a sort key: the worst replacement, or session, first.

    Most messages dropped with no summary covering them come first, then most serious and most minor findings,
    then the smallest share of what was needed later, then more losses. Without a share (None: nothing was needed
    later) it comes last of those without findings.
    """
    return (-dropped, -serious, -minor, future_use is None, future_use or 0.0, -losses)
