"""Whether Anthropic's Messages API would take a body."""

from __future__ import annotations

from projections.validators.anthropic.rules import Rule
from projections.validators.anthropic.validate import validate

__all__ = ["Rule", "validate"]
