"""A server on this machine that speaks Anthropic's Messages API, streams, and misbehaves as it is told."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tests.support.local_http import Exchange, LocalServer, Received, Reply

MODEL: Final = "claude-test-1"
_USAGE: Final = {"input_tokens": 90, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 2}
_OUTPUT: Final = 5
_PIECE: Final = 9
_HEADING: Final = re.compile(r"^## (.+)$", re.MULTILINE)

Text = str | Callable[[Received], str]


class MessagesApi(LocalServer):
    """Answers with every section that is asked for, unless it has other replies."""

    def __init__(self, *replies: Reply) -> None:
        super().__init__(*(replies or [says(complete)]))

    @property
    def asked(self) -> list[str]:
        """The text that each request ended with."""
        return [asked(request) for request in self.requests]


def asked(request: Received) -> str:
    """The text that a request ends with."""
    return str(request.json["messages"][-1]["content"][-1]["text"])


def complete(request: Received) -> str:
    """An answer with every section that is asked for, and nothing that depends on when."""
    headings = dict.fromkeys(_HEADING.findall(asked(request)))
    return "\n\n".join(f"## {heading}\nall of it" for heading in headings) or "All is well."


def says(text: Text, *, stop: str = "end_turn", usage: Mapping[str, int] | None = None) -> Reply:
    """A whole answer, in pieces; `usage` in the API's own names."""

    def reply(exchange: Exchange) -> None:
        exchange.begin()
        for event in (*_begun(usage), *_told(_text(text, exchange)), *_ended(stop, usage)):
            exchange.send(event)
        exchange.end()

    return reply


def thinks(thought: str, text: str) -> Reply:
    """An answer after a thought."""

    def reply(exchange: Exchange) -> None:
        exchange.begin()
        for event in (*_begun(), *_thought(thought), *_told(text, index=1), *_ended("end_turn")):
            exchange.send(event)
        exchange.end()

    return reply


def calls_tool(exchange: Exchange) -> None:
    """A call of a tool, and no text."""
    block = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": '{"command":"ls"}'}
    exchange.begin()
    for event in (*_begun(), *_block(0, block, [delta]), *_ended("tool_use")):
        exchange.send(event)
    exchange.end()


def answers_by_tool(given: object) -> Reply:
    """Return a call of the tool by which answers with a schema are given."""
    block = {"type": "tool_use", "id": "toolu_1", "name": "answer", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": json.dumps(given)}

    def reply(exchange: Exchange) -> None:
        exchange.begin()
        for event in (*_begun(), *_block(0, block, [delta]), *_ended("tool_use")):
            exchange.send(event)
        exchange.end()

    return reply


def streams(*events: Any) -> Reply:
    """Any events, as they are given, each an object with its type."""

    def reply(exchange: Exchange) -> None:
        exchange.begin()
        for event in events:
            exchange.send(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        exchange.end()

    return reply


def breaks_off(text: str) -> Reply:
    """An answer whose connection ends in the middle."""

    def reply(exchange: Exchange) -> None:
        exchange.begin()
        for event in (*_begun(), *_told(text)):
            exchange.send(event)

    return reply


def stops_short(text: str) -> Reply:
    """An answer that ends as HTTP should, without the events that end a message."""

    def reply(exchange: Exchange) -> None:
        breaks_off(text)(exchange)
        exchange.end()

    return reply


def fails_within(text: str, kind: str, message: str) -> Reply:
    """An answer in the middle of which an error comes."""

    def reply(exchange: Exchange) -> None:
        breaks_off(text)(exchange)
        exchange.send(_event("error", error={"type": kind, "message": message}))
        exchange.end()

    return reply


def stalls(text: str) -> Reply:
    """An answer that does not go on after its beginning."""

    def reply(exchange: Exchange) -> None:
        breaks_off(text)(exchange)
        exchange.wait_until_left()

    return reply


def errs(status: int, message: str, kind: str = "api_error", **headers: str) -> Reply:
    """A refusal in the API's shape."""
    body = {"type": "error", "error": {"type": kind, "message": message}}
    return lambda exchange: exchange.answer(status, json.dumps(body).encode(), **headers)


def _text(text: Text, exchange: Exchange) -> str:
    return text if isinstance(text, str) else text(exchange.request)


def _begun(usage: Mapping[str, int] | None = None) -> Iterator[bytes]:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**(_USAGE if usage is None else usage), "output_tokens": 1},
    }
    yield _event("message_start", message=message)
    yield _event("ping")


def _told(text: str, index: int = 0) -> Iterator[bytes]:
    pieces = [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    yield from _block(index, {"type": "text", "text": ""}, deltas)


def _thought(thought: str) -> Iterator[bytes]:
    block = {"type": "thinking", "thinking": "", "signature": ""}
    yield from _block(0, block, [{"type": "thinking_delta", "thinking": thought}])


def _block(index: int, block: dict[str, Any], deltas: list[dict[str, Any]]) -> Iterator[bytes]:
    yield _event("content_block_start", index=index, content_block=block)
    for delta in deltas:
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _ended(stop: str, usage: Mapping[str, int] | None = None) -> Iterator[bytes]:
    delta = {"stop_reason": stop, "stop_sequence": None}
    yield _event(
        "message_delta", delta=delta, usage={"output_tokens": (usage or {}).get("output_tokens", _OUTPUT)}
    )
    yield _event("message_stop")


def _event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()
