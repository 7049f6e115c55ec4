"""Define the protocol of summarizers, which turn a prompt into a summary, and their errors.

To add one, write a module with its class, a line in the registry, tests and docs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec

from compaction.prompts import Prompt
from compaction.summarizers.refusals import mask_secrets
from eventstore.errors import RefoldError
from eventstore.views import Usage


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer of a summarizer, the `model` that wrote it, and its `usage`, None if unknown.

    `is_cut` means that the answer ended at the length limit.
    """

    text: str
    model: str
    usage: Usage | None = None
    is_cut: bool = False


class Cancellation(Protocol):
    """A function that tells if the operation was cancelled; called from several threads."""

    def __call__(self) -> bool:
        """Return True to stop as soon as possible."""


class Summarizer(Protocol):
    """Turn a prompt into text; two threads may call it at once."""

    @property
    def name(self) -> str:
        """The summarizer's name on the command line and in records."""

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        """Return the answer to a prompt. Raises SummarizerError, CancelledError."""


@runtime_checkable
class HasModel(Protocol):
    """A summarizer that asks one model, whose name goes into records."""

    @property
    def model(self) -> str:
        """The name of the model."""


@runtime_checkable
class HasIdentity(Protocol):
    """A summarizer whose answer to a prompt is always the same, while its identity is."""

    @property
    def identity(self) -> tuple[object, ...]:
        """Everything except the prompt and the code that decides its answers."""


@runtime_checkable
class HasEndpoint(Protocol):
    """A summarizer that sends prompts to an address, which is shown while waiting."""

    @property
    def endpoint(self) -> str:
        """The address; credentials in it are never shown."""


@runtime_checkable
class IsLocal(Protocol):
    """A summarizer that sends prompts nowhere, so that no secret needs a mask."""

    @property
    def is_local(self) -> bool:
        """True."""


class SummarizerError(RefoldError):
    """A summarizer gave no answer.

    `is_transient` means that the same request may succeed later, after `retry_after` seconds if the provider
    said so. `is_too_long` means that the request was refused for its length. `usage` is its cost all the
    same. `is_sent` is False only if certainly nothing reached the provider, so that it cost nothing. Keys and tokens
    are masked, because errors are printed and logged.
    """

    def __init__(
        self,
        summarizer: str,
        problem: str,
        *,
        is_transient: bool = False,
        retry_after: float | None = None,
        is_too_long: bool = False,
        usage: Usage | None = None,
        is_sent: bool = True,
    ) -> None:
        self.summarizer, self.problem = summarizer, problem
        self.hide(())
        self.is_transient, self.retry_after, self.is_too_long = is_transient, retry_after, is_too_long
        self.usage, self.is_sent = usage, is_sent

    def hide(self, secrets: Iterable[str]) -> None:
        """Mask these secrets in the error's text too."""
        self.problem = mask_secrets(self.problem, secrets)
        self.args = (f"summarizer {self.summarizer}: {self.problem}",)


class DeadlineError(SummarizerError):
    """No answer came before the deadline of `seconds` for a summary with all its requests."""

    def __init__(self, summarizer: str, seconds: float) -> None:
        super().__init__(summarizer, f"no answer in time; a summary may take {seconds:g} s, retries included")
        self.seconds = seconds


class AnswerTooLargeError(SummarizerError):
    """An answer exceeded `most` bytes; the rest was not read."""

    def __init__(self, summarizer: str, most: int) -> None:
        super().__init__(summarizer, f"the answer has more than {most:,} bytes; check the address")
        self.most = most


class RedirectError(SummarizerError):
    """The server at `address` redirected to `location`; nothing was sent there."""

    def __init__(self, summarizer: str, address: str, location: str) -> None:
        super().__init__(summarizer, f"{address} redirects to {location}; use that address")
        self.address, self.location = address, location


class CancelledError(RefoldError):
    """The operation was cancelled; `requests` are the records of requests until then.

    `is_sent` is False only if certainly nothing reached a provider.
    """

    def __init__(self, requests: Sequence[dict[str, Any]] = (), *, is_sent: bool = True) -> None:
        super().__init__("cancelled")
        self.requests, self.is_sent = list(requests), is_sent


__all__ = ["Answer", "Cancellation", "CancelledError", "Summarizer", "SummarizerError"]
