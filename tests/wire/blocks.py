"""Requests and contexts as blocks that can be compared: text, thinking, calls, results and images, each with its role.

Messages of one role that follow each other are one sequence of blocks, because APIs join them anyway. Cache marks,
states and ids of items are left out: they say nothing to the model.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from eventstore.harnesses import format_of
from projections.context.build import harness_json
from projections.context.parts import Context
from projections.placements import substitute_text
from projections.rules import rules_named
from tests.wire.masking import mask

Json = dict[str, Any]


class Block(NamedTuple):
    """A block: who sent it, its kind, its text, and what else there is to it.

    `name` is the id of a call or of a result's call, the signature of thinking, or the type of an image; `text` of an
    image is its digest, of a call its tool and arguments.
    """

    role: str
    kind: str
    text: str
    name: str = ""


def request_blocks(api: str, body: Json) -> list[Block]:
    """Return the blocks of a request's messages; without its system prompt and tools."""
    if api == "responses":
        return [block for item in mask(body["input"]) for block in _of_item(item)]
    reader = _of_message if api == "messages" else _of_chat
    return [block for message in mask(body["messages"]) for block in reader(message)]


def context_blocks(context: Context, time: int) -> list[Block]:
    """Return the blocks of a context as refold exports it, in the harness's own shape.

    Results that oh-my-pi pruned in its file after `time`, in epoch milliseconds, are `REWRITTEN`.
    """
    shape = rules_named(context.rules).format
    document = msgspec.json.decode(harness_json(context), type=_Document)
    if document.input is not None:
        return [block for item in mask(document.input) for block in _of_item(item)]
    messages = document.messages
    return [block for message in messages for block in _of_own(bytes(message), shape, time)]


class _Document(msgspec.Struct):
    """A context's messages, or items of the Responses API."""

    messages: list[msgspec.Raw] = []
    input: list[Any] | None = None


def _of_own(raw: bytes, shape: str, time: int) -> list[Block]:
    view, message = format_of(shape).message(raw), mask(json.loads(raw))
    role = "assistant" if message["role"] == "assistant" else "user"
    # A summary, and what was said while the model worked, may have words of the harness around it.
    has_words = "content" not in message or message.get("steering")
    if has_words and (worded := format_of(shape).api_message(raw)):
        return list(_contents(role, [mask(json.loads(payload.raw)) for payload in worded.payloads]))
    if (text := substitute_text(view)) is not None:
        return [Block("user", "text", mask(text))] if text else []
    if message.get("prunedAt", 0) > time:
        return [Block("user", "result", REWRITTEN, _call_id(message["toolCallId"]))]
    if message["role"] == "toolResult":
        content = list(_contents("user", message["content"]))
        return [_result(_call_id(message["toolCallId"]), content, is_error=message["isError"])]
    return list(_contents(role, message["content"]))


def _of_message(message: Json) -> Iterator[Block]:
    # The system prompt stands elsewhere: oh-my-pi has newer models read messages of extensions as the system's.
    role = "user" if message["role"] == "system" else message["role"]
    yield from _contents(role, message["content"])


REWRITTEN: Final = "rewritten"
"""The text of a result in a context that is older than what the harness's file now says of it."""


def _contents(role: str, content: str | Sequence[Json]) -> Iterator[Block]:
    """Yield the blocks of a message of the Messages API, or of pi or opencode, whose blocks have other names."""
    for block in _listed(content):
        kind = block["type"]
        if kind in _OF_SDK:
            yield _of_sdk(role, block)
        elif kind == "text":
            yield Block(role, "text", block["text"])
        elif kind == "thinking":
            signature = block.get("signature") or block.get("thinkingSignature") or ""
            yield Block(role, "thinking", block["thinking"], seal_in(signature))
        elif kind == "tool_use":
            yield _call(block["id"], block["name"], block["input"])
        elif kind == "toolCall":
            yield _call(_call_id(block["id"]), block["name"], block["arguments"])
        elif kind == "tool_result":
            held = list(_contents(role, block.get("content") or ""))
            yield _result(block["tool_use_id"], held, is_error=bool(block.get("is_error")))
        elif kind == "image":
            source = block.get("source") or {"media_type": block.get("mimeType"), "data": block.get("data")}
            yield _image(role, source["media_type"], source["data"])
        else:
            yield Block(role, kind, json.dumps(block, sort_keys=True))


_OF_SDK: Final = frozenset({"reasoning", "tool-call", "tool-result", "file"})
"""Blocks of the AI SDK, whose messages are opencode's."""


def _of_sdk(role: str, block: Json) -> Block:
    if block["type"] == "tool-call":
        return _call(block["toolCallId"], block["toolName"], block["input"])
    if block["type"] == "tool-result":
        output = block["output"]
        held = list(_contents("user", output["value"]))
        return _result(block["toolCallId"], held, is_error=output["type"] == "error-text")
    if block["type"] == "file":
        return _image(role, block["mediaType"], block["data"])
    seals = next(iter((block.get("providerOptions") or {}).values()), {})
    signature = seals.get("signature") or seals.get("reasoningEncryptedContent") or ""
    return Block(role, "thinking", block["text"], signature)


def _call_id(name: str) -> str:
    """Return the id of a call; of the Responses API, pi joins it with the id of the item."""
    return name.partition("|")[0]


def seal_in(signature: str) -> str:
    """Return the encrypted text in a signature; of the Responses API, pi keeps the whole item as one."""
    if not signature.startswith("{"):
        return signature
    return str(json.loads(signature).get("encrypted_content") or "")


def _of_chat(message: Json) -> Iterator[Block]:
    role, content = message["role"], message.get("content") or ""
    if role in ("system", "developer"):
        return
    if role == "tool":
        yield _result(message["tool_call_id"], [Block("user", "text", content)], is_error=None)
        return
    if thought := message.get("reasoning_content") or message.get("reasoning"):
        yield Block(role, "thinking", thought)
    for block in _listed(content):
        if block["type"] == "image_url":
            yield _linked_image(role, block["image_url"]["url"])
        elif block["text"]:
            yield Block(role, "text", block["text"])
    for call in message.get("tool_calls") or ():
        yield _call(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))


def _of_item(item: Json) -> Iterator[Block]:
    kind, role = item.get("type", "message"), item.get("role", "")
    if kind == "message":
        if role not in ("system", "developer"):
            yield from _parts(role, item["content"])
    elif kind == "reasoning":
        text = "\n\n".join(part["text"] for part in item.get("summary") or ())
        yield Block("assistant", "thinking", text, item.get("encrypted_content") or "")
    elif kind == "function_call":
        yield _call(item["call_id"], item["name"], json.loads(item["arguments"]))
    elif kind == "custom_tool_call":
        yield _call(item["call_id"], item["name"], item["input"])
    elif kind.endswith("_output") and "output" in item:
        yield _result(item["call_id"], list(_parts("user", item["output"])), is_error=None)
    else:
        yield Block("assistant", kind, json.dumps(item, sort_keys=True))


def _parts(role: str, content: str | Sequence[Json]) -> Iterator[Block]:
    for part in _listed(content):
        if part["type"] == "input_image":
            yield _linked_image(role, part["image_url"])
        else:
            yield Block(role, "text", part["text"])


def _listed(content: str | Sequence[Json]) -> Sequence[Json]:
    """Return content as blocks: APIs take a text alone, too."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _call(name: str, tool: str, arguments: object) -> Block:
    return Block("assistant", "call", f"{tool} {json.dumps(arguments, sort_keys=True)}", name)


def _result(name: str, held: Sequence[Block], *, is_error: bool | None) -> Block:
    """Return a result; `is_error` is None where the API cannot say it."""
    content = [[each.kind, each.text, each.name] for each in held if each.text]
    return Block("user", "result", json.dumps([is_error, *content], ensure_ascii=False), name)


def as_held_by(api: str, blocks: Sequence[Block]) -> list[Block]:
    """Return blocks of a context without what an API cannot hold.

    OpenAI's cannot say that a call failed; Chat Completions has no signatures, and no images in results.
    """
    return list(blocks) if api == "messages" else [_in_openai(api, block) for block in blocks]


def _in_openai(api: str, block: Block) -> Block:
    if block.text == REWRITTEN:
        return block
    if block.kind == "thinking" and api == "chat":
        return block._replace(name="")
    if block.kind != "result":
        return block
    _, *content = json.loads(block.text)
    kept = [each for each in content if api != "chat" or each[0] != "image"]
    return block._replace(text=json.dumps([None, *kept], ensure_ascii=False))


def _linked_image(role: str, url: str) -> Block:
    head, _, data = url.partition(";base64,")
    return _image(role, head.removeprefix("data:"), data)


def _image(role: str, type: str, data: str) -> Block:
    return Block(role, "image", hashlib.sha256(data.encode()).hexdigest()[:16], type)
