"""What a replacement lost, and what it cost: figures by pure functions over the log.

Adding a metric: a module with its shape and its function, a line in `Metrics` and in `measure`, its docs.
"""

from __future__ import annotations

from projections.metrics.cache import Cache
from projections.metrics.cost import Cost
from projections.metrics.future_use import FutureUse
from projections.metrics.growth import Growth
from projections.metrics.instructions import Instructions
from projections.metrics.recall import Recall
from projections.metrics.regret import Regret
from projections.metrics.sections import Sections
from projections.metrics.shapes import Shape
from projections.metrics.size import Size


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
