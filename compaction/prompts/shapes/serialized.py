"""The conversation as text in the prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from compaction.prompts.conversation import in_tag, serialized
from compaction.prompts.prompt import Prompt, request_text
from compaction.prompts.shapes.shape import Ingredients, Shape
from compaction.templates import Template
from projections.context.parts import Part
from projections.tokens import Counter


def serialized_prompt(
    template: Template,
    parts: Sequence[Part],
    *,
    system: str,
    max_tokens: int,
    previous: str = "",
    context: Sequence[str] = (),
    instructions: str = "",
) -> Prompt:
    """A prompt that holds the conversation as text.

    The conversation comes first, then the summary before, then lines of context from hooks, then the
    template, then a person's own instructions. What imitates the tags between them is escaped.
    """
    conversation = in_tag("conversation", serialized(parts))
    return Prompt(
        template=template,
        system=system,
        text=f"{conversation}\n\n{request_text(template, previous, context, instructions)}",
        max_tokens=max_tokens,
        parts=tuple(parts),
        previous=previous,
    )


def _prompt(of: Ingredients) -> Prompt:
    return serialized_prompt(
        of.template,
        of.parts,
        system=of.system,
        max_tokens=of.max_tokens,
        previous=of.previous,
        context=of.context,
        instructions=of.instructions,
    )


def _sizes(parts: Sequence[Part], tokens: Counter) -> list[int]:
    return [tokens.of_text(serialized([part])) for part in parts]


SERIALIZED: Final = Shape(name="serialized", prompt=_prompt, sizes=_sizes)
