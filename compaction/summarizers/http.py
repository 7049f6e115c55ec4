"""Summarize with the user's own HTTP service."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from compaction.prompts import Prompt, serialize, wrap_in_tag
from compaction.summarizers import Answer, Cancellation, RedirectError, SummarizerError
from compaction.summarizers.refusals import (
    TOO_LARGE,
    connection_problem,
    find_secrets,
    has_connected,
    is_context_overflow,
    is_transient,
    mask_secrets,
    seconds_to_wait,
    single_line_message,
    strip_credentials,
)
from compaction.summarizers.transport import CancellableTransport, run_cancellable
from eventstore.javascript import stringify, tolerant_json

if TYPE_CHECKING:
    import httpx2

_CONNECTING: Final = 10.0
"""Timeout of a connection attempt in seconds."""


class HttpSummarizer:
    """POST `{"systemPrompt", "prompt"}` to an address; read `summary` from the JSON answer.

    This is oh-my-pi's `remoteEndpoint`. A live prefix is serialized into the prompt. `timeout` is in seconds,
    for each wait. Redirects are not followed; keys in the address are masked in errors.
    """

    name = "http"

    def __init__(self, endpoint: str, *, timeout: float = 600.0) -> None:
        self.endpoint, self._timeout = endpoint, timeout

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        """Return the service's answer. Raises SummarizerError, CancelledError."""
        import httpx2  # noqa: PLC0415  heavy

        line = CancellableTransport(self.name)
        timeout = httpx2.Timeout(self._timeout, connect=min(self._timeout, _CONNECTING))
        try:
            with httpx2.Client(timeout=timeout, event_hooks=line.hooks, follow_redirects=False) as client:
                response = run_cancellable(
                    lambda: self._post(client, prompt), is_cancelled=is_cancelled, line=line
                )
            return self._read(response, line.secrets)
        except SummarizerError as error:
            error.hide(line.secrets | find_secrets(self.endpoint, {}))
            raise

    def _post(self, client: httpx2.Client, prompt: Prompt) -> httpx2.Response:
        import httpx2  # noqa: PLC0415  heavy

        sent = stringify({"systemPrompt": prompt.system, "prompt": text_of_prompt(prompt)}).encode()
        try:
            return client.post(self.endpoint, content=sent, headers={"content-type": "application/json"})
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
            # If a password ends the host too early, the error quotes a part of it as the port.
            problem = "it is not an address" if "@" in self.endpoint else str(error)
            problem = f"{problem}; give an address with http:// or https://"
            raise self._failed(problem, is_sent=False) from None
        except httpx2.HTTPError as error:
            is_transient = isinstance(error, httpx2.TransportError)
            raise self._failed(
                connection_problem(error), is_transient=is_transient, is_sent=has_connected(error)
            ) from None

    def _read(self, response: httpx2.Response, secrets: Iterable[str]) -> Answer:
        if response.has_redirect_location:
            moved = strip_credentials(response.headers["location"])
            raise RedirectError(self.name, strip_credentials(self.endpoint), moved)
        if not response.is_success:
            reply = mask_secrets(response.text, secrets)
            raise self._failed(
                f"answered {response.status_code}"
                + (f": {single_line_message(reply)}" if reply.strip() else ""),
                is_transient=is_transient(response.status_code, response.headers),
                retry_after=seconds_to_wait(response.headers),
                is_too_long=response.status_code == TOO_LARGE or is_context_overflow(reply),
            )
        try:
            response.content.decode()
            answered = tolerant_json(response.content)
        except UnicodeDecodeError:
            raise self._failed('did not return JSON with a text "summary": it is not UTF-8') from None
        except msgspec.DecodeError:
            answered = None
        summary = answered.get("summary") if isinstance(answered, dict) else None
        if not isinstance(summary, str):
            raise self._failed('did not return JSON with a text "summary"')
        return Answer(text=summary, model=self.name)

    def _failed(self, problem: str, **more: Any) -> SummarizerError:
        return SummarizerError(
            self.name, f"{strip_credentials(self.endpoint)}: {' '.join(problem.split())}", **more
        )


def text_of_prompt(prompt: Prompt) -> str:
    """Return a whole prompt as one text."""
    if not prompt.prefix:
        return prompt.text
    return f"{wrap_in_tag('conversation', serialize(prompt.prefix))}\n\n{prompt.text}"
