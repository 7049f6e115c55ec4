"""The real messages, and the template behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from compaction.prompts.prompt import Prompt, request_text
from compaction.prompts.shapes.shape import Ingredients, Shape
from compaction.templates import Template
from projections.context.parts import Part


def live_prompt(
    template: Template,
    parts: Sequence[Part],
    *,
    system: str,
    max_tokens: int,
    previous: str = "",
    context: Sequence[str] = (),
    instructions: str = "",
    tools: bytes = b"",
    forbids_tools: bool = False,
) -> Prompt:
    """A prompt behind the real messages, as their newest: a provider that has them cached reads them for less.

    For that, system prompt and tools are those of the harness that sent the messages before.
    """
    return Prompt(
        template=template,
        system=system,
        text=request_text(template, previous, context, instructions),
        max_tokens=max_tokens,
        parts=tuple(parts),
        previous=previous,
        is_live=True,
        tools=tools,
        forbids_tools=forbids_tools,
    )


def _prompt(of: Ingredients) -> Prompt:
    """The message that shows the summary before is itself the beginning of what the provider has cached."""
    prompt = live_prompt(
        of.template,
        of.parts if of.shown is None else (of.shown, *of.parts),
        system=of.harness.system or of.system,
        max_tokens=of.max_tokens,
        previous=of.previous if of.shown is None or of.updates else "",
        context=of.context,
        instructions=of.instructions,
        tools=of.harness.tools,
    )
    return msgspec.structs.replace(prompt, previous=of.previous)


LIVE_PREFIX: Final = Shape(
    name="live-prefix",
    prompt=_prompt,
    sizes=lambda parts, tokens: tokens.count(parts),
    follows_harness=True,
)
