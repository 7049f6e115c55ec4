"""The shape in which a summary is asked for, and what its prompts are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from compaction.prompts.prompt import Prompt
from compaction.templates import Template
from projections.context.parts import Part
from projections.harness_prompt import HarnessPrompt
from projections.tokens import Counter


class Ingredients(msgspec.Struct, frozen=True, kw_only=True):
    """What a prompt for a summary is made of, in any shape.

    `parts` are the messages to summarize, `previous` the summary that theirs goes on from, "" for none; `shown` is
    the message by which the context shows that one, None where it does not. `updates`: the policy has a template of
    its own to go on from a summary. `system` is the system prompt of refold, `harness` what the harness sends before
    its messages, `max_tokens` bounds the answer. `context` are lines from hooks, `instructions` a person's own.
    """

    template: Template
    parts: Sequence[Part]
    system: str
    max_tokens: int
    previous: str = ""
    shown: Part | None = None
    updates: bool = False
    harness: HarnessPrompt = HarnessPrompt()
    context: Sequence[str] = ()
    instructions: str = ""


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """A way to ask for a summary.

    `name` is what policies call it; `prompt` gives the prompt, `sizes` the tokens that each message has in it.
    `follows_harness`: a prompt stands behind what the harness sends before its messages, for which the log is searched.
    """

    name: str
    prompt: Callable[[Ingredients], Prompt]
    sizes: Callable[[Sequence[Part], Counter], list[int]]
    follows_harness: bool = False
