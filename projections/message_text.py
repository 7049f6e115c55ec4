"""Render messages as text for people."""

from __future__ import annotations

from eventstore.views import Image, Message, Opaque, Text, Thinking, ToolCall, shell_text


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
