"""Summarize with a model behind Anthropic's Messages API or a compatible server."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from compaction.prompts import Prompt
from compaction.summarizers import Answer, Cancellation, SummarizerError
from compaction.summarizers.bodies import body_to_send, context_of
from compaction.summarizers.refusals import (
    TOO_LARGE,
    connection_problem,
    has_connected,
    is_context_overflow,
    is_transient,
    mask_secrets,
    seconds_to_wait,
    single_line_message,
    strip_credentials,
)
from compaction.summarizers.transport import CONNECTING, CancellableTransport, redirected, run_cancellable
from eventstore.event import epoch_milliseconds
from eventstore.javascript import stringify
from eventstore.views import Message, Thinking, Usage
from projections.context.parts import Part, view_of_part
from projections.requests.anthropic import render
from projections.requests.rendered import Rendered
from projections.usage import CACHE_LIFETIME

if TYPE_CHECKING:
    import anthropic


ANSWER: Final = "answer"
"""The tool by whose call a model answers a prompt with a schema."""
DEFAULT_MODEL: Final = "claude-haiku-4-5"
_KEYS: Final = frozenset({"authorization", "x-api-key"})
_NOT_FOUND: Final = 404
_UNAUTHORIZED: Final = (401, 403)
_NO_KEY: Final = "no-key-is-given"
_PASSING: Final = frozenset({"api_error", "overloaded_error", "rate_limit_error", "timeout_error"})
"""Names of transient API errors, as they appear in the middle of an answer."""


class AnthropicSummarizer:
    """Ask an Anthropic model through the official client.

    Base URL and key come from the environment (`ANTHROPIC_BASE_URL`, `ANTHROPIC_API_KEY`) unless given; with a base
    URL, a key is optional. Requests that the API would refuse are not sent. Answers are streamed, so that long ones do
    not time out. The client's own retries are off, so that each failure is recorded. `timeout` is in seconds, for each
    wait. A live prefix that the provider may still cache is marked for reading from there; `now` returns
    epoch milliseconds. Redirects are not followed, because the key would be sent along. Keys are masked in
    errors.
    """

    name = "anthropic"

    def __init__(
        self,
        *,
        model: str = DEFAULT_MODEL,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 600.0,
        now: Callable[[], int] = epoch_milliseconds,
    ) -> None:
        self.model, self._base_url, self._api_key, self._timeout = model, base_url, api_key, timeout
        self._now = now

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        """Return the model's answer. Raises SummarizerError, CancelledError."""
        is_cached = may_be_cached(prompt, model=self.model, now=self._now())
        body = body_to_send(self.name, lambda: messages_request(prompt, self.model, is_cached=is_cached))
        line = CancellableTransport(self.name)
        try:
            with self._client(line) as client:
                answer = run_cancellable(
                    lambda: self._stream(client, body, line), is_cancelled=is_cancelled, line=line
                )
            return self._read(answer)
        except SummarizerError as error:
            error.hide(line.secrets)
            raise

    def require_key(self) -> None:
        """Raise SummarizerError if the key or a usable address is missing."""
        self._client(CancellableTransport(self.name)).close()

    @property
    def _where(self) -> str:
        """The origin of the server's address, for errors."""
        return "ANTHROPIC_BASE_URL" if self._base_url is None else "the server's address"

    def _client(self, line: CancellableTransport) -> anthropic.Anthropic:
        """Return a client that has a key. Raises SummarizerError."""
        import anthropic  # noqa: PLC0415  heavy
        import httpx2  # noqa: PLC0415  heavy

        try:
            client = anthropic.Anthropic(
                base_url=self._base_url,
                api_key=self._api_key,
                max_retries=0,
                timeout=httpx2.Timeout(self._timeout, connect=min(self._timeout, CONNECTING)),
                http_client=anthropic.DefaultHttpxClient(event_hooks=line.hooks, follow_redirects=False),
            )
        except (httpx2.InvalidURL, ValueError):
            # The error may quote a part of the password as the port.
            raise self._failed(f"{self._where} is not an address with http:// or https://") from None
        except anthropic.AnthropicError as error:
            raise self._failed(single_line_message(str(error))) from None
        if client.credentials is None and not _KEYS & {name.lower() for name in client.default_headers}:
            if self._base_url is None and not os.environ.get("ANTHROPIC_BASE_URL"):
                raise self._failed("no key is configured: set ANTHROPIC_API_KEY")
            # A private server may need no key, but the client must send one.
            return client.with_options(api_key=_NO_KEY)
        return client

    def _stream(
        self, client: anthropic.Anthropic, body: bytes, line: CancellableTransport
    ) -> anthropic.types.Message | None:
        """Return the answer as far as it came, None if none began. Raises SummarizerError."""
        import anthropic  # noqa: PLC0415  heavy
        import httpx2  # noqa: PLC0415  heavy
        from anthropic.types import Message, RawMessageStreamEvent  # noqa: PLC0415  heavy

        try:
            # `messages.stream` encodes dictionaries; the prefix must be sent as it was rendered.
            events = client.post(
                "/v1/messages",
                content=body,
                cast_to=Message,
                stream=True,
                stream_cls=anthropic.Stream[RawMessageStreamEvent],
            )
            with anthropic.MessageStream(events, output_format=anthropic.NOT_GIVEN) as stream:
                has_begun = any(event.type == "message_start" for event in stream)
                return stream.get_final_message() if has_begun else None
        except anthropic.APIStatusError as error:
            raise self._refused(error, line.secrets) from None
        except anthropic.APIConnectionError as error:
            raise self._unconnected(client, error.__cause__ or error) from None
        except (AttributeError, IndexError, TypeError):
            # The client assembles an answer without validating its shape.
            return None
        except (httpx2.HTTPError, anthropic.AnthropicError, ValueError) as error:
            # Transport errors: the client does not wrap them once an answer has begun.
            raise self._failed(
                f"the answer broke off ({connection_problem(error)})", is_transient=True
            ) from None

    def _read(self, answer: anthropic.types.Message | None) -> Answer:
        """Return an answer with text or a regular end. Raises SummarizerError."""
        if answer is None:
            raise self._failed(f"the answer is not an event stream of the Messages API; check {self._where}")
        called = [block for block in answer.content if block.type == "tool_use" and block.name == ANSWER]
        said = (block.text for block in answer.content if block.type == "text")
        text = stringify(called[0].input) if called else "".join(said)
        usage = _usage(answer.usage)
        if not answer.stop_reason:
            raise self._failed("the answer broke off", is_transient=True, usage=usage)
        if answer.stop_reason == "refusal":
            raise self._failed("the model refused to answer", usage=usage)
        if not text.strip() and any(block.type in _CALLS for block in answer.content):
            problem = "the model called a tool instead of answering"
            raise self._failed(problem, is_transient=True, usage=usage)
        is_cut = answer.stop_reason in _CUT
        return Answer(text=text, model=answer.model or self.model, usage=usage, is_cut=is_cut)

    def _refused(self, error: anthropic.APIStatusError, secrets: Iterable[str]) -> SummarizerError:
        """Return the error that the API sent instead of an answer or within one.

        Within an answer, the HTTP status is one of success.
        """
        if error.response.has_redirect_location:
            return redirected(self.name, str(error.request.url), error.response.headers["location"])
        message = mask_secrets(error.api_message or error.message, secrets)
        status = error.status_code if error.response.is_error else error.type
        return self._failed(
            f"{status}: {single_line_message(message)}{self._advice(error)}",
            is_transient=_is_passing(error),
            retry_after=seconds_to_wait(error.response.headers),
            is_too_long=error.status_code == TOO_LARGE or is_context_overflow(message),
        )

    def _advice(self, error: anthropic.APIStatusError) -> str:
        """Return advice on an error, "" for none."""
        if error.status_code in _UNAUTHORIZED:
            return "; check ANTHROPIC_API_KEY"
        if error.status_code == _NOT_FOUND:
            return "; name another model" if error.type else f"; check {self._where}"
        return ""

    def _unconnected(self, client: anthropic.Anthropic, error: BaseException) -> SummarizerError:
        import httpx2  # noqa: PLC0415  heavy

        if isinstance(error, httpx2.LocalProtocolError):
            # The error quotes the header, which may contain the key.
            return self._failed(
                "the key has characters that are not allowed in a header; set ANTHROPIC_API_KEY"
            )
        is_transient = not isinstance(error, httpx2.UnsupportedProtocol)
        return self._failed(
            f"{strip_credentials(str(client.base_url))}: {connection_problem(error)}",
            is_transient=is_transient,
            is_sent=has_connected(error),
        )

    def _failed(self, problem: str, **more: Any) -> SummarizerError:
        return SummarizerError(self.name, " ".join(problem.split()), **more)


def _is_passing(error: anthropic.APIStatusError) -> bool:
    if error.response.is_success:
        return error.type in _PASSING
    return is_transient(error.status_code, error.response.headers)


def messages_request(prompt: Prompt, model: str, *, is_cached: bool = False) -> Rendered:
    """Return the request to send: the prefix if any, then the prompt's text as a user message.

    A live prefix starts with the same bytes as the context's own rendering. `is_cached` means that the
    provider should read it from its cache; it contains no cache marks of its own. A prompt with a schema is answered
    by a call of a tool that has it. Raises BadInputError unless tools are a JSON list of objects.
    """
    return render(
        context_of(prompt),
        model=model,
        max_tokens=prompt.max_tokens,
        system=prompt.system,
        tools=_answering(prompt.schema) if prompt.schema else prompt.tools or None,
        forbids_tools=prompt.forbids_tools,
        calls=ANSWER if prompt.schema else "",
        caches_messages=is_cached,
        streams=True,
    )


def _answering(schema: bytes) -> bytes:
    """Return the definition of the only tool of a prompt whose answer has a schema."""
    fields = b'"name":"%s","description":"Give the answer.","strict":true' % ANSWER.encode()
    return b'[{%s,"input_schema":%s}]' % (fields, schema)


_CUT: Final = ("max_tokens", "model_context_window_exceeded")
_CALLS: Final = ("tool_use", "server_tool_use")
_COUNTS: Final = {
    "input_tokens": "input",
    "output_tokens": "output",
    "cache_read_input_tokens": "cache_read",
    "cache_creation_input_tokens": "cache_write",
}


def _usage(usage: anthropic.types.Usage) -> Usage:
    """Return the API's token counts; compatible servers may omit some."""
    counts = {ours: getattr(usage, theirs, None) or 0 for theirs, ours in _COUNTS.items()}
    return Usage(**counts, total=sum(counts.values()))


def may_be_cached(prompt: Prompt, *, model: str, now: int) -> bool:
    """Return True if Anthropic's cache may still hold the beginning of a prompt to `model`.

    The cache holds messages up to the newest answer, for the model that wrote it, for five minutes, after the
    harness's own system prompt and tools. Another model, other tools, another tool choice or a change of
    thinking misses it; then a cache mark would only raise the price. `now` is in epoch milliseconds.
    """
    if not prompt.is_live or not prompt.tools or prompt.forbids_tools:
        return False
    newest_first = ((part, view_of_part(part)) for part in reversed(prompt.prefix))
    newest = next(((part, message) for part, message in newest_first if message.role == "assistant"), None)
    if newest is None:
        return False
    part, answer = newest
    age = now - _time(part)
    return answer.model == model and not _is_thought_out(answer) and 0 <= age < CACHE_LIFETIME


def _is_thought_out(answer: Message) -> bool:
    return any(isinstance(block, Thinking) for block in answer.blocks)


class _Timed(msgspec.Struct):
    timestamp: float = 0


def _time(part: Part) -> float:
    """Return a message's own time in epoch milliseconds, 0 if it has none."""
    try:
        return msgspec.json.decode(part.raw, type=_Timed).timestamp
    except (msgspec.DecodeError, UnicodeDecodeError):
        return 0
