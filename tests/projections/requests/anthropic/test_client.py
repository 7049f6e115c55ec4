"""The API's own client as a second opinion: it takes the body and sends what the body says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import anthropic
import pytest
from anthropic.types import MessageParam
from hypothesis import given
from pydantic import TypeAdapter

from projections.requests.anthropic import render
from tests.support.contexts import body_of, context_of
from tests.support.pictures import base64, png
from tests.support.talk import assistant, call, image, result, shell, thinking, user
from tests.support.wild_talk import any_talk

TALK = [
    {"role": "compactionSummary", "summary": "all of it"},
    user([{"type": "text", "text": "look \ud83d"}, image(base64(png()))]),
    assistant(
        thinking("hm", thinkingSignature="seal"), call("read", "a|b", path="é.py", n=1.5), call("ls", "c2")
    ),
    result("found", image(base64(png())), call_id="a|b", tool="read"),
    shell("make", "done"),
    assistant(thinking("", thinkingSignature="encrypted", redacted=True), "So. "),
    assistant(call("ls", "c2"), stop="aborted"),
]
OPTIONS = {
    "model": "claude-fable",
    "system": "Be brief.",
    "tools": b'[{"name":"read","input_schema":{"type":"object"}}]',
    "cache_breakpoints": 4,
}
MESSAGES = TypeAdapter(list[MessageParam])
ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-fable",
    "content": [{"type": "text", "text": "hi"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}


@contextmanager
def messages_api() -> Iterator[tuple[str, list[bytes]]]:
    """The address of a server on this machine that answers any request, and the bodies that it has got."""
    got: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(self.rfile.read(int(self.headers["content-length"])))
            answer = json.dumps(ANSWER).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", got
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.slow
@pytest.mark.parametrize("talk", [TALK, TALK[:2], TALK[:6]])
def test_the_client_sends_what_the_body_says(talk, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_OPEN_TELEMETRY", "false")
    body = render(context_of(*talk), **OPTIONS).body
    with (
        messages_api() as (address, got),
        anthropic.Anthropic(base_url=address, api_key="x", max_retries=0) as client,
    ):
        assert client.messages.create(**json.loads(body)).content[0].text == "hi"
    assert [json.loads(each) for each in got] == [json.loads(body)]


def test_the_messages_are_of_the_clients_types():
    messages = body_of(render(context_of(*TALK), **OPTIONS))["messages"]
    assert consumed(MESSAGES.validate_python(messages)) == messages


@given(said=any_talk)
def test_whatever_was_said_is_of_the_clients_types(said):
    messages = body_of(render(context_of(*said)))["messages"]
    assert consumed(MESSAGES.validate_python(messages)) == messages


def consumed(value):
    """A value of the client's types; what it checks only when it is asked for is asked for."""
    if isinstance(value, dict):
        return {name: consumed(each) for name, each in value.items()}
    return value if isinstance(value, str | int | float | bool | None) else [consumed(each) for each in value]
