"""Convert the messages of a context to items of the Responses API."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from eventstore.harnesses import format_of
from eventstore.javascript import tolerant_json, well_formed
from eventstore.views import Block, Image, Message, Payload, Text, Thinking, ToolCall
from projections.context.parts import Context, Part, view_of_part
from projections.placements import substitute_text
from projections.requests.author import Author, model_of
from projections.requests.encoded_text import encode_text, is_blank
from projections.requests.images import Picture, Refusal, images_in, sent_image
from projections.requests.repairs import Note, RepairRule, Repairs
from projections.requests.tool_calls import input_json

MESSAGE: Final = "message"
CALL: Final = "function_call"
OUTPUT: Final = "function_call_output"
REASONING: Final = "reasoning"
OUTPUT_OF: Final = {
    CALL: OUTPUT,
    "local_shell_call": OUTPUT,
    "custom_tool_call": "custom_tool_call_output",
    "tool_search_call": "tool_search_output",
}
"""Types of calls that wait for an output, with its type."""
_USERS: Final = ("user", "custom")


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """An item of a request, and the event that it comes from.

    `fields` are those of the API. `recorded` is the JSON of a whole item that the API wrote or was sent before, which
    goes back unchanged.
    """

    event: str
    fields: dict[str, Any]
    recorded: bytes = b""

    @property
    def type(self) -> str:
        return str(self.fields.get("type", MESSAGE))

    @property
    def is_call(self) -> bool:
        return self.type in OUTPUT_OF and isinstance(self.fields.get("call_id"), str)

    @property
    def is_output(self) -> bool:
        return self.type.endswith("_output")

    @property
    def call_id(self) -> str:
        return str(self.fields.get("call_id", ""))

    @property
    def json(self) -> bytes:
        return self.recorded or _encoded(self.fields)

    def changed(self, **fields: Any) -> Item:
        """Return the item with other values of some fields."""
        return Item(event=self.event, fields=self.fields | fields)


def _encoded(fields: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(fields)
    except UnicodeEncodeError:
        # A recorded item that had to change.
        return well_formed(json.dumps(fields, ensure_ascii=False)).encode()


def items_of(context: Context, author: Author, repairs: Repairs) -> list[Item]:
    """Return the items of a context's messages, in order, before calls and outputs are paired."""
    if context.expanded:
        note = repairs.of(context.expanded)
        note(RepairRule.NATIVE_HISTORY, "messages replace a history that only another provider can read")
    views = [view_of_part(part) for part in context.parts]
    read = [_payloads(part, view) for part, view in zip(context.parts, views, strict=True)]
    images = images_in(zip(views, read, strict=True), in_errors=True)
    found = list[Item]()
    for number, (part, view) in enumerate(zip(context.parts, views, strict=True)):
        note = repairs.of(part.id)
        if recorded := format_of(part.format).response_item(part.raw):
            fields = tolerant_json(recorded)
            if fields.get("type") == REASONING and author != model_of(context):
                note(RepairRule.FOREIGN_THINKING, "another model's thinking is left out")
                continue
            found.append(Item(event=part.id, fields=fields, recorded=recorded))
            continue
        shown = {place: image for (of, place), image in images.items() if of == number}
        made = [Item(event=part.id, fields=each) for each in _items(view, shown, author, note)]
        if not made and view.role != "bashExecution":
            note(RepairRule.EMPTY_MESSAGE, "left out: it is empty")
        found += made
    return found


def user_message(event: str, content: list[dict[str, Any]]) -> Item:
    """Return a user's message of some parts."""
    return Item(event=event, fields={"type": MESSAGE, "role": "user", "content": content})


def text_part(text: str) -> dict[str, Any]:
    """Return a user's or a tool's text."""
    return {"type": "input_text", "text": text}


def _payloads(part: Part, view: Message) -> Sequence[Payload]:
    """Return what the view of a part omits, block by block."""
    if not any(isinstance(block, Image) for block in view.blocks):
        return ()
    its = format_of(part.format)
    api = its.api_message(part.raw)
    return api.payloads if api else its.payloads(part.raw)


def _items(
    view: Message,
    images: dict[int, Picture | Refusal],
    author: Author,
    note: Note,
) -> Iterator[dict[str, Any]]:
    if view.role == "assistant":
        yield from _of_assistant(view, author, note)
    elif view.role == "toolResult":
        content = [*_contents(view, images, note)]
        yield {"type": OUTPUT, "call_id": view.tool_call_id, "output": _plain(content)}
    elif view.role in _USERS:
        if content := [*_contents(view, images, note)]:
            yield {"type": MESSAGE, "role": "user", "content": content}
    elif text := _substitute(view, note):
        yield {"type": MESSAGE, "role": "user", "content": [text_part(text)]}


def _substitute(view: Message, note: Note) -> str:
    text = substitute_text(view)
    if text is None:
        note(RepairRule.UNKNOWN_ROLE, f"a message of role {view.role[:80]!r} is left out")
    return _well_formed(text or "", note)


def _contents(view: Message, images: dict[int, Picture | Refusal], note: Note) -> Iterator[dict[str, Any]]:
    """Yield the parts of what a user or a tool says."""
    for place, block in enumerate(view.blocks):
        if isinstance(block, Text):
            if is_blank(block.text):
                note(RepairRule.BLANK_TEXT, "a blank text is left out")
            else:
                yield text_part(_well_formed(block.text, note))
        elif isinstance(block, Image):
            yield _image(images[place], note)
        else:
            note(RepairRule.BLOCK, f"{_kind(block)} is left out")


def _image(found: Picture | Refusal, note: Note) -> dict[str, Any]:
    image = sent_image(found, note)
    if isinstance(image, str):
        return text_part(image)
    url = f"data:{image.header.media_type};base64,{image.data}"
    return {"type": "input_image", "detail": "auto", "image_url": url}


def _of_assistant(view: Message, author: Author, note: Note) -> Iterator[dict[str, Any]]:
    is_own = Author(view.provider, view.model) == author
    texts = list[dict[str, Any]]()
    for block in view.blocks:
        if isinstance(block, Text):
            if is_blank(block.text):
                note(RepairRule.BLANK_TEXT, "a blank text is left out")
            else:
                texts.append({"type": "output_text", "text": _well_formed(block.text, note)})
            continue
        made = _made(block, note, is_own=is_own)
        if made and texts:
            yield {"type": MESSAGE, "role": "assistant", "content": texts}
            texts = []
        if made:
            yield made
    if texts:
        yield {"type": MESSAGE, "role": "assistant", "content": texts}


def _made(block: Block, note: Note, *, is_own: bool) -> dict[str, Any] | None:
    if isinstance(block, ToolCall):
        arguments = input_json(block.arguments, note).decode()
        return {"type": CALL, "call_id": block.id, "name": block.name, "arguments": arguments}
    if isinstance(block, Thinking):
        if (item := _reasoning(block)) is None:
            note(RepairRule.UNSIGNED_THINKING, "thinking that the API did not seal is left out")
        elif is_own:
            return item
        else:
            note(RepairRule.FOREIGN_THINKING, "another model's thinking is left out")
        return None
    note(RepairRule.BLOCK, f"{_kind(block)} is left out")
    return None


def _reasoning(block: Thinking) -> dict[str, Any] | None:
    """Return the reasoning item that a harness keeps as the signature of its text."""
    try:
        item = msgspec.json.decode(block.signature.encode("utf-8", "replace")) if block.signature else None
    except (msgspec.DecodeError, RecursionError):
        return None
    is_sealed = isinstance(item, dict) and item.get("type") == REASONING and item.get("encrypted_content")
    return item if is_sealed else None


def _plain(content: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """Return an output as one text if it has no images."""
    if any("text" not in part for part in content):
        return content
    return "\n".join(part["text"] for part in content)


def _well_formed(text: str, note: Note) -> str:
    return str(msgspec.json.decode(encode_text(text, note)))


def _kind(block: Block) -> str:
    return f"a block of type {getattr(block, 'type', type(block).__name__.lower())[:80]!r}"
