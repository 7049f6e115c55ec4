"""A message as every fold sees it, whatever harness wrote it.

A format module reads its records into these; nothing above the store knows a format. None of them leads back to
itself, and a session has thousands: the garbage collector need not look at them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import msgspec

from eventstore.javascript import parse_json


class Payload(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded block of a message: its JSON, an image's base64 text, whether thinking is encrypted.

    The encrypted text of redacted thinking is its signature.
    """

    raw: bytes
    image: str = ""
    is_redacted: bool = False


class Text(msgspec.Struct, frozen=True, gc=False):
    """Text that the model wrote or was sent."""

    text: str


class Thinking(msgspec.Struct, frozen=True, gc=False):
    """The model's reasoning; `signature` is the provider's opaque seal on it."""

    text: str
    signature: str = ""


class ToolCall(msgspec.Struct, frozen=True, dict=True):
    """A call of a tool; `arguments` is the JSON text of an object, as recorded."""

    id: str
    name: str
    arguments: bytes = b"{}"

    @cached_property
    def decoded(self) -> object:
        """The arguments' value, invalid UTF-8 replaced; the text itself where it is no JSON."""
        text = self.arguments.decode("utf-8", "replace")
        try:
            return parse_json(text)
        except (ValueError, RecursionError):
            return text

    def argument(self, name: str) -> object:
        """One argument's value, None where there is none such."""
        return self.decoded.get(name) if isinstance(self.decoded, dict) else None


class Image(msgspec.Struct, frozen=True, gc=False):
    """An image; `size` is the length of its base64 text."""

    mime: str
    size: int


class Opaque(msgspec.Struct, frozen=True, gc=False):
    """A block of a type that this view does not know; `size` is the UTF-8 length of its `data`."""

    type: str
    size: int = 0


Block = Text | Thinking | ToolCall | Image | Opaque


class Usage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Tokens of one model call as its provider counted them, and US dollars as its harness reckoned them.

    `cache_write_1h` are those of `cache_write` that were written to live an hour. `total` is the context size
    after the call: what the record says, or the sum of the four. `cost` is None where the record has none.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    total: int = 0
    cost: float | None = None

    @property
    def prompt(self) -> int:
        """Tokens that were sent: input, cache reads and cache writes."""
        return self.input + self.cache_read + self.cache_write


class Shell(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A command that the person ran in the harness."""

    command: str
    output: str = ""
    exit_code: int | None = None
    cancelled: bool = False
    truncated: bool = False
    full_output: str = ""
    excluded: bool = False


class Extension(msgspec.Struct, frozen=True, kw_only=True):
    """Something of an extension's own: its type, and the data that it carries, decoded (None: there is none)."""

    type: str
    data: Any = None


class Message(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One message of a session.

    `role` is one of `eventstore.event.ROLES`. A tool result's content is its blocks; so is a summary's text.
    `placement` is how refold's record says that a summary stands in a request, "" for its harness's way.
    `extension` tells of a message that an extension put before the model; `is_useless`: its tool says of a result
    that it need not be kept.
    """

    role: str
    blocks: tuple[Block, ...] = ()
    tool_call_id: str = ""
    tool_name: str = ""
    is_error: bool = False
    provider: str = ""
    model: str = ""
    stop_reason: str = ""
    usage: Usage | None = None
    shell: Shell | None = None
    placement: str = ""
    extension: Extension | None = None
    is_useless: bool = False

    @property
    def text(self) -> str:
        """The text blocks, joined without a separator."""
        return "".join(block.text for block in self.blocks if isinstance(block, Text))

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The tool calls, in order."""
        return [block for block in self.blocks if isinstance(block, ToolCall)]


def shell_text(shell: Shell) -> str:
    """Return a command and its outcome as pi tells a model of them: command, fenced output, then what went wrong.

    pi's `convertToLlm`: an empty output says so, a cancel goes before an exit code, and a cut output
    names the file that has all of it.
    """
    text = f"Ran `{shell.command}`\n"
    text += f"```\n{shell.output}\n```" if shell.output else "(no output)"
    if shell.cancelled:
        text += "\n\n(command cancelled)"
    elif shell.exit_code:
        text += f"\n\nCommand exited with code {shell.exit_code}"
    if shell.truncated and shell.full_output:
        text += f"\n\n[Output truncated. Full output: {shell.full_output}]"
    return text


def answered(messages: Sequence[Message]) -> dict[int, int]:
    """From the place of each tool result to that of the message with its call; a result without one is left out.

    Harnesses that count calls anew in each turn give several calls one id: a result answers the newest of them
    before it.
    """
    newest: dict[str, int] = {}
    found: dict[int, int] = {}
    for place, message in enumerate(messages):
        if message.role == "toolResult" and message.tool_call_id in newest:
            found[place] = newest[message.tool_call_id]
        for call in message.tool_calls:
            newest[call.id] = place
    return found
