"""Define a message as every fold sees it, whatever harness wrote it.

Formats convert their records to these types; nothing above the store knows a format. The types have no
reference cycles and are numerous, so that the garbage collector ignores them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import msgspec

from eventstore.javascript import parse_json


class Payload(msgspec.Struct, frozen=True, gc=False):
    """A recorded block of a message: JSON, an image's base64 text, if thinking is encrypted.

    The encrypted text of redacted thinking is its signature. `is_sound`: the Messages API takes the JSON as it is,
    apart from a call's input.
    """

    raw: bytes
    image: str = ""
    is_redacted: bool = False
    is_sound: bool = False


class Text(msgspec.Struct, frozen=True, gc=False):
    """Text by or for the model."""

    text: str


class Thinking(msgspec.Struct, frozen=True, gc=False):
    """The model's reasoning; `signature` is the provider's opaque seal on it."""

    text: str
    signature: str = ""


class ToolCall(msgspec.Struct, frozen=True, dict=True):
    """A tool call; `arguments` is the recorded JSON text of an object."""

    id: str
    name: str
    arguments: bytes = b"{}"

    @cached_property
    def decoded(self) -> object:
        """The decoded arguments, with invalid UTF-8 replaced; the text itself if it is not JSON."""
        text = self.arguments.decode("utf-8", "replace")
        try:
            return parse_json(text)
        except (ValueError, RecursionError):
            return text

    def argument(self, name: str) -> object:
        """Return an argument's value, None if it is missing."""
        return self.decoded.get(name) if isinstance(self.decoded, dict) else None


class Image(msgspec.Struct, frozen=True, gc=False):
    """An image; `size` is the length of its base64 text."""

    mime: str
    size: int


class Opaque(msgspec.Struct, frozen=True, gc=False):
    """A block of an unknown type; `size` is the UTF-8 length of its `data`."""

    type: str
    size: int = 0


Block = Text | Thinking | ToolCall | Image | Opaque


class Usage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The provider's token counts of one model call, and the harness's cost in US dollars.

    `cache_write_1h` is the part of `cache_write` with a lifetime of an hour. `total` is the context size
    after the call: as recorded, or the sum of the four. `cost` is None if not recorded.
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
        """Tokens sent: input, cache reads and cache writes."""
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
    """An extension's data: its type, and the decoded data (None for none)."""

    type: str
    data: Any = None


class Message(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One message of a session.

    `role` is one of `eventstore.event.ROLES`. A tool result's content is its blocks; so is a summary's text.
    `placement` is the placement in refold's record of a summary, "" for the harness's own. `extension`
    describes a message that an extension sent to the model. `is_useless` means that the tool said that its
    result need not be kept. `is_refused` means that a person refused the call of this result, and `feedback` is what
    they said then.
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
    is_refused: bool = False
    feedback: str = ""

    @property
    def text(self) -> str:
        """The text blocks, joined without a separator."""
        return "".join(block.text for block in self.blocks if isinstance(block, Text))

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The tool calls, in order."""
        return [block for block in self.blocks if isinstance(block, ToolCall)]


class ApiMessage(msgspec.Struct, frozen=True):
    """A message in the shape of the Messages API: its view, without what no request has.

    `payloads` are what the view omits, block by block. `result` is the JSON of a tool's result if the API takes it as
    it is, else b"".
    """

    view: Message
    payloads: Sequence[Payload]
    result: bytes = b""


def shell_text(shell: Shell) -> str:
    """Render a command and its output as pi's `convertToLlm` does.

    The command comes first, then the fenced output, then what went wrong. Empty output is stated,
    cancellation precedes an exit code, and truncated output names the file with all of it.
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


def call_indexes(messages: Sequence[Message]) -> dict[int, int]:
    """Map the index of each tool result to that of the message with its call.

    Results without a call are omitted. Some harnesses reuse call ids in each turn: a result answers the
    newest call with its id before it.
    """
    newest: dict[str, int] = {}
    found: dict[int, int] = {}
    for place, message in enumerate(messages):
        if message.role == "toolResult" and message.tool_call_id in newest:
            found[place] = newest[message.tool_call_id]
        for call in message.tool_calls:
            newest[call.id] = place
    return found
