"""What turns a prompt into text, and how that can fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec

from compaction.prompts import Prompt
from eventstore.errors import RefoldError
from eventstore.views import Usage


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a summarizer wrote: by which `model`, and with what `usage`, None where its provider told none.

    `is_cut`: it ended because it was as long as it might get.
    """

    text: str
    model: str
    usage: Usage | None = None
    is_cut: bool = False


class Cancellation(Protocol):
    """Says whether somebody has called off what is being done; it is asked from several threads."""

    def __call__(self) -> bool:
        """Whether to stop as soon as possible."""


class Summarizer(Protocol):
    """Turns a prompt into text; two threads may ask at once."""

    @property
    def name(self) -> str:
        """What it is called on the command line and in records."""

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        """The answer to a prompt. Raises SummarizerError, CancelledError."""


@runtime_checkable
class OfModel(Protocol):
    """What a summarizer has besides that asks one model: its name, for records."""

    @property
    def model(self) -> str:
        """The model that is asked."""


@runtime_checkable
class AtAddress(Protocol):
    """What a summarizer has besides that sends prompts to an address: that, for who waits."""

    @property
    def endpoint(self) -> str:
        """The address; what of it may be secret is not told."""


class SummarizerError(RefoldError):
    """A summarizer gave no answer.

    `is_transient`: the same request may go through later, after `retry_after` seconds where the provider said
    so. `is_too_long`: the request was refused for its length. `usage` is what it cost all the same.
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
    ) -> None:
        super().__init__(f"summarizer {summarizer}: {problem}")
        self.summarizer, self.problem = summarizer, problem
        self.is_transient, self.retry_after, self.is_too_long = is_transient, retry_after, is_too_long
        self.usage = usage


class CancelledError(RefoldError):
    """Somebody called it off; `requests` are the records of what had been asked until then."""

    def __init__(self, requests: Sequence[dict[str, Any]] = ()) -> None:
        super().__init__("cancelled")
        self.requests = list(requests)
