"""A context as the body of a request to Anthropic's Messages API: faithful where that is valid, repaired where not."""

from __future__ import annotations

from projections.renderers.anthropic.render import Rendered, render
from projections.renderers.anthropic.repairs import Repair, Rule

__all__ = ["Rendered", "Repair", "Rule", "render"]
