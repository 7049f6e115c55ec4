"""A scripted model server on loopback: Anthropic Messages, OpenAI Responses and Chat Completions.

A scenario gives it rules. The first rule that fits a request, and has a reply left, answers it; when none is left, the
answer is "OK." Each request is kept. Usage grows with the request: a token for four bytes, times a factor.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import threading
import time
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, NamedTuple, Self

from tests.wire.replies import RENDERERS, Rendered, Reply, Usage, say

APIS: Final = {"/messages": "messages", "/responses": "responses", "/chat/completions": "chat"}
_BYTES_PER_TOKEN: Final = 4


class Request(NamedTuple):
    """A request for an answer: its number from 1, its API, and its body."""

    number: int
    api: str
    body: dict[str, Any]

    @property
    def _items(self) -> list[Any]:
        found = self.body.get("input" if self.api == "responses" else "messages") or []
        return [found] if isinstance(found, str) else found

    @property
    def messages(self) -> list[Any]:
        """The messages of the conversation, without a system prompt of any kind."""
        return [each for each in self._items if not is_prompt(each)]

    @property
    def system(self) -> list[Any]:
        """The system prompt, in whatever place the API has it."""
        placed = [self.body[name] for name in ("system", "instructions") if self.body.get(name)]
        return [*placed, *filter(is_prompt, self._items)]

    @property
    def tools(self) -> set[str]:
        """The names of the tools that it offers."""
        tools = self.body.get("tools") or ()
        return {tool.get("name") or tool.get("function", {}).get("name") or tool["type"] for tool in tools}

    @property
    def last(self) -> str:
        """The last message as JSON."""
        return json.dumps(self.messages[-1:], ensure_ascii=False)

    @property
    def text(self) -> str:
        """All messages as JSON."""
        return json.dumps(self.messages, ensure_ascii=False)


def is_prompt(message: object) -> bool:
    """Return True for a system prompt among the messages."""
    return isinstance(message, dict) and message.get("role") in ("system", "developer")


class Rule(NamedTuple):
    """Replies to the requests that a condition fits, each used once."""

    name: str
    fits: Callable[[Request], bool]
    replies: Sequence[Reply]


class Answered(NamedTuple):
    """A request, the name of the rule that answered it, and the answer's id ("" for an error)."""

    request: Request
    rule: str
    answer: str


class ModelServer:
    """The server. Use it as a context manager; it listens on loopback, by default on a port that is free."""

    def __init__(self, rules: Sequence[Rule], *, factor: float = 1, port: int = 0) -> None:
        self.answered: list[Answered] = []
        self.other_paths: list[str] = []
        self._rules = [(rule, list(rule.replies)) for rule in rules]
        self._factor = factor
        self._lock = threading.Lock()
        self._seen: set[bytes] = set()
        handler = type("Handler", (_Handler,), {"model": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self._server.daemon_threads = True
        # A program that leaves in the middle of an answer is part of some scenarios.
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, api: str, body: dict[str, Any]) -> tuple[Reply, Rendered]:
        """Choose the reply to a request, keep both, and render the reply."""
        with self._lock:
            request = Request(len(self.answered) + 1, api, body)
            fitting = ((rule.name, left) for rule, left in self._rules if left and rule.fits(request))
            name, left = next(fitting, ("", [say("OK.")]))
            reply = left.pop(0)
            usage = self._usage(request, reply)
            rendered = RENDERERS[api](request.number, str(body.get("model")), reply, usage)
            self.answered.append(Answered(request, name, "" if reply.refusal else rendered.id))
        return reply, rendered

    def _usage(self, request: Request, reply: Reply) -> Usage:
        """Count a request; what repeats the beginning of an earlier one was read from the cache."""
        digest, total, cached = hashlib.sha256(), 0, 0
        for item in (request.body.get("tools"), request.system, *request.messages):
            raw = json.dumps(without_cache_marks(item), sort_keys=True).encode()
            digest.update(raw)
            total += len(raw)
            if digest.digest() in self._seen:
                cached = total
            self._seen.add(digest.digest())
        sent, read = (int(size / _BYTES_PER_TOKEN * self._factor) for size in (total, cached))
        return Usage(sent, read, max(1, len(repr(reply.blocks)) // _BYTES_PER_TOKEN))


def without_cache_marks(value: Any) -> Any:
    """Return JSON without `cache_control`, which moves from request to request."""
    if isinstance(value, dict):
        return {name: without_cache_marks(each) for name, each in value.items() if name != "cache_control"}
    if isinstance(value, list):
        return [without_cache_marks(each) for each in value]
    return value


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: ModelServer

    def log_message(self, format: str, *args: Any) -> None:
        """Write no log."""

    def do_GET(self) -> None:
        self.model.other_paths.append(self.path)
        if self.path.partition("?")[0].endswith("/models"):
            self._send(200, {"object": "list", "data": []})
        else:
            self._send(404, {"error": {"type": "not_found_error", "message": "not here"}})

    do_HEAD = do_GET  # noqa: N815  the name that the library calls

    def do_POST(self) -> None:
        raw = self._body()
        path = self.path.partition("?")[0]
        api = next((name for end, name in APIS.items() if path.endswith(end)), "")
        if path.endswith("/count_tokens"):
            self._send(200, {"input_tokens": len(raw) // _BYTES_PER_TOKEN})
        elif not api:
            self.do_GET()
        else:
            self._answer(api, json.loads(raw))

    def _answer(self, api: str, body: dict[str, Any]) -> None:
        reply, rendered = self.model.answer(api, body)
        time.sleep(reply.delay)
        if refusal := reply.refusal:
            error = {"type": refusal.type, "message": refusal.message, "code": refusal.type}
            self._send(refusal.status, {"type": "error", "error": error}, retry_after=refusal.retry_after)
        elif not body.get("stream"):
            self._send(200, rendered.body)
        else:
            self._stream(rendered.events, reply)

    def _send(self, status: int, body: dict[str, Any], *, retry_after: int | None = None) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        if retry_after is not None:
            self.send_header("retry-after", str(retry_after))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    def _stream(self, events: Sequence[str], reply: Reply) -> None:
        half = max(1, len(events) // 2)
        self.close_connection = True
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self._write(events[:half])
        time.sleep(reply.stall)
        if not reply.is_cut:
            self._write(events[half:])
            self.wfile.write(b"0\r\n\r\n")

    def _write(self, events: Sequence[str]) -> None:
        raw = "".join(events).encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(raw), raw))
        self.wfile.flush()

    def _body(self) -> bytes:
        raw = b""
        if "chunked" in self.headers.get("transfer-encoding", ""):
            while size := int(self.rfile.readline().partition(b";")[0], 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        return gzip.decompress(raw) if self.headers.get("content-encoding") == "gzip" else raw
