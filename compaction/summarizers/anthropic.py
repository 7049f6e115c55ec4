"""Summaries by a model behind Anthropic's Messages API, or any server that speaks it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from compaction.prompts import Prompt
from compaction.summarizers.cancellable import cancellable
from compaction.summarizers.summarizer import Answer, Cancellation, SummarizerError
from eventstore.javascript import stringify
from eventstore.views import Usage
from projections.context import Context, Fate, Part
from projections.renderers.anthropic import render
from projections.settings import Settings

if TYPE_CHECKING:
    import anthropic

DEFAULT_MODEL: Final = "claude-haiku-4-5"
_TOO_LONG: Final = ("prompt is too long", "context window", "exceed context limit", "input is too long")
_OVERLOADED: Final = 529
_PASSING: Final = frozenset({408, 409, 429, 500, 502, 503, 504, _OVERLOADED})


class AnthropicSummarizer:
    """Asks a model of Anthropic's, by the official client.

    Base URL and key come from the usual environment (`ANTHROPIC_BASE_URL`, `ANTHROPIC_API_KEY`) unless they
    are given. Answers are streamed, so that long ones do not run into a timeout; the client's own retries are
    off, for failures are to be recorded one by one. `timeout` is in seconds, for each wait.
    """

    name = "anthropic"

    def __init__(
        self,
        *,
        model: str = DEFAULT_MODEL,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 600.0,
    ) -> None:
        self.model, self._base_url, self._api_key, self._timeout = model, base_url, api_key, timeout

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        """The model's answer. Raises SummarizerError, CancelledError."""
        import anthropic  # noqa: PLC0415  heavy

        body = request_body(prompt, self.model)
        try:
            client = anthropic.Anthropic(
                base_url=self._base_url, api_key=self._api_key, max_retries=0, timeout=self._timeout
            )
        except anthropic.AnthropicError as error:
            raise SummarizerError(self.name, _line(error)) from None
        try:
            return cancellable(
                lambda: self._asked(client, body), is_cancelled=is_cancelled, close=client.close
            )
        finally:
            client.close()

    def _asked(self, client: anthropic.Anthropic, body: dict[str, Any]) -> Answer:
        import anthropic  # noqa: PLC0415  heavy

        try:
            with client.messages.stream(**body) as stream:
                message = stream.get_final_message()
        except anthropic.APIStatusError as error:
            raise self._refused(error) from None
        except anthropic.APIConnectionError as error:
            raise SummarizerError(self.name, _line(error.__cause__ or error), is_transient=True) from None
        except anthropic.AnthropicError as error:
            raise SummarizerError(self.name, _line(error)) from None
        except Exception as error:  # noqa: BLE001  whatever the transport raises
            # What a stream that breaks off raises is the transport's: the client passes it on.
            raise SummarizerError(
                self.name, f"the answer broke off ({_line(error)})", is_transient=True
            ) from None
        text = "".join(block.text for block in message.content if block.type == "text")
        if not text.strip() and any(block.type == "tool_use" for block in message.content):
            raise SummarizerError(
                self.name, "the model called a tool in place of an answer", is_transient=True
            )
        if message.stop_reason is None:
            raise SummarizerError(self.name, "the answer broke off", is_transient=True)
        return Answer(text=text, model=message.model, usage=_usage(message.usage))

    def _refused(self, error: anthropic.APIStatusError) -> SummarizerError:
        said = _line(error)
        return SummarizerError(
            self.name,
            f"{error.status_code}: {said}",
            is_transient=error.status_code in _PASSING or "overloaded" in said.lower(),
            retry_after=_seconds(error.response.headers.get("retry-after")),
            is_too_long=error.status_code == 413 or any(text in said.lower() for text in _TOO_LONG),  # noqa: PLR2004
        )


def request_body(prompt: Prompt, model: str) -> dict[str, Any]:
    """A prompt as the fields of a request; its text is the last user's message, behind the prefix if there is one."""
    asked = stringify({"role": "user", "content": prompt.text}).encode()
    last = Part(
        seq=0, id="prompt", kind="message", role="user", fate=Fate.INJECTED, raw=asked, utf16=0, utf8=0
    )
    context = Context(
        session="", leaf=None, as_of=0, rules="pi", parts=(*prompt.prefix, last), settings=Settings()
    )
    rendered = render(context, model=model, max_tokens=prompt.max_tokens, system=prompt.system)
    body = msgspec.json.decode(rendered.body)
    assert isinstance(body, dict)  # noqa: S101  a request is an object
    return body


def _usage(usage: Any) -> Usage:
    read, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    total = usage.input_tokens + usage.output_tokens + read + written
    return Usage(
        input=usage.input_tokens,
        output=usage.output_tokens,
        cache_read=read,
        cache_write=written,
        total=total,
    )


def _line(error: BaseException) -> str:
    said = getattr(error, "body", None)
    if isinstance(said, dict) and isinstance(said.get("error"), dict):
        return str(said["error"].get("message", error))
    return " ".join(str(error).split()) or type(error).__name__


def _seconds(header: str | None) -> float | None:
    try:
        return None if header is None else max(float(header), 0.0)
    except ValueError:
        return None
