"""An HTTP server on this machine that does with each request what it is told: real sockets, real threads."""

from __future__ import annotations

import json
import select
import socket
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, Final, Self

import msgspec
import pytest

_LOOK_EVERY: Final = 0.01
NO_SERVER: Final = "http://127.0.0.1:1"
"""The address of a server that is not there: no system gives this port to a server that asks for any."""


def name_server(patch: pytest.MonkeyPatch, address: str) -> None:
    """Let the environment name a server to all summarizers that ask one."""
    for variable in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "REFOLD_SUMMARIZER_ENDPOINT"):
        patch.setenv(variable, address)


class Received(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it came; `is_left` is set once the client has gone before its answer ended."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    is_left: Event

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Exchange:
    """One request and the answer to it, which a reply writes."""

    def __init__(self, handler: BaseHTTPRequestHandler, request: Received, is_over: Event) -> None:
        self.request = request
        self._handler, self._is_over = handler, is_over

    def answer(self, status: int, body: bytes, kind: str = "application/json", **headers: str) -> None:
        """A whole answer; `_` in names of headers stands for `-`."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        self._head(status, {"content-type": kind, "content-length": str(len(body)), **given})
        self._handler.wfile.write(body)

    def begin(self, kind: str = "text/event-stream", status: int = 200, **headers: str) -> None:
        """An answer whose length is open; `_` in names of headers stands for `-`."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        self._head(status, {"content-type": kind, "transfer-encoding": "chunked", **given})

    def send(self, body: bytes) -> None:
        """A piece of an answer whose length is open."""
        self._handler.wfile.write(b"%x\r\n%s\r\n" % (len(body), body))
        self._handler.wfile.flush()

    def end(self) -> None:
        """The end of an answer whose length is open; without it, the answer is cut."""
        self._handler.wfile.write(b"0\r\n\r\n")

    def drip(self, send: Callable[[], None]) -> None:
        """Send again and again, a little later each time, until the client goes or the server is closed."""
        while not self._is_over.wait(_LOOK_EVERY):
            send()

    def raw(self, written: bytes) -> None:
        """Write bytes as they are, in place of an answer."""
        self._handler.wfile.write(written)
        self._handler.wfile.flush()

    def wait_until_left(self) -> None:
        """Do nothing more until the client goes, or the server is closed."""
        connection = self._handler.connection
        while not self._is_over.is_set():
            if select.select([connection], [], [], _LOOK_EVERY)[0] and not _peek(connection):
                self.request.is_left.set()
                return

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        self._handler.send_response(status)
        for name, value in {**headers, "connection": "close"}.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()


def _peek(connection: socket.socket) -> bytes:
    try:
        return connection.recv(1, socket.MSG_PEEK)
    except OSError:
        return b""


Reply = Callable[[Exchange], None]
"""Answers an exchange."""


class LocalServer:
    """Gives each request the next of its replies; the last one stands for all that follow."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.requests: list[Received] = []
        self._lock = Lock()
        self._is_over = Event()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": _LOOK_EVERY})
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """No requests from here on."""
        if not self._is_over.is_set():
            self._is_over.set()
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        serve = self._serve

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                serve(self)

            def log_message(self, format: str, *arguments: Any) -> None:
                del format, arguments

        return Handler

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers["content-length"])
        body = handler.rfile.read(length)
        if len(body) < length:
            # The client was cancelled while it sent, so there is nothing to answer.
            handler.close_connection = True
            return
        request = Received(
            path=handler.path,
            headers={name.lower(): value for name, value in handler.headers.items()},
            body=body,
            is_left=Event(),
        )
        with self._lock:
            self.requests.append(request)
            reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        try:
            reply(Exchange(handler, request, self._is_over))
        except ConnectionError:
            request.is_left.set()


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes is no error."""
        del request, client_address


def refuses(status: int, said: str = "", **headers: str) -> Reply:
    """An answer that is no success."""
    return lambda exchange: exchange.answer(status, said.encode(), "text/plain", **headers)


def answers(value: Any) -> Reply:
    """JSON."""
    return lambda exchange: exchange.answer(200, json.dumps(value).encode())


def hangs(exchange: Exchange) -> None:
    """No answer at all."""
    exchange.wait_until_left()
