"""Render a context as a request to OpenAI's Responses API, or as Chat Completions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from eventstore.errors import BadInputError
from projections.context.parts import Context
from projections.requests.anthropic.blocks import encode_text, is_blank
from projections.requests.anthropic.contents import Author
from projections.requests.anthropic.repairs import RepairRule, Repairs
from projections.requests.openai.chat import chat_messages
from projections.requests.openai.items import items_of, model_of
from projections.requests.openai.pairing import paired
from projections.requests.rendered import Rendered, Violation

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
    repairs, author = Repairs([]), _author(context, model)
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
) -> Rendered:
    """Return the body of the Chat Completions request that a model is sent at a context's leaf.

    It is made of the items of `render_responses`; reasoning, which this API takes from nobody, is left out.
    """
    repairs, author = Repairs([]), _author(context, model)
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
    if max_tokens is not None:
        body.append(b'"max_completion_tokens":%d' % max_tokens)
    return Rendered(
        body=b"{%s}" % b",".join(body),
        repairs=tuple(repairs.made),
        violations=tuple(_violations(author, messages, "messages")),
    )


def _author(context: Context, model: str | None) -> Author:
    """Return the model that the request goes to."""
    used = model_of(context)
    return used if model in (None, used.model) else Author(_PROVIDER, model or "")


def _encoded(text: str) -> bytes:
    return encode_text(text, _unnoted)


def _unnoted(rule: RepairRule, action: str) -> None:
    """Make no note of a repair outside the context, such as in the system prompt."""


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
