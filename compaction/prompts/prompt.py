"""One request for a summary: what a summarizer is sent."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

import msgspec

from compaction.prompts.serialized import in_tag, serialized
from compaction.templates import Template
from eventstore.formats import view_of_message
from projections.context import Part

MOST_OUTPUT: Final = 16_384
"""Tokens that the longest summary may have."""


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """A system prompt, and a text behind the messages of `prefix`, which a serialized prompt has inside its text.

    `max_tokens` bounds the answer. `parts` are the messages that are to be summarized, in either shape.
    """

    template: Template
    system: str
    text: str
    max_tokens: int
    parts: tuple[Part, ...]
    is_live: bool = False

    @property
    def prefix(self) -> tuple[Part, ...]:
        """The messages that are sent as they are, before the text."""
        return self.parts if self.is_live else ()

    @property
    def digest(self) -> str:
        """SHA-256 over all that is sent, hexadecimal: the same prompt has the same digest."""
        texts = (text.encode("utf-8", "surrogatepass") for text in (self.system, self.text))
        digest = hashlib.sha256()
        for piece in (*texts, *(part.raw for part in self.prefix)):
            digest.update(len(piece).to_bytes(8, "big") + piece)
        return digest.hexdigest()


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
    pieces = [in_tag("conversation", serialized(view_of_message(part.raw) for part in parts))]
    if previous:
        pieces.append(in_tag("previous-summary", previous))
    return Prompt(
        template=template,
        system=system,
        text="\n\n".join([*pieces, *_asked(template, context, instructions)]),
        max_tokens=max_tokens,
        parts=tuple(parts),
    )


def live_prompt(
    template: Template,
    parts: Sequence[Part],
    *,
    system: str,
    max_tokens: int,
    previous: str = "",
    context: Sequence[str] = (),
    instructions: str = "",
) -> Prompt:
    """A prompt behind the real messages, as their newest: a provider that has them cached reads them for less."""
    before = [in_tag("previous-summary", previous)] if previous else []
    return Prompt(
        template=template,
        system=system,
        text="\n\n".join([*before, *_asked(template, context, instructions)]),
        max_tokens=max_tokens,
        parts=tuple(parts),
        is_live=True,
    )


def reminded(prompt: Prompt, answer: str, missing: Sequence[str]) -> Prompt:
    """The same prompt once more, after an answer without some of its sections."""
    headings = "\n".join(f"## {section}" for section in missing)
    text = (
        f"{prompt.text}\n\n{in_tag('draft', answer)}\n\n"
        f"Your draft lacks these sections:\n{headings}\nWrite the whole answer again, with every section."
    )
    return msgspec.structs.replace(prompt, text=text)


def _asked(template: Template, context: Sequence[str], instructions: str) -> list[str]:
    pieces = [in_tag("additional-context", "\n".join(context))] if context else []
    pieces.append(template.text)
    if instructions:
        pieces.append(f"Besides, and above all:\n{instructions}")
    return pieces


def output_budget(reserve: int, share: float = 0.8) -> int:
    """Tokens for a summary: a share of the reserve, rounded down, at most 16,384. The prefix of a turn gets half."""
    return min(int(reserve * share), MOST_OUTPUT)


def short_budget(reserve: int) -> int:
    """Tokens for the summary that is only shown: a fifth of the reserve, at most 512."""
    return min(512, int(0.2 * reserve))
