"""Render each message of a context as blocks of the API."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec

from eventstore.harnesses.refold.blocks import COMPACTION, OF_ASSISTANTS, OF_RESULTS, OF_USERS, Shapes
from eventstore.views import Block as RecordedBlock
from eventstore.views import Image, Opaque, Payload, Text, Thinking, ToolCall
from projections.requests.anthropic.blocks import (
    Block,
    image_block,
    plain_text,
    redacted_thinking_block,
    text_block,
    thinking_block,
)
from projections.requests.anthropic.native import (
    CALLER,
    CITATIONS,
    TOOLSET,
    RenderedMessage,
    native_block,
    unpaired,
)
from projections.requests.author import Author
from projections.requests.encoded_text import is_blank
from projections.requests.images import BlockPosition, images_in, sent_image
from projections.requests.repairs import Note, RepairRule
from projections.requests.tool_calls import input_json, tool_name

_THINKING: Final = ("thinking", "redacted_thinking")


class ToolUse(msgspec.Struct, frozen=True, gc=False):
    """A tool call under its recorded id; name and input are as the API takes them.

    `extra` is the JSON of further fields, each after a comma. `recorded` is the whole block, if the API takes it
    unchanged under that id.
    """

    id: str
    name: str
    input: bytes
    extra: bytes = b""
    recorded: bytes = b""


class Contents:
    """The contents of the messages of one request."""

    def __init__(self, messages: list[RenderedMessage], author: Author) -> None:
        self._messages, self._author = messages, author
        self._images = images_in(((each.view, each.payloads) for each in messages), in_errors=False)

    def of_user(self, number: int, note: Note) -> list[Block]:
        """Return the blocks of a user or extension message, or of a tool result."""
        message = self._messages[number]
        is_failed = message.view.role == "toolResult" and message.view.is_error
        shapes = {} if is_failed else OF_RESULTS if message.view.role == "toolResult" else OF_USERS
        blocks: list[Block] = []
        for place, block, payload in message.blocks:
            if isinstance(block, Text):
                blocks += _text(block, payload, note)
            elif isinstance(block, Image):
                blocks.append(_image_in_error(note) if is_failed else self._image((number, place), note))
            elif message.is_compacted and place == 0:
                blocks.append(Block(COMPACTION, payload.raw))
            else:
                blocks += _native(block, payload, shapes, note)
        if is_failed and not blocks:
            note(
                RepairRule.EMPTY_ERROR,
                "a text replaces the error of a failed call, which was not recorded",
            )
            return [plain_text("[the call failed, and said nothing]")]
        return blocks

    def of_assistant(self, number: int, note: Note) -> list[Block | ToolUse]:
        """Return the assistant's texts, thinking and calls."""
        message = self._messages[number]
        view, author = message.view, self._author
        is_own = view.provider == author.provider and view.model == author.model
        blocks: list[Block | ToolUse] = []
        has_native = False
        for place, block, payload in message.blocks:
            if isinstance(block, ToolCall):
                blocks.append(_call(block, payload, note, is_own=is_own))
            elif isinstance(block, Text):
                blocks += _cited(payload) or _text(block, payload, note)
            elif isinstance(block, Thinking):
                blocks += _thinking(block, payload, note, is_own=is_own)
            elif message.is_compacted and place == 0:
                blocks.append(Block(COMPACTION, payload.raw))
            elif isinstance(block, Opaque) and block.type in _THINKING and not is_own:
                _leave_foreign_thinking(note)
            else:
                blocks += _native(block, payload, OF_ASSISTANTS, note)
                has_native = True
        if has_native:
            blocks = _paired(blocks, note)
        return _without_final_thinking(blocks, note) if message.payloads else blocks

    def _image(self, place: BlockPosition, note: Note) -> Block:
        image = sent_image(self._images[place], note)
        return (
            plain_text(image) if isinstance(image, str) else image_block(image.header.media_type, image.data)
        )


def _image_in_error(note: Note) -> Block:
    note(RepairRule.IMAGE_IN_ERROR, "an image in a failed call's result is left out")
    return plain_text("[image left out: the call failed]")


def _text(block: Text, payload: Payload, note: Note) -> list[Block]:
    if payload.is_sound:
        return [Block("text", payload.raw)]
    if is_blank(block.text):
        note(RepairRule.BLANK_TEXT, "a blank text is left out")
        return []
    return [text_block(block.text, note)]


class _Cited(msgspec.Struct, tag_field="type", tag="text"):
    """A text with the citations that the API returned with it, to be sent back together."""

    text: Annotated[str, msgspec.Meta(pattern=r"\S")]
    citations: Annotated[list[dict[str, Any]], msgspec.Meta(min_length=1)]


def _cited(payload: Payload) -> list[Block]:
    if CITATIONS not in payload.raw:
        return []
    try:
        return [Block("text", msgspec.json.encode(msgspec.json.decode(payload.raw, type=_Cited)))]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []


def _call(call: ToolCall, payload: Payload, note: Note, *, is_own: bool) -> ToolUse:
    input_ = input_json(call.arguments, note)
    has_extra = CALLER in payload.raw or TOOLSET in payload.raw
    is_unchanged = payload.is_sound and input_ is call.arguments and (is_own or not has_extra)
    name = call.name if payload.is_sound else tool_name(call.name, note)
    extra = _extra(payload) if is_own and has_extra else b""
    return ToolUse(call.id, name, input_, extra, payload.raw if is_unchanged else b"")


def _extra(payload: Payload) -> bytes:
    """Return the further fields of a call that the API returned, as JSON."""
    try:
        fields = msgspec.json.decode(payload.raw, type=_Extra)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return b""
    members = msgspec.json.encode(fields)[1:-1]
    return b"," + members if members else b""


class _Extra(msgspec.Struct, omit_defaults=True):
    caller: dict[str, str] | None = None
    toolset_name: str | None = None


def _thinking(block: Thinking, payload: Payload, note: Note, *, is_own: bool) -> list[Block]:
    if not block.signature:
        note(RepairRule.UNSIGNED_THINKING, "thinking without a signature is left out")
    elif not is_own:
        _leave_foreign_thinking(note)
    elif payload.is_sound:
        return [Block("redacted_thinking" if payload.is_redacted else "thinking", payload.raw)]
    else:
        try:
            if payload.is_redacted:
                return [redacted_thinking_block(block.signature)]
            return [thinking_block(block.text, block.signature)]
        except UnicodeEncodeError:
            note(RepairRule.SURROGATE, "thinking with a lone surrogate is left out")
    return []


def _leave_foreign_thinking(note: Note) -> None:
    note(RepairRule.FOREIGN_THINKING, "another model's thinking is left out")


def _native(block: RecordedBlock, payload: Payload, shapes: Shapes, note: Note) -> list[Block]:
    """Return a block in the API's own shape, if a message of this role can hold it."""
    handed_on = native_block(block, payload, shapes, note) if isinstance(block, Opaque) else None
    if handed_on is None:
        note(RepairRule.BLOCK, f"{_kind(block)} is left out")
        return []
    return [handed_on]


def _kind(block: RecordedBlock) -> str:
    if isinstance(block, Opaque):
        return f"a block of type {block.type[:80]!r}"
    return {Image: "an image", Thinking: "thinking", ToolCall: "a call"}[type(block)]


def _paired(blocks: list[Block | ToolUse], note: Note) -> list[Block | ToolUse]:
    """Drop server tool calls without a result, and server tool results without a call."""
    alone = unpaired(blocks)
    for _ in alone:
        note(RepairRule.BLOCK, "half of a server tool's call and result is left out")
    return [block for place, block in enumerate(blocks) if place not in alone]


def _without_final_thinking(blocks: list[Block | ToolUse], note: Note) -> list[Block | ToolUse]:
    while blocks and isinstance(blocks[-1], Block) and blocks[-1].type in _THINKING:
        note(RepairRule.FINAL_THINKING, "thinking that nothing follows is left out")
        blocks = blocks[:-1]
    return blocks
