"""The shapes in which a summary can be asked for.

Adding a shape: a module with its part, a line in `SHAPES`, its tests, its docs.
"""

from __future__ import annotations

from typing import Final

from compaction.prompts.shapes.live_prefix import LIVE_PREFIX
from compaction.prompts.shapes.serialized import SERIALIZED
from compaction.prompts.shapes.shape import Ingredients, Shape

__all__ = ["LIVE_PREFIX", "SERIALIZED", "SHAPES", "Ingredients", "Shape"]

SHAPES: Final[dict[str, Shape]] = {each.name: each for each in (SERIALIZED, LIVE_PREFIX)}
"""The shapes that a policy can name."""
