"""Summaries by a service of one's own."""

from __future__ import annotations

from typing import Any, Final

from compaction.prompts import Prompt
from compaction.prompts.serialized import in_tag, serialized
from compaction.summarizers.cancellable import cancellable
from compaction.summarizers.summarizer import Answer, Cancellation, SummarizerError
from eventstore.formats import view_of_message

_PASSING: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_TOO_LONG: Final = 413


class HttpSummarizer:
    """POSTs `{"systemPrompt", "prompt"}` to an address, and takes `summary` out of the JSON that comes back.

    That is oh-my-pi's `remoteEndpoint`. A live prefix goes into the prompt as text. `timeout` is in seconds.
    """

    name = "http"

    def __init__(self, endpoint: str, *, timeout: float = 600.0) -> None:
        self.endpoint, self._timeout = endpoint, timeout

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        """The service's answer. Raises SummarizerError, CancelledError."""
        import httpx2  # noqa: PLC0415  heavy

        text = prompt.text
        if prompt.prefix:
            conversation = serialized(view_of_message(part.raw) for part in prompt.prefix)
            text = f"{in_tag('conversation', conversation)}\n\n{text}"
        client = httpx2.Client(timeout=self._timeout)
        sent = {"systemPrompt": prompt.system, "prompt": text}
        try:
            response = cancellable(
                lambda: client.post(self.endpoint, json=sent), is_cancelled=is_cancelled, close=client.close
            )
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            problem = " ".join(str(error).split()) or type(error).__name__
            is_transient = isinstance(error, httpx2.TransportError)
            raise SummarizerError(
                self.name, f"{self.endpoint}: {problem}", is_transient=is_transient
            ) from None
        finally:
            client.close()
        return self._read(response)

    def _read(self, response: Any) -> Answer:
        if not response.is_success:
            raise SummarizerError(
                self.name,
                f"{self.endpoint} answered {response.status_code}",
                is_transient=response.status_code in _PASSING,
                is_too_long=response.status_code == _TOO_LONG,
            )
        try:
            summary = response.json()["summary"]
        except (ValueError, KeyError, TypeError):
            summary = None
        if not isinstance(summary, str):
            raise SummarizerError(self.name, f"{self.endpoint} gave no JSON with a text `summary`")
        return Answer(text=summary, model=self.name)
