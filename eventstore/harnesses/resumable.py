"""Define a context that any harness's file can hold, so that the harness resumes it.

`projections.resuming` makes a `Resumable` of a context, and a harness's format writes it (`Format.written`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from enum import Enum
from hashlib import sha256
from itertools import repeat
from typing import Final, NamedTuple

import msgspec

from eventstore.views import Block, Image, Message, Opaque, Payload, Text, Thinking, ToolCall


class ResumableMessage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message of the role `user`, `assistant` or `toolResult`.

    `time` is in epoch milliseconds. `payloads` has, for each block of the view, what the view omits; a thought's
    signature is that of the Messages API, or a whole item of the Responses API as JSON. `items` are the items of the
    Responses API that it was recorded as. `by_person`: a person wrote it, or part of it. `is_kept`: it is older than
    the compaction in effect, which kept it.
    """

    view: Message
    payloads: Sequence[Payload] = ()
    items: tuple[bytes, ...] = ()
    time: int
    by_person: bool = False
    is_kept: bool = False

    @property
    def blocks(self) -> Iterator[tuple[Block, Payload]]:
        """Each block with its payload, which may be empty."""
        return zip(self.view.blocks, self.payloads or repeat(_NO_PAYLOAD), strict=False)


_NO_PAYLOAD: Final = Payload(raw=b"")


class ResumableSummary(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The summary of the compaction in effect: its text, and the text that requests show.

    `tokens_before` is the size of the context that its record claims, 0 if it claims none.
    """

    text: str
    shown: str
    time: int
    tokens_before: int = 0


class Resumable(msgspec.Struct, frozen=True, kw_only=True):
    """A context to resume: the messages at a leaf, behind the summary if there is one.

    `key` is a SHA-256 that names this session and leaf: ids derive from it, so that the same export has the same bytes.
    `time` is that of the newest message. Calls and their results are next to each other; each result has its call.
    Unknown names are "".
    """

    source: str
    key: bytes
    messages: tuple[ResumableMessage, ...]
    summary: ResumableSummary | None = None
    time: int = 0
    folder: str = ""
    title: str = ""
    provider: str = ""
    model: str = ""
    thinking_level: str = ""

    def uuid(self, place: int = 0) -> str:
        """Return the UUID of the session (0), of a record, or of an answer (below 0)."""
        digits = bytearray(sha256(self.key + place.to_bytes(8, "big", signed=True)).digest()[:16])
        digits[6] = digits[6] & 0x0F | 0x80
        digits[8] = digits[8] & 0x3F | 0x80
        text = digits.hex()
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


class Written(NamedTuple):
    """A harness's file in pieces, and counts of what it lacks of a context, by name."""

    pieces: Sequence[bytes]
    lost: Counter[str]


class Seal(Enum):
    """The API that takes a thought back."""

    MESSAGES = "messages"
    RESPONSES = "responses"
    CHAT = "chat"


_FIELDS: Final = ("reasoning_content", "reasoning", "reasoning_text")
"""Signatures that only name the field of Chat Completions with a thought."""


def seal_of(block: Thinking) -> Seal:
    """Return the API that takes a thought back, by its signature."""
    if block.signature in _FIELDS:
        return Seal.CHAT
    return Seal.RESPONSES if block.signature.startswith('{"') else Seal.MESSAGES


def name_of_block(block: Block) -> str:
    """Return the name of a block's kind, in the plural, for what a file lacks."""
    if isinstance(block, Opaque):
        return f"blocks of type {block.type[:80]!r}"
    return {Text: "texts", Thinking: "thoughts", ToolCall: "calls", Image: "images"}[type(block)]


def without_unanswered(resumable: Resumable, lost: Counter[str]) -> Resumable:
    """Drop calls without a result, and thoughts beside them, whose seal is of the whole answer."""
    found = with_results(resumable.messages)
    messages = [
        each for message, results in found for each in (_answered(message, results, lost), *results.values())
    ]
    return msgspec.structs.replace(resumable, messages=tuple(messages))


def with_results(
    messages: Sequence[ResumableMessage],
) -> list[tuple[ResumableMessage, dict[str, ResumableMessage]]]:
    """Return messages with the results of their calls, by ids, which may come again later."""
    found = list[tuple[ResumableMessage, dict[str, ResumableMessage]]]()
    for message in messages:
        if message.view.role != "toolResult":
            found.append((message, {}))
        elif found:
            found[-1][1][message.view.tool_call_id] = message
    return found


def _answered(message: ResumableMessage, answered: Collection[str], lost: Counter[str]) -> ResumableMessage:
    if all(call.id in answered for call in message.view.tool_calls):
        return message
    kept = list[tuple[Block, Payload]]()
    for block, payload in message.blocks:
        if isinstance(block, Thinking):
            lost["thoughts beside a call without a result"] += 1
        elif isinstance(block, ToolCall) and block.id not in answered:
            lost["calls without a result"] += 1
        else:
            kept.append((block, payload))
    view = msgspec.structs.replace(message.view, blocks=tuple(block for block, _ in kept))
    return msgspec.structs.replace(message, view=view, payloads=tuple(payload for _, payload in kept))
