"""What summarizers are sent."""

from __future__ import annotations

from compaction.prompts.budgets import output_budget, short_budget, turn_prefix_budget
from compaction.prompts.conversation import serialized
from compaction.prompts.prompt import Prompt, reminded
from compaction.prompts.shapes.live_prefix import live_prompt
from compaction.prompts.shapes.serialized import serialized_prompt

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
