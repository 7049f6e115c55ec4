"""Map names to summarizers. To add one, write a function and a line here."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

import msgspec

from compaction.summarizers import Summarizer
from eventstore.errors import BadInputError, NotFoundError
from eventstore.log import EventLog

ENDPOINT: Final = "REFOLD_SUMMARIZER_ENDPOINT"
"""The environment variable with the address of `http`."""
_KEYS: Final = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")


class SummarizerContext(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of a summarizer: log, session, model name, address.

    "" means no particular session, and the default model and address.
    """

    log: EventLog
    session: str = ""
    model: str = ""
    endpoint: str = ""


class SummarizerKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of summarizer: its constructor, and the options and instructions that it supports.

    `endpoint` says what its address is for, "" if it takes none; the environment variable `endpoint_variable` may name
    it too.
    """

    make: Callable[[SummarizerContext], Summarizer]
    takes_model: bool = False
    endpoint: str = ""
    endpoint_variable: str = ""
    follows_instructions: bool = True


def _anthropic(choice: SummarizerContext) -> Summarizer:
    from compaction.summarizers.anthropic import DEFAULT_MODEL, AnthropicSummarizer  # noqa: PLC0415  its renderer

    summarizer = AnthropicSummarizer(model=choice.model or DEFAULT_MODEL, base_url=choice.endpoint or None)
    if not choice.endpoint and not _has_key():
        # The client also finds keys elsewhere, but takes long to load.
        summarizer.require_key()
    return summarizer


def _http(choice: SummarizerContext) -> Summarizer:
    from compaction.summarizers.http import HttpSummarizer  # noqa: PLC0415  as the others

    endpoint = endpoint_of("http", choice.endpoint)
    if not endpoint:
        raise BadInputError("summarizer 'http'", "has no address", f"give its address, or set {ENDPOINT}")
    return HttpSummarizer(endpoint)


def _extractive(choice: SummarizerContext) -> Summarizer:
    from compaction.summarizers.extractive import ExtractiveSummarizer  # noqa: PLC0415  its extractors

    del choice
    return ExtractiveSummarizer()


def _recorded(choice: SummarizerContext) -> Summarizer:
    from compaction.summarizers.recorded import RecordedSummarizer  # noqa: PLC0415  as the others

    return RecordedSummarizer(choice.log, session=choice.session)


SUMMARIZERS: Final = {
    "anthropic": SummarizerKind(
        make=_anthropic,
        takes_model=True,
        endpoint="an Anthropic-compatible server",
        endpoint_variable="ANTHROPIC_BASE_URL",
    ),
    "extractive": SummarizerKind(make=_extractive, follows_instructions=False),
    "http": SummarizerKind(make=_http, endpoint="a service of your own", endpoint_variable=ENDPOINT),
    "recorded": SummarizerKind(make=_recorded),
}


def make_summarizer(name: str, choice: SummarizerContext) -> Summarizer:
    """Return a summarizer without contacting it.

    Raises NotFoundError, BadInputError if it lacks an address, SummarizerError if it lacks a key.
    """
    if name not in SUMMARIZERS:
        raise NotFoundError("summarizer", name, f"there are: {', '.join(SUMMARIZERS)}")
    return SUMMARIZERS[name].make(choice)


def endpoint_of(name: str, given: str) -> str:
    """Return the given address, else the environment's; "" for the summarizer's own."""
    return given or os.environ.get(SUMMARIZERS[name].endpoint_variable, "")


def default_summarizer() -> str:
    """Return `anthropic` if the environment has a key, else `extractive`."""
    return "anthropic" if _has_key() else "extractive"


def _has_key() -> bool:
    return any(os.environ.get(key) for key in _KEYS)
