"""Estimate a message's tokens without a vocabulary, cheaply enough for every event."""

from __future__ import annotations

from collections.abc import Sequence

from eventstore.javascript import compact_json, utf8_length, utf16_length
from eventstore.views import Block, Image, Message, Opaque, Text, Thinking, ToolCall

IMAGE_TOKENS = 1200
_IMAGE_UNITS = IMAGE_TOKENS * 4


def estimates(message: Message) -> tuple[int, int]:
    """Return both estimates, `utf16_tokens` and `utf8_tokens`, reading the message once."""
    texts = fragments(message)
    return utf16_tokens(message, texts), utf8_tokens(message, texts)


def utf16_tokens(message: Message, texts: Sequence[str] | None = None) -> int:
    """Return UTF-16 units / 4, rounded up once per message, as pi's `estimateTokens` does.

    For a user message, pi counts text alone; for an assistant's, text, thinking, tool names and arguments. An
    image in a tool result or custom message counts 4,800 units, a shell command counts with its output,
    unknown roles count 0. `texts` are the message's fragments if known.
    """
    if message.role in ("user", "compactionSummary", "branchSummary"):
        units = sum([utf16_length(block.text) for block in message.blocks if isinstance(block, Text)])
    elif message.role == "assistant":
        units = sum(map(utf16_length, fragments(message) if texts is None else texts))
    elif message.role in ("toolResult", "custom", "hookMessage"):
        units = sum(map(_text_or_image_units, message.blocks))
    elif message.role == "bashExecution" and message.shell:
        units = utf16_length(message.shell.command) + utf16_length(message.shell.output)
    else:
        units = 0
    return -(-units // 4)


def utf8_tokens(message: Message, texts: Sequence[str] | None = None) -> int:
    """Return UTF-8 bytes / 4, rounded up per fragment, and 1,200 per image, as oh-my-pi does."""
    tokens = sum([(utf8_length(text) + 3) // 4 for text in (fragments(message) if texts is None else texts)])
    for block in message.blocks:
        if isinstance(block, Image):
            tokens += IMAGE_TOKENS
        elif isinstance(block, Opaque):
            tokens += (block.size + 3) // 4
        elif isinstance(block, Thinking):
            tokens += (utf8_length(block.signature) + 3) // 4
    return tokens


def fragments(message: Message) -> list[str]:
    """Return the texts of a message that a model reads, one by one; exact counters use them too."""
    if message.shell:
        return [message.shell.command, message.shell.output]
    texts: list[str] = []
    for block in message.blocks:
        if isinstance(block, (Text, Thinking)):
            texts.append(block.text)
        elif isinstance(block, ToolCall):
            texts += (block.name, compact_json(block.arguments))
    return texts


def _text_or_image_units(block: Block) -> int:
    if isinstance(block, Text):
        return utf16_length(block.text)
    return _IMAGE_UNITS if isinstance(block, Image) else 0
