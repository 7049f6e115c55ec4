"""Render a context as a request to OpenAI's Responses API, or as Chat Completions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from eventstore.errors import BadInputError
from projections.context.parts import Context
from projections.requests.author import Author, author_of
from projections.requests.encoded_text import encode_text, is_blank
from projections.requests.openai.items import (
    MESSAGE,
    OUTPUT_OF,
    REASONING,
    Item,
    items_of,
    text_part,
    user_message,
)
from projections.requests.openai.recorded import mended
from projections.requests.rendered import Rendered, Violation
from projections.requests.repairs import RepairRule, Repairs, unnoted
from projections.requests.tool_calls import CallIds, tool_name

_PROVIDER = "openai"


def render_responses(
    context: Context,
    *,
    model: str | None = None,
    max_tokens: int | None = None,
    system: str | None = None,
    tools: bytes | None = None,
) -> Rendered:
    """Return the body of the Responses request that a model is sent at a context's leaf.

    The same context gives the same bytes. `model` defaults to the context's; `system` and `tools`, a JSON list of
    definitions, are not in the log. Items that the API wrote, as Codex records them, go back byte for byte. The
    provider is asked to store nothing. No model and no input are violations. Raises BadInputError for invalid tools.
    """
    repairs, author = Repairs([]), author_of(context, model, provider=_PROVIDER)
    items = paired(items_of(context, author, repairs), repairs)
    body = [b'"model":%s' % _encoded(author.model)]
    if system is not None and not is_blank(system):
        body.append(b'"instructions":%s' % _encoded(system))
    body.append(b'"input":[%s]' % b",".join(item.json for item in items))
    if tools is not None:
        body.append(b'"tools":%s' % msgspec.json.encode([*_tools(tools)]))
    if max_tokens is not None:
        body.append(b'"max_output_tokens":%d' % max_tokens)
    body.append(b'"store":false')
    return Rendered(
        body=b"{%s}" % b",".join(body),
        repairs=tuple(repairs.made),
        violations=tuple(_violations(author, items, "input")),
    )


def render_chat(
    context: Context,
    *,
    model: str | None = None,
    max_tokens: int | None = None,
    system: str | None = None,
    tools: bytes | None = None,
    forbids_tools: bool = False,
    schema: bytes = b"",
) -> Rendered:
    """Return the body of the Chat Completions request that a model is sent at a context's leaf.

    It is made of the items of `render_responses`; reasoning, which this API takes from nobody, is left out.
    `forbids_tools`: the model may call none. `schema`: the answer is JSON by this schema.
    """
    repairs, author = Repairs([]), author_of(context, model, provider=_PROVIDER)
    messages = chat_messages(paired(items_of(context, author, repairs), repairs), repairs)
    if system is not None and not is_blank(system):
        messages.insert(0, b'{"role":"system","content":%s}' % _encoded(system))
    body = [b'"model":%s' % _encoded(author.model), b'"messages":[%s]' % b",".join(messages)]
    if tools is not None:
        functions = [
            {"type": "function", "function": {name: value for name, value in tool.items() if name != "type"}}
            for tool in _tools(tools)
        ]
        body.append(b'"tools":%s' % msgspec.json.encode(functions))
        if functions and forbids_tools:
            body.append(b'"tool_choice":"none"')
    if schema:
        body.append(
            b'"response_format":{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":%s}}'
            % schema
        )
    if max_tokens is not None:
        body.append(b'"max_completion_tokens":%d' % max_tokens)
    return Rendered(
        body=b"{%s}" % b",".join(body),
        repairs=tuple(repairs.made),
        violations=tuple(_violations(author, messages, "messages")),
    )


def _encoded(text: str) -> bytes:
    return encode_text(text, unnoted)


def _violations(author: Author, content: Sequence[object], path: str) -> Iterator[Violation]:
    """Yield what the API would refuse whatever is repaired."""
    if not author.model.strip():
        yield Violation(rule="model", path="model", problem="no model is named")
    if not content:
        yield Violation(rule=path, path=path, problem="it is empty")


def _tools(tools: bytes) -> Iterator[dict[str, Any]]:
    """Yield functions of the Responses API, also from those of the Messages API."""
    try:
        definitions = msgspec.json.decode(tools, type=list[dict[str, Any]])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        problem = f"is not a JSON list of objects ({error})"
        raise BadInputError("tools", problem, "give a list of definitions") from None
    for number, tool in enumerate(definitions):
        inner = tool.get("function")
        function = inner if isinstance(inner, dict) else tool
        name = function.get("name")
        if not isinstance(name, str) or not name:
            raise BadInputError(f"tools[{number}]", "has no name", "give a list of definitions")
        schema = function.get(
            "parameters", function.get("input_schema", {"type": "object", "properties": {}})
        )
        described = {key: function[key] for key in ("description", "strict") if key in function}
        yield {"type": "function", "name": name, **described, "parameters": schema}


LONGEST_TOOL_NAME: Final = 64
_NO_RESULT: Final = "[no result of this call was recorded]"


def paired(items: Iterable[Item], repairs: Repairs) -> list[Item]:
    """Return items in which each call has one output behind it, and each output a call.

    A call waits for its output until the model says something else. One that none came for gets one that says so,
    directly behind it; an output without a call becomes a user's text. Reasoning that nothing follows is left out.
    """
    pairing = _Pairing(repairs)
    for each in items:
        item = mended(each, repairs.of(each.event)) if each.recorded else each
        if item is None:
            continue
        if item.is_call:
            pairing.call(item)
        elif item.is_output:
            pairing.output(item)
        else:
            pairing.other(item)
    return pairing.end()


class _Pairing:
    def __init__(self, repairs: Repairs) -> None:
        self._repairs = repairs
        self._found: list[Item] = []
        self._ids = CallIds()
        self._waiting: dict[str, int] = {}
        self._answered: set[str] = set()

    def call(self, item: Item) -> None:
        note, recorded = self._repairs.of(item.event), item.call_id
        changes: dict[str, Any] = {}
        if (sent := self._ids.take(recorded, note)) != recorded:
            changes["call_id"] = sent
        name = item.fields.get("name")
        if isinstance(name, str) and (plain := tool_name(name, note)[:LONGEST_TOOL_NAME]) != name:
            changes["name"] = plain
        if recorded in self._waiting:
            self._answer_the_waiting()
        self._waiting[recorded] = len(self._found)
        self._found.append(item.changed(**changes) if changes else item)

    def output(self, item: Item) -> None:
        place = self._waiting.pop(item.call_id, None)
        if place is not None:
            self._answered.add(item.call_id)
            call = self._found[place]
            is_its = (item.call_id, item.type) == (call.call_id, OUTPUT_OF[call.type])
            changes = {"call_id": call.call_id, "type": OUTPUT_OF[call.type]}
            self._found.append(item if is_its else item.changed(**changes))
            return
        is_second = item.call_id in self._answered
        rule = RepairRule.DUPLICATE_RESULT if is_second else RepairRule.ORPHAN_RESULT
        self._repairs.of(item.event)(rule, "the result is sent as text")
        output = item.fields.get("output")
        content = [text_part("Result of an earlier call:")]
        content += output if isinstance(output, list) else [text_part(str(output or ""))]
        self._found.append(user_message(item.event, [part for part in content if part.get("text") != ""]))

    def other(self, item: Item) -> None:
        if item.fields.get("role") == "assistant":
            self._answer_the_waiting()
        self._found.append(item)

    def end(self) -> list[Item]:
        self._answer_the_waiting()
        while self._found and self._found[-1].type == REASONING:
            gone = self._found.pop()
            self._repairs.of(gone.event)(
                RepairRule.FINAL_THINKING, "thinking that nothing follows is left out"
            )
        return self._found

    def _answer_the_waiting(self) -> None:
        for place in sorted(self._waiting.values(), reverse=True):
            call = self._found[place]
            note = self._repairs.of(call.event)
            note(RepairRule.MISSING_RESULT, f"a text stands in for the result of the call {call.call_id}")
            type_ = OUTPUT_OF[call.type]
            answer = {"type": type_, "call_id": call.call_id, "output": _NO_RESULT}
            self._found.insert(place + 1, Item(event=call.event, fields=answer))
        self._waiting = {}


_encode: Final = msgspec.json.Encoder().encode
_NO_TEXT: Final = "[images of this result follow]"


def chat_messages(items: Sequence[Item], repairs: Repairs) -> list[bytes]:
    """Return the messages of paired items: results directly behind the message with their calls.

    Their images follow in a user's message. Reasoning, and items that only the Responses API knows, are left out.
    """
    outputs = {item.call_id: item for item in items if item.is_output}
    messages, calls = list[dict[str, Any]](), list[Item]()
    for item in items:
        if item.is_call:
            calls.append(item)
            continue
        if calls:
            _add_calls(messages, calls, outputs)
            calls = []
        note = repairs.of(item.event)
        if item.type == MESSAGE:
            if message := _message(item):
                messages.append(message)
            else:
                note(RepairRule.EMPTY_MESSAGE, "left out: it is empty")
        elif not item.is_output:
            rule = RepairRule.UNSIGNED_THINKING if item.type == REASONING else RepairRule.BLOCK
            note(rule, f"an item of type {item.type[:80]!r} is left out")
    return [*map(_encode, messages)]


def _message(item: Item) -> dict[str, Any] | None:
    """Return a message, None if nothing is in it."""
    content, role = _parts(item.fields.get("content")), str(item.fields.get("role", "user"))
    if not content:
        return None
    if role == "assistant":
        return {"role": role, "content": "".join(part.get("text", "") for part in content)}
    if role in ("developer", "system"):
        # The name that every server knows.
        return {"role": "system", "content": "\n\n".join(part.get("text", "") for part in content)}
    is_text = len(content) == 1 and content[0]["type"] == "text"
    return {"role": role, "content": content[0]["text"] if is_text else content}


def _add_calls(messages: list[dict[str, Any]], calls: Sequence[Item], outputs: Mapping[str, Item]) -> None:
    """Add calls to the assistant's message above, or to one of their own; then results."""
    if not messages or messages[-1]["role"] != "assistant":
        messages.append({"role": "assistant", "content": None})
    messages[-1]["tool_calls"] = [
        {
            "id": call.call_id,
            "type": "function",
            "function": {"name": _name(call), "arguments": _arguments(call)},
        }
        for call in calls
    ]
    images = list[dict[str, Any]]()
    for call in calls:
        content = _parts(outputs[call.call_id].fields.get("output"))
        found = [part for part in content if part["type"] == "image_url"]
        text = "\n".join(part["text"] for part in content if part["type"] == "text")
        messages.append(
            {"role": "tool", "tool_call_id": call.call_id, "content": text or (_NO_TEXT if found else "")}
        )
        images += found
    if images:
        messages.append({"role": "user", "content": images})


def _parts(content: Any) -> list[dict[str, Any]]:
    """Return content of any item as parts of Chat Completions."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    found = list[dict[str, Any]]()
    for part in content if isinstance(content, list) else ():
        fields = part if isinstance(part, dict) else {}
        if isinstance(text := fields.get("text", fields.get("refusal")), str):
            found.append({"type": "text", "text": text})
        elif isinstance(url := fields.get("image_url"), str):
            found.append({"type": "image_url", "image_url": {"url": url}})
    return found


def _name(call: Item) -> str:
    return str(call.fields.get("name") or call.type.removesuffix("_call"))


def _arguments(item: Item) -> str:
    arguments = item.fields.get("arguments")
    if isinstance(arguments, str):
        return arguments
    known = {"type", "id", "call_id", "name", "status", "arguments"}
    return _encode({name: value for name, value in item.fields.items() if name not in known}).decode()
