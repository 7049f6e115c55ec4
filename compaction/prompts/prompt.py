"""One request for a summary: what a summarizer is sent."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

import msgspec

from compaction.prompts.conversation import in_tag
from compaction.templates import Template
from projections.context.parts import Part

_PREVIOUS: Final = "previous-summary"
_CARRY_OVER: Final = (
    f"Carry over what still holds of <{_PREVIOUS}>: nothing else is left of what came before."
)
"""For templates that do not say themselves what to do with a summary from before."""


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """A system prompt, and a text behind the messages of `prefix`, which a serialized prompt has inside its text.

    `max_tokens` bounds the answer. `parts` are the messages that are to be summarized, in either shape;
    `previous` is the summary that theirs goes on from, "" for none.
    `tools` are the definitions that stand before a live prefix, a JSON list; with `forbids_tools` the model
    may not call them. `is_reminder`: it asks once more, after an answer that was not complete.
    """

    template: Template
    system: str
    text: str
    max_tokens: int
    parts: tuple[Part, ...]
    previous: str = ""
    is_live: bool = False
    tools: bytes = b""
    forbids_tools: bool = False
    is_reminder: bool = False

    @property
    def prefix(self) -> tuple[Part, ...]:
        """The messages that are sent as they are, before the text."""
        return self.parts if self.is_live else ()

    @property
    def digest(self) -> str:
        """SHA-256 over all that a model is sent to read, hexadecimal: the same prompt has the same digest."""
        texts = (text.encode("utf-8", "surrogatepass") for text in (self.system, self.text))
        pieces = (*texts, *([self.tools] if self.tools else []), *(part.raw for part in self.prefix))
        digest = hashlib.sha256()
        for piece in pieces:
            digest.update(len(piece).to_bytes(8, "big") + piece)
        return digest.hexdigest()


def reminded(prompt: Prompt, answer: str, missing: Sequence[str], *, is_cut: bool = False) -> Prompt:
    """The same prompt once more, after an answer that lacks some of its sections, or broke off for its length."""
    pieces = [prompt.text, in_tag("draft", answer)]
    if missing:
        pieces.append("Your draft lacks these sections:\n" + "\n".join(f"## {each}" for each in missing))
    if is_cut:
        pieces.append("Your draft was too long and broke off: say the same in fewer words.")
    pieces.append("Write the whole answer again, with every section.")
    return msgspec.structs.replace(prompt, text="\n\n".join(pieces), is_reminder=True)


def request_text(template: Template, previous: str, context: Sequence[str], instructions: str) -> str:
    """What is asked, behind the conversation, in any shape.

    The summary before, lines of context from hooks, the template, a person's own instructions; "" and () for none.
    """
    pieces = [in_tag(_PREVIOUS, previous)] if previous else []
    pieces += [in_tag("additional-context", "\n".join(context))] if context else []
    pieces.append(template.text)
    if previous and f"<{_PREVIOUS}>" not in template.text:
        pieces.append(_CARRY_OVER)
    if instructions:
        pieces.append(f"Besides, and above all:\n{instructions}")
    return "\n\n".join(pieces)
