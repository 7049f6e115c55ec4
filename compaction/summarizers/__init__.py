"""Summarizers: the protocol of what turns a prompt into a summary, and how that can fail.

To add one: a module with its class, a line in the registry, its tests, its docs.
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
    """An answer of a summarizer, the `model` that wrote it, and its `usage`, None if its provider told none.

    `is_cut`: it ended because it was as long as it might get.
    """

    text: str
    model: str
    usage: Usage | None = None
    is_cut: bool = False


class Cancellation(Protocol):
    """Says whether somebody has called off what is being done; it is asked from several threads."""

    def __call__(self) -> bool:
        """Return True to stop as soon as possible."""


class Summarizer(Protocol):
    """Turns a prompt into text; two threads may ask at once."""

    @property
    def name(self) -> str:
        """Its name on the command line and in records."""

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        """Return the answer to a prompt. Raises SummarizerError, CancelledError."""


@runtime_checkable
class HasModel(Protocol):
    """A summarizer that asks one model, whose name goes into records."""

    @property
    def model(self) -> str:
        """The model that is asked."""


@runtime_checkable
class HasEndpoint(Protocol):
    """A summarizer that sends prompts to an address, which is shown to who waits."""

    @property
    def endpoint(self) -> str:
        """The address; what of it may be secret is not told."""


class SummarizerError(RefoldError):
    """A summarizer gave no answer.

    `is_transient`: the same request may go through later, after `retry_after` seconds where the provider said
    so. `is_too_long`: the request was refused for its length. `usage` is what it cost all the same. What looks like
    a key or a token is masked, for errors are printed and kept in the log.
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
        self.summarizer, self.problem = summarizer, problem
        self.hide(())
        self.is_transient, self.retry_after, self.is_too_long = is_transient, retry_after, is_too_long
        self.usage = usage

    def hide(self, secrets: Iterable[str]) -> None:
        """Mask these secrets in its text, too."""
        self.problem = mask_secrets(self.problem, secrets)
        self.args = (f"summarizer {self.summarizer}: {self.problem}",)


class DeadlineError(SummarizerError):
    """No answer came before the deadline: a summary with all its requests may take so many `seconds`."""

    def __init__(self, summarizer: str, seconds: float) -> None:
        super().__init__(summarizer, f"no answer in time; a summary may take {seconds:g} s, retries included")
        self.seconds = seconds


class UnsupportedTemplateError(SummarizerError):
    """A summarizer without a model can fill none of the `sections` of a template; another template may do."""

    def __init__(self, summarizer: str, template: str, sections: Sequence[str]) -> None:
        problem = f"it can fill none of the sections of template {template!r}"
        super().__init__(summarizer, f"{problem} ({', '.join(sections) or 'it has none'})")
        self.template, self.sections = template, tuple(sections)


class AnswerTooLargeError(SummarizerError):
    """An answer had more than `most` bytes; no more was read."""

    def __init__(self, summarizer: str, most: int) -> None:
        super().__init__(summarizer, f"the answer has more than {most:,} bytes; check the address")
        self.most = most


class RedirectError(SummarizerError):
    """The server at `address` names another, `location`; nothing was sent there."""

    def __init__(self, summarizer: str, address: str, location: str) -> None:
        super().__init__(summarizer, f"{address} redirects to {location}; use that address")
        self.address, self.location = address, location


class CancelledError(RefoldError):
    """Somebody called it off; `requests` are the records of what had been asked until then."""

    def __init__(self, requests: Sequence[dict[str, Any]] = ()) -> None:
        super().__init__("cancelled")
        self.requests = list(requests)


__all__ = ["Answer", "Cancellation", "CancelledError", "Summarizer", "SummarizerError"]
