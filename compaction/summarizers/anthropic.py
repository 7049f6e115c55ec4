"""Summaries by a model behind Anthropic's Messages API, or any server that speaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from compaction.prompts import Prompt
from compaction.summarizers.cancellable import Line, cancellable
from compaction.summarizers.masking import masked
from compaction.summarizers.messages_request import body_to_send
from compaction.summarizers.messages_stream import Streamed, read
from compaction.summarizers.prompt_cache import may_be_cached
from compaction.summarizers.refusal import (
    TOO_LARGE,
    is_passing,
    of_connection,
    one_line,
    seconds_to_wait,
    without_secrets,
)
from compaction.summarizers.summarizer import Answer, Cancellation, RedirectError, SummarizerError
from compaction.summarizers.too_long import says_too_long
from eventstore.event import epoch_milliseconds

if TYPE_CHECKING:
    import anthropic

DEFAULT_MODEL: Final = "claude-haiku-4-5"
_CONNECTING: Final = 10.0
"""Seconds."""
_KEYS: Final = frozenset({"authorization", "x-api-key"})
_NOT_FOUND: Final = 404
_UNAUTHORIZED: Final = (401, 403)
_NO_KEY: Final = "no-key-is-given"
_PASSING: Final = frozenset({"api_error", "overloaded_error", "rate_limit_error", "timeout_error"})
"""Errors by the API's names for them, as they come in the middle of an answer."""


class AnthropicSummarizer:
    """Asks a model of Anthropic's, by the official client.

    Base URL and key come from the usual environment (`ANTHROPIC_BASE_URL`, `ANTHROPIC_API_KEY`) unless they
    are given. A request that the API would refuse is not sent. Answers are streamed, so that long ones do not
    run into a timeout; the client's own retries are off, for failures are to be recorded one by one. `timeout`
    is in seconds, for each wait. A live prefix that the provider may have in its cache is read there; `now`
    gives epoch milliseconds. Redirects are not followed, for the key would go along; keys are masked in errors.
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
        """The model's answer. Raises SummarizerError, CancelledError."""
        is_cached = may_be_cached(prompt, model=self.model, now=self._now())
        body = body_to_send(prompt, self.model, summarizer=self.name, is_cached=is_cached)
        line = Line(self.name)
        try:
            with self._client(line) as client:
                answer = cancellable(
                    lambda: self._asked(client, body, line), is_cancelled=is_cancelled, line=line
                )
            return self._read(answer)
        except SummarizerError as error:
            error.hide(line.secrets)
            raise

    def require_key(self) -> None:
        """Raise SummarizerError where there is no key, or no usable address, to send a request with."""
        self._client(Line(self.name)).close()

    @property
    def _where(self) -> str:
        """Where the address of the server comes from."""
        return "ANTHROPIC_BASE_URL" if self._base_url is None else "the server's address"

    def _client(self, line: Line) -> anthropic.Anthropic:
        """A client that has a key. Raises SummarizerError."""
        import anthropic  # noqa: PLC0415  heavy
        import httpx2  # noqa: PLC0415  heavy

        try:
            client = anthropic.Anthropic(
                base_url=self._base_url,
                api_key=self._api_key,
                max_retries=0,
                timeout=httpx2.Timeout(self._timeout, connect=min(self._timeout, _CONNECTING)),
                http_client=anthropic.DefaultHttpxClient(event_hooks=line.hooks, follow_redirects=False),
            )
        except (httpx2.InvalidURL, ValueError):
            # The error may quote a part of a password as the port.
            raise self._failed(f"{self._where} is no address with http:// or https://") from None
        except anthropic.AnthropicError as error:
            raise self._failed(one_line(str(error))) from None
        if client.credentials is None and not _KEYS & {name.lower() for name in client.default_headers}:
            if self._base_url is None:
                raise self._failed("no key is configured: set ANTHROPIC_API_KEY")
            # A server of one's own may want none, but the client has to send something.
            return client.with_options(api_key=_NO_KEY)
        return client

    def _asked(self, client: anthropic.Anthropic, body: bytes, line: Line) -> Streamed:
        """What came of a request. Raises SummarizerError."""
        import anthropic  # noqa: PLC0415  heavy
        import httpx2  # noqa: PLC0415  heavy
        from anthropic.types import Message, RawMessageStreamEvent  # noqa: PLC0415  heavy

        try:
            with client.post(
                "/v1/messages",
                content=body,
                cast_to=Message,
                stream=True,
                stream_cls=anthropic.Stream[RawMessageStreamEvent],
            ) as events:
                return read(events)
        except anthropic.APIStatusError as error:
            raise self._refused(error, line.secrets) from None
        except anthropic.APIConnectionError as error:
            raise self._unconnected(client, error.__cause__ or error) from None
        except (httpx2.HTTPError, anthropic.AnthropicError, ValueError) as error:
            # The transport's own errors: the client passes on what happens once an answer has begun.
            raise self._failed(f"the answer broke off ({of_connection(error)})", is_transient=True) from None

    def _read(self, answer: Streamed) -> Answer:
        """An answer that says something, or ended as it should. Raises SummarizerError."""
        if not answer.model:
            raise self._failed(
                f"what came back is no answer of the Messages API, which is streamed; check {self._where}"
            )
        if not answer.stop_reason:
            raise self._failed("the answer broke off", is_transient=True, usage=answer.usage)
        if answer.stop_reason == "refusal":
            raise self._failed("the model refuses to answer", usage=answer.usage)
        if answer.calls_tool and not answer.text.strip():
            problem = "the model called a tool in place of an answer"
            raise self._failed(problem, is_transient=True, usage=answer.usage)
        return Answer(
            text=answer.text, model=answer.model or self.model, usage=answer.usage, is_cut=answer.is_cut
        )

    def _refused(self, error: anthropic.APIStatusError, secrets: Iterable[str]) -> SummarizerError:
        """What the API says in place of an answer, or in the middle of one, which then has the status of a success."""
        if error.response.has_redirect_location:
            moved = without_secrets(error.response.headers["location"])
            return RedirectError(self.name, without_secrets(str(error.request.url)), moved)
        said = masked(error.api_message or error.message, secrets)
        status = error.status_code if error.response.is_error else error.type
        return self._failed(
            f"{status}: {one_line(said)}{self._advice(error)}",
            is_transient=_is_passing(error),
            retry_after=seconds_to_wait(error.response.headers),
            is_too_long=error.status_code == TOO_LARGE or says_too_long(said),
        )

    def _advice(self, error: anthropic.APIStatusError) -> str:
        """What may help, "" where nothing in particular does."""
        if error.status_code in _UNAUTHORIZED:
            return "; check ANTHROPIC_API_KEY"
        if error.status_code == _NOT_FOUND:
            return "; name another model (--model)" if error.type else f"; check {self._where}"
        return ""

    def _unconnected(self, client: anthropic.Anthropic, error: BaseException) -> SummarizerError:
        import httpx2  # noqa: PLC0415  heavy

        if isinstance(error, httpx2.LocalProtocolError):
            # Its text quotes the header, which may be the key.
            return self._failed("the key has characters in it that no header can hold; set ANTHROPIC_API_KEY")
        is_transient = not isinstance(error, httpx2.UnsupportedProtocol)
        return self._failed(
            f"{without_secrets(str(client.base_url))}: {of_connection(error)}", is_transient=is_transient
        )

    def _failed(self, problem: str, **more: Any) -> SummarizerError:
        return SummarizerError(self.name, " ".join(problem.split()), **more)


def _is_passing(error: anthropic.APIStatusError) -> bool:
    if error.response.is_success:
        return error.type in _PASSING
    return is_passing(error.status_code, error.response.headers)
