"""What summarizers are sent."""

from __future__ import annotations

from compaction.prompts.budgets import output_budget, short_budget, turn_prefix_budget
from compaction.prompts.prompt import Prompt, live_prompt, reminded, serialized_prompt
from compaction.prompts.serialized import serialized

__all__ = [
    "Prompt",
    "live_prompt",
    "output_budget",
    "reminded",
    "serialized",
    "serialized_prompt",
    "short_budget",
    "turn_prefix_budget",
]
