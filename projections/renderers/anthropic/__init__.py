"""A context as the body of a request to Anthropic's Messages API: faithful where that is valid, repaired where not."""

from __future__ import annotations

from projections.renderers.anthropic.render import render
from projections.renderers.anthropic.repairs import Rule

__all__ = ["Rule", "render"]
