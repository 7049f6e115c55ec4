"""Define the protocol of summarizers, which turn a prompt into a summary, and their errors.

To add one, write a module with its class, a line in the registry, tests and docs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

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
    """Turn a prompt into text; two threads may call it at once.

    It may also have `model`, the name of the model that it asks, which goes into records; `endpoint`, the address that
    it sends prompts to; `is_local`: True, if it sends them nowhere, so that no secret needs a mask; and `identity`:
    everything except the prompt and the code that decides its answers, if these are always the same.
    """

    @property
    def name(self) -> str:
        """The summarizer's name on the command line and in records."""

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        """Return the answer to a prompt. Raises SummarizerError, CancelledError."""


def model_of(summarizer: Summarizer) -> str:
    """Return the name of the model that a summarizer asks, "" if it names none."""
    return str(getattr(summarizer, "model", None) or "")


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


class CancelledError(RefoldError):
    """The operation was cancelled; `requests` are the records of requests until then.

    `is_sent` is False only if certainly nothing reached a provider.
    """

    def __init__(self, requests: Sequence[dict[str, Any]] = (), *, is_sent: bool = True) -> None:
        super().__init__("cancelled")
        self.requests, self.is_sent = list(requests), is_sent
