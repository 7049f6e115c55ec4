"""Make requests that can be cancelled, with answers of bounded size."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from threading import Lock, Thread
from typing import Any, Final, TypeVar

import httpx2

from compaction.summarizers import Cancellation, CancelledError, SummarizerError
from compaction.summarizers.refusals import (
    TOO_LARGE,
    connection_problem,
    error_message,
    find_secrets,
    has_connected,
    is_context_overflow,
    is_transient,
    mask_secrets,
    seconds_to_wait,
    single_line_message,
    strip_credentials,
)

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


CONNECTING: Final = 10.0
"""Timeout of a connection attempt in seconds."""


class JsonService:
    """An address that takes JSON in POST requests.

    Redirects are not followed, because the key would go along. `name` is its summarizer's, `timeout` is in seconds,
    for each wait. `advice` is added to an error by its status.
    """

    def __init__(
        self,
        name: str,
        address: str,
        *,
        timeout: float,
        key: str = "",
        advice: Mapping[int, str] | None = None,
    ) -> None:
        self._name, self._address, self._timeout, self._advice = name, address, timeout, advice or {}
        self._headers = {"content-type": "application/json"} | (
            {"authorization": f"Bearer {key}"} if key else {}
        )

    def post(self, body: bytes, *, is_cancelled: Cancellation, read: Callable[[bytes], T]) -> T:
        """Return what `read` makes of the answer to a body.

        Raises SummarizerError, in which keys are masked, CancelledError.
        """
        line = CancellableTransport(self._name)
        timeout = httpx2.Timeout(self._timeout, connect=min(self._timeout, CONNECTING))
        try:
            with httpx2.Client(timeout=timeout, event_hooks=line.hooks, follow_redirects=False) as client:
                response = run_cancellable(
                    lambda: self._send(client, body), is_cancelled=is_cancelled, line=line
                )
            if not response.is_success:
                raise self._refused(response, line.secrets)
            return read(response.content)
        except SummarizerError as error:
            error.hide(line.secrets | find_secrets(self._address, self._headers))
            raise

    def failed(self, problem: str, **more: Any) -> SummarizerError:
        """Return an error that names the address; `more` are the arguments of SummarizerError."""
        return SummarizerError(
            self._name, f"{strip_credentials(self._address)}: {' '.join(problem.split())}", **more
        )

    def _send(self, client: httpx2.Client, body: bytes) -> httpx2.Response:
        try:
            return client.post(self._address, content=body, headers=self._headers)
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
            # If a password ends the host too early, the error quotes a part of it as the port.
            problem = "it is not an address" if "@" in self._address else str(error)
            problem = f"{problem}; give an address with http:// or https://"
            raise self.failed(problem, is_sent=False) from None
        except httpx2.HTTPError as error:
            is_passing = isinstance(error, httpx2.TransportError)
            raise self.failed(
                connection_problem(error), is_transient=is_passing, is_sent=has_connected(error)
            ) from None

    def _refused(self, response: httpx2.Response, secrets: Iterable[str]) -> SummarizerError:
        status = response.status_code
        if response.has_redirect_location:
            return redirected(self._name, self._address, response.headers["location"])
        reply = mask_secrets(response.text, secrets)
        said = single_line_message(error_message(reply))
        return self.failed(
            f"answered {status}" + (f": {said}" if said else "") + self._advice.get(status, ""),
            is_transient=is_transient(status, response.headers),
            retry_after=seconds_to_wait(response.headers),
            is_too_long=status == TOO_LARGE or is_context_overflow(reply),
        )


def redirected(summarizer: str, address: str, location: str) -> SummarizerError:
    """Return the error about a server that redirects; nothing was sent there."""
    problem = f"{strip_credentials(address)} redirects to {strip_credentials(location)}; use that address"
    return SummarizerError(summarizer, problem)


MAX_RESPONSE_BYTES: Final = 16 * 1024 * 1024
"""Maximum decoded size: five times a summary of 20,000 tokens as an event stream."""


def limit_response(response: httpx2.Response, summarizer: str) -> None:
    """Make a response raise SummarizerError once more than 16 MiB of it are decoded.

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
                problem = f"the answer has more than {MAX_RESPONSE_BYTES:,} bytes; check the address"
                raise SummarizerError(self._summarizer, problem)
            yield piece

    def close(self) -> None:
        self._encoded.close()
