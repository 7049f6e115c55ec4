"""Make requests that can be cancelled, with answers of bounded size."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from threading import Lock, Thread
from typing import Any, Final, TypeVar

import httpx2

from compaction.summarizers import AnswerTooLargeError, Cancellation, CancelledError
from compaction.summarizers.refusals import find_secrets

T = TypeVar("T")
_LOOK_EVERY: Final = 0.05
"""Seconds between two checks for cancellation."""
_LAST_WORDS: Final = 1.0
"""Seconds that a cancelled request gets to end."""
_OPENED: Final = (".connect_tcp.complete", ".start_tls.complete")


class CancellableTransport:
    """Track the connections of an httpx client, to cut them while a thread waits.

    It also limits the size of answers. `summarizer` is the name of the client's owner, `hooks` are the
    client's event hooks, `secrets` the keys and passwords in its newest request. Connections are shut down,
    because closing a socket does not wake its reader.
    """

    def __init__(self, summarizer: str = "") -> None:
        self._summarizer = summarizer
        self._lock = Lock()
        self._sockets: list[socket.socket] = []
        self._is_cut = False
        self.secrets: frozenset[str] = frozenset()
        self.hooks: dict[str, list[Callable[..., Any]]] = {
            "request": [self._watch, self._remember],
            "response": [self._bound],
        }

    def cut(self) -> None:
        """End open connections and every later one."""
        with self._lock:
            self._is_cut = True
            for each in self._sockets:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    @property
    def has_connected(self) -> bool:
        """True if a connection was opened."""
        with self._lock:
            return bool(self._sockets)

    def _watch(self, request: Any) -> None:
        request.extensions = {**request.extensions, "trace": self._opened}

    def _remember(self, request: Any) -> None:
        self.secrets = find_secrets(str(request.url), request.headers)

    def _bound(self, response: Any) -> None:
        from compaction.summarizers.transport import limit_response  # noqa: PLC0415  heavy

        limit_response(response, self._summarizer)

    def _opened(self, event: str, info: dict[str, Any]) -> None:
        if not event.endswith(_OPENED):
            return
        with self._lock:
            self._sockets.append(info["return_value"].get_extra_info("socket"))
        if self._is_cut:
            self.cut()


def run_cancellable(request: Callable[[], T], *, is_cancelled: Cancellation, line: CancellableTransport) -> T:
    """Run a request; once it is cancelled, cut its connections and raise CancelledError."""
    waiting: Future[T] = Future()
    thread = Thread(target=_settle, args=(waiting, request), name="refold summarizer", daemon=True)
    thread.start()
    is_done = False
    try:
        while not (is_done := waiting.done()) and not is_cancelled():
            with contextlib.suppress(TimeoutError):
                waiting.exception(_LOOK_EVERY)
    finally:
        if not is_done:
            line.cut()
        thread.join(_LAST_WORDS)
    if not is_done:
        raise CancelledError(is_sent=line.has_connected)
    return waiting.result()


def _settle(waiting: Future[T], request: Callable[[], T]) -> None:
    try:
        waiting.set_result(request())
    except BaseException as error:  # noqa: BLE001  raised again by who waits
        waiting.set_exception(error)


MAX_RESPONSE_BYTES: Final = 16 * 1024 * 1024
"""Maximum decoded size: five times a summary of 20,000 tokens as an event stream."""


def limit_response(response: httpx2.Response, summarizer: str) -> None:
    """Make a response raise AnswerTooLargeError once more than 16 MiB of it are decoded.

    Call this before reading the response. Compressed data is decoded piece by piece.
    """
    encoded = httpx2.Response(response.status_code, headers=response.headers, stream=response.stream)
    response.stream = _Bounded(encoded, summarizer)
    response.headers.pop("content-encoding", None)


class _Bounded(httpx2.SyncByteStream):
    """The decoded bytes of a response, up to the limit."""

    def __init__(self, encoded: httpx2.Response, summarizer: str) -> None:
        self._encoded, self._summarizer = encoded, summarizer

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for piece in self._encoded.iter_bytes():
            size += len(piece)
            if size > MAX_RESPONSE_BYTES:
                raise AnswerTooLargeError(self._summarizer, MAX_RESPONSE_BYTES)
            yield piece

    def close(self) -> None:
        self._encoded.close()
