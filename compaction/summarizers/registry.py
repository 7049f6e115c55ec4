"""Map names, also those of models, to summarizers.

To add a summarizer, write a function and a line here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import msgspec

from compaction.summarizers import Summarizer
from eventstore.errors import BadInputError, NotFoundError
from eventstore.log import EventLog

if TYPE_CHECKING:
    from compaction.summarizers.command import CommandSummarizer

ANTHROPIC: Final = "anthropic"
"""The summarizer that asks models by their names alone."""
COMMAND_VARIABLE: Final = "REFOLD_SUMMARIZER_COMMAND"
_KEYS: Final = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
_MODEL: Final = re.compile(r"[^\s,]*[-.:/\d][^\s,]*")
"""The form of a model's name; no name of a summarizer has it, even if it is misspelt."""


class SummarizerContext(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of a summarizer; "" means no particular session, or the default model."""

    log: EventLog
    session: str = ""
    model: str = ""


class SummarizerKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of summarizer.

    `asks_models`: it asks the model that is named. `follows_instructions`: those in the prompt. The
    environment variable `endpoint_variable` has its address, "" if it takes none.
    """

    make: Callable[[SummarizerContext], Summarizer]
    endpoint_variable: str = ""
    asks_models: bool = False
    follows_instructions: bool = True


def _anthropic(choice: SummarizerContext) -> Summarizer:
    from compaction.summarizers.anthropic import DEFAULT_MODEL, AnthropicSummarizer  # noqa: PLC0415  its renderer

    summarizer = AnthropicSummarizer(model=choice.model or DEFAULT_MODEL)
    if not endpoint_of(ANTHROPIC) and not _has_key():
        # The client also finds keys elsewhere, but takes long to load.
        summarizer.require_key()
    return summarizer


def _openai(choice: SummarizerContext) -> Summarizer:
    from compaction.summarizers.openai import OpenAISummarizer  # noqa: PLC0415  its renderer

    return OpenAISummarizer(model=choice.model, base_url=endpoint_of("openai"))


def _http(choice: SummarizerContext) -> Summarizer:
    from compaction.summarizers.http import HttpSummarizer  # noqa: PLC0415  as the others

    del choice
    endpoint = endpoint_of("http")
    if not endpoint:
        variable = SUMMARIZERS["http"].endpoint_variable
        raise BadInputError("summarizer 'http'", "has no address", f"set {variable}")
    return HttpSummarizer(endpoint)


def _command(choice: SummarizerContext | None = None) -> CommandSummarizer:
    from compaction.summarizers.command import CommandSummarizer  # noqa: PLC0415  as the others

    del choice
    command = os.environ.get(COMMAND_VARIABLE, "")
    if not command:
        raise BadInputError("summarizer 'command'", "has no command", f"set {COMMAND_VARIABLE}")
    keeps = os.environ.get("REFOLD_SUMMARIZER_KEEPS", "")
    return CommandSummarizer(command, environment=os.environ, keeps=keeps)


def _extractive(choice: SummarizerContext) -> Summarizer:
    from compaction.summarizers.extractive import ExtractiveSummarizer  # noqa: PLC0415  its extractors

    del choice
    return ExtractiveSummarizer()


def _recorded(choice: SummarizerContext) -> Summarizer:
    from compaction.summarizers.recorded import RecordedSummarizer  # noqa: PLC0415  as the others

    return RecordedSummarizer(choice.log, session=choice.session)


SUMMARIZERS: Final = {
    ANTHROPIC: SummarizerKind(make=_anthropic, endpoint_variable="ANTHROPIC_BASE_URL", asks_models=True),
    "command": SummarizerKind(make=_command),
    "extractive": SummarizerKind(make=_extractive, follows_instructions=False),
    "http": SummarizerKind(make=_http, endpoint_variable="REFOLD_SUMMARIZER_ENDPOINT"),
    "openai": SummarizerKind(make=_openai, endpoint_variable="OPENAI_BASE_URL", asks_models=True),
    "recorded": SummarizerKind(make=_recorded),
}


def summarizer_named(given: str) -> tuple[str, str]:
    """Return the summarizer and the model ("" for none) that a name stands for.

    `anthropic` asks every model but `openai:MODEL`. Raises NotFoundError for other words: a misspelt `extractive`
    must not send anything.
    """
    name, _, model = given.partition(":")
    if given in SUMMARIZERS or (model and name in SUMMARIZERS and SUMMARIZERS[name].asks_models):
        return name, model
    if not _MODEL.fullmatch(given):
        known = ", ".join(SUMMARIZERS)
        raise NotFoundError(
            "summarizer",
            given,
            f"choose from: {known}; or a model such as claude-haiku-4-5, or openai:gpt-5-mini",
        )
    return ANTHROPIC, given


def make_summarizer(name: str, choice: SummarizerContext) -> Summarizer:
    """Return a summarizer without contacting it.

    Raises NotFoundError, BadInputError if its address is missing or wrong, SummarizerError if it lacks a key.
    """
    if name not in SUMMARIZERS:
        raise NotFoundError("summarizer", name, f"there are: {', '.join(SUMMARIZERS)}")
    return SUMMARIZERS[name].make(choice)


def endpoint_of(name: str) -> str:
    """Return the address that the environment gives a summarizer, "" for its own.

    Raises BadInputError for a malformed address, and does not quote it: it may hold a password.
    """
    variable = SUMMARIZERS[name].endpoint_variable
    address = os.environ.get(variable, "")
    try:
        parts = urlsplit(address)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if address and not is_address:
        raise BadInputError(variable, "is not an address", "give one with http:// or https://")
    return address


def own_model(name: str) -> str:
    """Return the model of a summarizer's answers if none is named, "" for one that does not say.

    Raises BadInputError for `command` without a command.
    """
    if name == "command":
        return _command().model
    if name == ANTHROPIC:
        from compaction.summarizers.anthropic import DEFAULT_MODEL  # noqa: PLC0415  its renderer

        return DEFAULT_MODEL
    return ""


def default_summarizer() -> str:
    """Return `anthropic` if the environment has a key, else `extractive`."""
    return ANTHROPIC if _has_key() else "extractive"


def _has_key() -> bool:
    return any(os.environ.get(key) for key in _KEYS)
