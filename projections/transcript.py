"""Render messages as text for people, and contexts as transcripts for a summarizer.

Transcripts use the serialization of pi and oh-my-pi: labelled lines that a model reads as a record rather
than continues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from eventstore.javascript import cut_utf16, key_order, stringify, utf16_length
from eventstore.views import Image, Message, Opaque, Text, Thinking, ToolCall, shell_text
from projections.context.parts import Context, Part, view_of_part
from projections.placements import substitute_text


def message_text(message: Message) -> str:
    """Return a whole message as text, with thinking, calls, images and unknown blocks labelled."""
    if message.shell is not None:
        return shell_text(message.shell)
    lines = []
    for block in message.blocks:
        if isinstance(block, Text):
            lines.append(block.text)
        elif isinstance(block, Thinking):
            lines.append(f"(thinking) {block.text}")
        elif isinstance(block, ToolCall):
            lines.append(f"→ {block.name} {block.arguments.decode('utf-8', 'replace')}")
        elif isinstance(block, Image):
            lines.append(f"[image {block.mime}, {block.size * 3 // 4:,} bytes]")
        elif isinstance(block, Opaque):
            lines.append(f"[{block.type or 'unknown'} block]")
    if message.tool_name:
        lines.insert(0, f"{'✗' if message.is_error else '←'} {message.tool_name}")
    return "\n".join(lines)


MAX_RESULT_CHARACTERS: Final = 2000
"""Longest tool result in UTF-16 units; longer ones are cut, and the cut says by how much."""

USER_LABEL: Final = "[User]: "
CONTINUATION: Final = "[Continuation]: "
"""The label of messages that continue after a compaction."""


def transcript(context: Context) -> str:
    """Return a context as a transcript, with blank lines between blocks.

    Leaves out images and messages of unknown roles, as pi does. Messages that continue after a compaction are
    labelled `[Continuation]: `, because no user wrote them.
    """
    return "\n\n".join(block for part in context.parts for block in _blocks_of(part))


def _blocks_of(part: Part) -> Iterator[str]:
    blocks = _blocks(view_of_part(part))
    return (block.replace(USER_LABEL, CONTINUATION, 1) for block in blocks) if part.continues else blocks


def _blocks(message: Message) -> Iterator[str]:
    if message.role == "assistant":
        yield from assistant_lines(message, _call)
    elif message.role == "toolResult":
        if message.text:
            yield f"[Tool result]: {_cut(message.text)}"
    elif text := _user_text(message):
        yield f"{USER_LABEL}{text}"


def _user_text(message: Message) -> str:
    substitute = substitute_text(message)
    if substitute is not None:
        return substitute
    return message.text if message.role in ("user", "custom") else ""


def assistant_lines(message: Message, call_text: Callable[[ToolCall], str]) -> Iterator[str]:
    """Return an answer as labelled lines: its thoughts, texts and calls."""
    thinking = [block.text for block in message.blocks if isinstance(block, Thinking)]
    text = [block.text for block in message.blocks if isinstance(block, Text)]
    if thinking:
        yield "[Assistant thinking]: " + "\n".join(thinking)
    if text:
        yield "[Assistant]: " + "\n".join(text)
    if message.tool_calls:
        yield "[Assistant tool calls]: " + "; ".join(map(call_text, message.tool_calls))


def _call(call: ToolCall) -> str:
    arguments = call.decoded if isinstance(call.decoded, dict) else {}
    arguments_text = (f"{name}={stringify(arguments[name])}" for name in key_order(arguments))
    return f"{call.name}({', '.join(arguments_text)})"


def _cut(text: str) -> str:
    surplus = utf16_length(text) - MAX_RESULT_CHARACTERS
    if surplus <= 0:
        return text
    return f"{cut_utf16(text, MAX_RESULT_CHARACTERS)}\n\n[... {surplus} more characters truncated]"
