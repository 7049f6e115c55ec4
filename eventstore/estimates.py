"""Estimate a message's tokens without a vocabulary, cheaply enough for every event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from eventstore.javascript import compact_json, lengths, utf8_length
from eventstore.views import Block, Image, Message, Opaque, Shell, Text, Thinking, ToolCall

IMAGE_TOKENS = 1200
_IMAGE_UNITS = IMAGE_TOKENS * 4
_WITH_IMAGES: Final = frozenset({"toolResult", "custom", "hookMessage"})
"""Roles whose texts and images count in UTF-16 units."""
_WITH_TEXT: Final = _WITH_IMAGES | {"user", "assistant", "compactionSummary", "branchSummary"}


def estimates(role: str, blocks: Sequence[Block], shell: Shell | None = None) -> tuple[int, int]:
    """Return two estimates of a message's tokens: by pi's rule, and by oh-my-pi's.

    pi's `estimateTokens` counts UTF-16 units / 4, rounded up once per message. For a user message, it counts
    text alone; for an assistant's, text, thinking, tool names and arguments. An image in a tool result or
    custom message counts 4,800 units, a shell command counts with its output, unknown roles count 0.
    oh-my-pi counts UTF-8 bytes / 4, rounded up per fragment, and 1,200 per image, in every role.
    """
    units = tokens = 0
    has_text, is_answer = role in _WITH_TEXT, role == "assistant"
    for block in blocks:
        if isinstance(block, Image):
            units += _IMAGE_UNITS if role in _WITH_IMAGES else 0
            tokens += IMAGE_TOKENS
            continue
        if isinstance(block, Opaque):
            tokens += (block.size + 3) // 4
            continue
        if isinstance(block, Thinking):
            tokens += (utf8_length(block.signature) + 3) // 4
        if shell is None:
            counts = has_text if isinstance(block, Text) else is_answer
            for text in _read_by_model(block):
                utf16, utf8 = lengths(text)
                units += utf16 if counts else 0
                tokens += (utf8 + 3) // 4
    if shell is not None:
        for text in (shell.command, shell.output):
            utf16, utf8 = lengths(text)
            units += utf16 if role == "bashExecution" else 0
            tokens += (utf8 + 3) // 4
    return -(-units // 4), tokens


def fragments(message: Message) -> list[str]:
    """Return the texts of a message that a model reads, one by one; exact counters use them too."""
    if message.shell:
        return [message.shell.command, message.shell.output]
    return [text for block in message.blocks for text in _read_by_model(block)]


def _read_by_model(block: Block) -> tuple[str, ...]:
    if isinstance(block, Text) or isinstance(block, Thinking):  # noqa: SIM101  a union takes four times as long
        return (block.text,)
    return (block.name, compact_json(block.arguments)) if isinstance(block, ToolCall) else ()
