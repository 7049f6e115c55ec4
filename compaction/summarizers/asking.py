"""Asking for a summary: several summarizers in order, retries, and a reminder of what is missing."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from compaction.prompts import Prompt, reminded
from compaction.summarizers.summarizer import (
    Answer,
    Cancellation,
    CancelledError,
    Summarizer,
    SummarizerError,
)
from compaction.templates import missing_sections, stripped
from eventstore.views import Usage

RETRIES: Final = 2
"""How often a request that failed for a passing reason is sent again."""
LONGEST_WAIT: Final = 20.0
"""Seconds: where a provider asks for a longer wait, the next summarizer is asked instead."""


def never() -> bool:
    """Nobody calls it off."""
    return False


class Asker(msgspec.Struct, frozen=True, kw_only=True):
    """How summarizers are asked: which, in order; with what clock (seconds) and what patience."""

    summarizers: Sequence[Summarizer]
    is_cancelled: Cancellation = never
    seconds: Callable[[], float] = time.monotonic
    wait: Callable[[float], None] = time.sleep
    retries: int = RETRIES
    longest_wait: float = LONGEST_WAIT


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A summary, the required sections that it lacks in spite of a reminder, and a record of each request."""

    text: str
    missing: list[str]
    requests: list[dict[str, Any]]


class AskingError(SummarizerError):
    """No summarizer gave a summary; `requests` are the records of what was tried."""

    def __init__(self, last: SummarizerError, requests: list[dict[str, Any]]) -> None:
        super().__init__(last.summarizer, last.problem, is_too_long=last.is_too_long)
        self.requests = requests


def ask(prompt: Prompt, asker: Asker) -> Asked:
    """The summary that a prompt asks for.

    A summarizer that fails for a passing reason is asked again, after the wait that its provider names or a
    growing one; where that is long and there is another candidate, that one is asked. An empty answer is a
    failure. Where required sections are missing, one reminder names them; if some still are, the longer of
    the answers is taken as it is. Raises AskingError, CancelledError.
    """
    requests: list[dict[str, Any]] = []
    text = _answer(prompt, asker, requests)
    missing = missing_sections(text, prompt.template.sections)
    if missing:
        try:
            again = _answer(reminded(prompt, text, missing), asker, requests)
        except AskingError:
            again = ""
        still = missing_sections(again, prompt.template.sections)
        if again and len(still) <= len(missing):
            text, missing = again, still
    return Asked(text=text, missing=missing, requests=requests)


def _answer(prompt: Prompt, asker: Asker, requests: list[dict[str, Any]]) -> str:
    """The answer of the first summarizer that gives one, without what its template strips."""
    for place, summarizer in enumerate(asker.summarizers):
        has_next = place + 1 < len(asker.summarizers)
        for attempt in range(asker.retries + 1):
            if asker.is_cancelled():
                raise CancelledError
            begun = asker.seconds()
            try:
                answer = summarizer.summarize(prompt, is_cancelled=asker.is_cancelled)
                text = _text(answer, prompt, summarizer)
            except SummarizerError as error:
                failure = error
                requests.append(
                    _record(prompt, summarizer.name, asker.seconds() - begun, attempt, error=error)
                )
            else:
                requests.append(
                    _record(prompt, summarizer.name, asker.seconds() - begun, attempt, answer=answer)
                )
                return text
            delay = failure.retry_after if failure.retry_after is not None else float(2**attempt)
            if (
                not failure.is_transient
                or attempt == asker.retries
                or (delay > asker.longest_wait and has_next)
            ):
                break
            asker.wait(min(delay, asker.longest_wait))
        if failure.is_too_long:
            break
    raise AskingError(failure, requests)


def _text(answer: Answer, prompt: Prompt, summarizer: Summarizer) -> str:
    text = stripped(answer.text, prompt.template.strip)
    if not text:
        raise SummarizerError(summarizer.name, "the answer is empty", is_transient=True)
    return text


def _record(
    prompt: Prompt,
    summarizer: str,
    duration: float,
    attempt: int,
    *,
    answer: Answer | None = None,
    error: SummarizerError | None = None,
) -> dict[str, Any]:
    """What is kept of a request; the prompt itself can be made again from the log, and is told by its digest."""
    template = prompt.template
    record: dict[str, Any] = {
        "summarizer": summarizer,
        "template": template.name,
        "templateVersion": template.version,
        "templateDigest": template.digest,
        "promptDigest": prompt.digest,
        "attempt": attempt + 1,
        "durationMs": round(duration * 1000),
    }
    if answer is not None:
        record |= {"model": answer.model, "answer": answer.text}
        record |= {"usage": _usage(answer.usage)} if answer.usage else {}
    if error is not None:
        record["error"] = error.problem
    return record


def _usage(usage: Usage) -> dict[str, int]:
    return {
        "input": usage.input,
        "output": usage.output,
        "cacheRead": usage.cache_read,
        "cacheWrite": usage.cache_write,
    }
