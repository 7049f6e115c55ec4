"""Estimate a message's tokens without a vocabulary, cheaply enough for every event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from eventstore.javascript import compact_json, compact_lengths, lengths, utf8_length
from eventstore.views import Block, Image, Message, Opaque, Shell, Text, Thinking, ToolCall

IMAGE_TOKENS: Final = 1200
_IMAGE_UNITS: Final = IMAGE_TOKENS * 4
_WITH_IMAGES: Final = frozenset({"toolResult", "custom", "hookMessage"})
"""Roles whose texts and images count in UTF-16 units."""
_WITH_TEXT: Final = _WITH_IMAGES | {"user", "assistant", "compactionSummary", "branchSummary"}


class MessageSize:
    """Add up two estimates of a message's tokens: by pi's rule, and by oh-my-pi's.

    pi's `estimateTokens` counts UTF-16 units / 4, rounded up once per message. For a user message, it counts
    text alone; for an assistant's, text, thinking, tool names and arguments. An image in a tool result or
    custom message counts 4,800 units, a shell command counts with its output, unknown roles count 0.
    oh-my-pi counts UTF-8 bytes / 4, rounded up per fragment, and 1,200 per image, in every role.

    `text_bytes` are the UTF-8 bytes of the texts and signatures.
    """

    __slots__ = ("_has_text", "_role", "_tokens", "_units", "text_bytes")

    def __init__(self, role: str) -> None:
        self._role, self._has_text = role, role in _WITH_TEXT
        self._units = self._tokens = self.text_bytes = 0

    @property
    def estimates(self) -> tuple[int, int]:
        """The estimates of the parts so far."""
        return -(-self._units // 4), self._tokens

    def add_text(self, text: str) -> None:
        utf16, utf8 = lengths(text)
        if self._has_text:
            self._units += utf16
        self._tokens += (utf8 + 3) // 4
        self.text_bytes += utf8

    def add_thinking(self, text: str, signature: str) -> None:
        utf16, utf8 = lengths(text)
        if self._role == "assistant":
            self._units += utf16
        self._tokens += (utf8 + 3) // 4
        self.text_bytes += utf8
        self.add_signature(signature)

    def add_signature(self, signature: str) -> None:
        utf8 = utf8_length(signature)
        self._tokens += (utf8 + 3) // 4
        self.text_bytes += utf8

    def add_call(self, name: str, arguments: tuple[int, int]) -> None:
        """Add a call by the lengths of its arguments' compact JSON; see `lengths`."""
        for utf16, utf8 in (lengths(name), arguments):
            if self._role == "assistant":
                self._units += utf16
            self._tokens += (utf8 + 3) // 4

    def add_image(self) -> None:
        if self._role in _WITH_IMAGES:
            self._units += _IMAGE_UNITS
        self._tokens += IMAGE_TOKENS

    def add_opaque(self, size: int) -> None:
        """Add a block of an unknown type by the bytes of its data."""
        self._tokens += (size + 3) // 4

    def add_shell(self, text: str) -> None:
        """Add a shell command or its output."""
        utf16, utf8 = lengths(text)
        if self._role == "bashExecution":
            self._units += utf16
        self._tokens += (utf8 + 3) // 4


def estimates(role: str, blocks: Sequence[Block], shell: Shell | None = None) -> tuple[int, int]:
    """Return the two estimates of a message's tokens; see `MessageSize`."""
    size = MessageSize(role)
    for block in blocks:
        if isinstance(block, Image):
            size.add_image()
        elif isinstance(block, Opaque):
            size.add_opaque(block.size)
        elif shell is not None:
            # What a model reads of it are the command and the output.
            size.add_signature(block.signature if isinstance(block, Thinking) else "")
        elif isinstance(block, Text):
            size.add_text(block.text)
        elif isinstance(block, ToolCall):
            size.add_call(block.name, compact_lengths(block.arguments))
        else:
            size.add_thinking(block.text, block.signature)
    if shell is not None:
        size.add_shell(shell.command)
        size.add_shell(shell.output)
    return size.estimates


def fragments(message: Message) -> list[str]:
    """Return the texts of a message that a model reads, one by one; exact counters use them too."""
    if message.shell:
        return [message.shell.command, message.shell.output]
    return [text for block in message.blocks for text in _read_by_model(block)]


def _read_by_model(block: Block) -> tuple[str, ...]:
    if isinstance(block, Text) or isinstance(block, Thinking):  # noqa: SIM101  a union takes four times as long
        return (block.text,)
    return (block.name, compact_json(block.arguments)) if isinstance(block, ToolCall) else ()
