"""Asking for a summary: several summarizers in order, retries, and a reminder of what is missing."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import count
from typing import Any, Final, Protocol

import msgspec

from compaction.prompts import Prompt, with_reminder
from compaction.summarizers import (
    Answer,
    Cancellation,
    CancelledError,
    DeadlineError,
    HasEndpoint,
    HasModel,
    Summarizer,
    SummarizerError,
)
from compaction.summarizers.refusals import strip_credentials
from compaction.templates import missing_sections, strip_tag
from eventstore.errors import RefoldError
from eventstore.javascript import well_formed
from eventstore.records import Attempt
from eventstore.views import Usage
from eventstore.writing import SessionWriter


class ProgressListener(Protocol):
    """Receives progress of requests, from several threads at once."""

    def waiting_for(self, whom: str) -> AbstractContextManager[object]:
        """Return a block for the time of a request to a summarizer, named with its model."""

    def note(self, what: str) -> None:
        """Report a request that failed, and the next step."""


class NullListener:
    """A listener that ignores everything."""

    def waiting_for(self, whom: str) -> AbstractContextManager[object]:
        """Return a no-op context manager."""
        del whom
        return nullcontext()

    def note(self, what: str) -> None:
        """Nothing."""


def request_record(
    requests: Sequence[dict[str, Any]], *, missing: Sequence[str] = (), left_out: Sequence[str] = ()
) -> dict[str, Any]:
    """Every request, the model that answered last, and what they used together; {} where nobody was asked.

    `missing` are sections that the summary lacks, `left_out` ids of messages that were too long for any prompt.
    """
    if not requests:
        return {}
    usage = [request["usage"] for request in requests if "usage" in request]
    answered = [request for request in requests if "answer" in request and "model" in request]
    record: dict[str, Any] = {"requests": list(requests)}
    record |= {"model": answered[-1]["model"]} if answered else {}
    record |= {"usage": {name: sum(each[name] for each in usage) for name in usage[0]}} if usage else {}
    record |= {"missingSections": list(missing)} if missing else {}
    return record | ({"leftOut": list(left_out)} if left_out else {})


@contextmanager
def recording_failed_attempt(
    writer: SessionWriter, reason: str, policy: str = "", *, answered: Sequence[dict[str, Any]] = ()
) -> Iterator[None]:
    """Append an `attempt` if the body raises because a request failed or was cancelled, then re-raise.

    It has the attempt's id from there on. `reason` is what it was asked for, `policy` by which policy, "" for none.
    `answered` are the records of requests that went through before: what they cost is told, and what they brought.
    """
    try:
        yield
    except RefoldError as error:
        by_policy = {"policy": policy} if policy else {}
        requests = [*answered, *getattr(error, "requests", [])]
        request = {"reason": reason, **by_policy, "requests": requests}
        (error.attempt,) = writer.append(Attempt(request=request, error=str(error)))
        raise


def attempt_ids(error: RefoldError) -> list[str]:
    """Return the id of the attempt that was put down of an error, [] for none."""
    return [error.attempt] if error.attempt else []


RETRIES: Final = 2
"""The number of retries of a request that failed for a passing reason."""
LONG_WAIT: Final = 20.0
"""Seconds: where a provider asks for a longer wait, the next summarizer is asked instead."""
MAX_WAIT: Final = 120.0
"""Seconds: what has to wait longer has failed, also where there is no other to ask."""
DEADLINE: Final = 900.0
"""Seconds that a summary may take in all: requests, waits, other summarizers and the reminder."""
_LOOK_EVERY: Final = 0.1
"""Seconds between two looks whether a wait was called off."""


def never() -> bool:
    """Return False: nobody calls it off."""
    return False


class SummarizerChain(msgspec.Struct, frozen=True, kw_only=True):
    """Name the summarizers to ask, in order, the clock (seconds) and the patience to do so with, and who looks on.

    `deadline` is the number of seconds that a summary may take, by the clock; then nobody is asked or waited for any
    more. `end` is the time by the clock at which that is so for several prompts together.
    """

    summarizers: Sequence[Summarizer]
    is_cancelled: Cancellation = never
    seconds: Callable[[], float] = time.monotonic
    wait: Callable[[float], None] = time.sleep
    retries: int = RETRIES
    deadline: float = DEADLINE
    end: float = math.inf
    listener: ProgressListener = NullListener()

    def end_from_now(self) -> float:
        """Return the time by the clock at which what begins now has to end."""
        return min(self.end, self.seconds() + self.deadline)

    def summarize(self, prompt: Prompt) -> SummaryReply:
        """Ask the summarizers in order for the summary of a prompt.

        Retry a transient failure after the wait that the provider asks for, else after a growing one. If that wait is
        long and another summarizer remains, go on to it. An empty answer is a failure. If required sections are
        missing, or the answer was cut off for its length, send one reminder and keep the more complete answer. All of
        this ends at the deadline, or at `end` if that comes first. Each summarizer gets an equal share of the time
        left. Raises SummarizersFailedError, CancelledError.
        """
        sections = prompt.template.sections
        requests: list[dict[str, Any]] = []
        end = self.end_from_now()
        answer = _answer(prompt, self, requests, end=end)
        missing = missing_sections(answer.text, sections)
        if missing or answer.is_cut:
            again = _reminded(prompt, answer, missing, self, requests, end=end)
            still = missing_sections(again.text, sections)
            if (len(still), again.is_cut) <= (len(missing), answer.is_cut):
                answer, missing = again, still
        return SummaryReply(text=answer.text, missing=missing, requests=requests)


class SummaryReply(msgspec.Struct, frozen=True, kw_only=True):
    """A summary, the sections that it lacks in spite of a reminder, and a record of each request."""

    text: str
    missing: list[str]
    requests: list[dict[str, Any]]


class SummarizersFailedError(SummarizerError):
    """No summarizer gave a summary.

    `failures` are the last of each, in order, `requests` the records of all that was tried. It is too long if
    it was so for any of them.
    """

    def __init__(self, failures: Sequence[SummarizerError], requests: list[dict[str, Any]]) -> None:
        last = failures[-1]
        before = "".join(f"; before it {each}" for each in failures[:-1])
        is_too_long = any(each.is_too_long for each in failures)
        super().__init__(last.summarizer, last.problem + before, is_too_long=is_too_long)
        self.failures, self.requests = tuple(failures), requests


def _reminded(
    prompt: Prompt,
    draft: Answer,
    missing: Sequence[str],
    chain: SummarizerChain,
    requests: list[dict[str, Any]],
    *,
    end: float,
) -> Answer:
    """Return the answer after a reminder, the draft where that failed."""
    try:
        return _answer(
            with_reminder(prompt, draft.text, missing, is_cut=draft.is_cut), chain, requests, end=end
        )
    except SummarizersFailedError:
        return draft


def _answer(prompt: Prompt, chain: SummarizerChain, requests: list[dict[str, Any]], *, end: float) -> Answer:
    """Return the answer of the first summarizer that gives one before `end`, without what its template strips."""
    failures: list[SummarizerError] = []
    for place, summarizer in enumerate(chain.summarizers):
        has_next = place + 1 < len(chain.summarizers)
        begun = chain.seconds()
        until = begun + (end - begun) / (len(chain.summarizers) - place)
        for attempt in count(1):
            said = _attempt(prompt, summarizer, chain, attempt, requests, until=until)
            if isinstance(said, Answer):
                return said
            delay = said.retry_after if said.retry_after is not None else 2.0 ** (attempt - 1)
            longest = LONG_WAIT if has_next else MAX_WAIT
            is_too_late = delay > longest or chain.seconds() + delay >= until
            if not said.is_transient or attempt > chain.retries or is_too_late:
                failures.append(said)
                break
            again = f"asked again for {prompt.template.name} in {delay:.3g} s ({attempt} of {chain.retries})"
            chain.listener.note(f"{said}; {again}")
            _wait(delay, chain, requests)
        if has_next:
            chain.listener.note(f"{failures[-1]}; the next one is asked for {prompt.template.name}")
    raise SummarizersFailedError(
        failures or [SummarizerError("none", "there is no summarizer to ask")], requests
    )


def _attempt(
    prompt: Prompt,
    summarizer: Summarizer,
    chain: SummarizerChain,
    attempt: int,
    requests: list[dict[str, Any]],
    *,
    until: float,
) -> Answer | SummarizerError:
    """Make one request: return its answer or its failure, either recorded; past `until` nothing is sent."""
    if chain.is_cancelled():
        raise CancelledError(requests)
    if chain.seconds() >= until:
        return DeadlineError(summarizer.name, chain.deadline)
    record = _record(prompt, summarizer, attempt)
    requests.append(record)
    begun = chain.seconds()
    try:
        with chain.listener.waiting_for(_whom(summarizer)):
            answer = summarizer.summarize(
                prompt, is_cancelled=lambda: chain.is_cancelled() or chain.seconds() >= until
            )
    except SummarizerError as error:
        return _failed(record, error)
    except CancelledError:
        if chain.seconds() >= until and not chain.is_cancelled():
            return _failed(record, DeadlineError(summarizer.name, chain.deadline))
        record["error"] = "cancelled"
        raise CancelledError(requests) from None
    finally:
        record["durationMs"] = round((chain.seconds() - begun) * 1000)
    if not isinstance(answer, Answer) or not isinstance(answer.text, str):
        # Summarizers are also a caller's own objects, which no type checker may have seen.
        problem = f"it returned a value of type {type(answer).__name__}, not an Answer with a text"
        return _failed(record, SummarizerError(summarizer.name, problem))
    answer = msgspec.structs.replace(answer, text=well_formed(answer.text))
    text = strip_tag(answer.text, prompt.template.strip)
    if not text:
        problem = "the answer is empty"
        empty = SummarizerError(summarizer.name, problem, is_transient=True, usage=answer.usage)
        return _failed(record, empty)
    record |= {"model": answer.model, "answer": answer.text, **_used(answer.usage)}
    record |= {"isCut": True} if answer.is_cut else {}
    return msgspec.structs.replace(answer, text=text)


def _failed(record: dict[str, Any], error: SummarizerError) -> SummarizerError:
    record |= {"error": error.problem, **_used(error.usage)}
    return error


def _wait(delay: float, chain: SummarizerChain, requests: list[dict[str, Any]]) -> None:
    """Wait before the next attempt; where somebody may call it off, with an eye on that."""
    if chain.is_cancelled is never:
        chain.wait(delay)
        return
    while delay > 0 and not chain.is_cancelled():
        chain.wait(min(delay, _LOOK_EVERY))
        delay -= _LOOK_EVERY
    if chain.is_cancelled():
        raise CancelledError(requests)


def _record(prompt: Prompt, summarizer: Summarizer, attempt: int) -> dict[str, Any]:
    """Return what is kept of a request; the prompt itself can be made again from the log, and is told by its digest."""
    template = prompt.template
    return {
        "summarizer": summarizer.name,
        **_model(summarizer),
        "template": template.name,
        "templateVersion": template.version,
        "templateDigest": template.digest,
        "promptDigest": prompt.digest,
        "attempt": attempt,
        **({"isReminder": True} if prompt.is_reminder else {}),
    }


def _used(usage: Usage | None) -> dict[str, Any]:
    if usage is None:
        return {}
    counts = {
        "input": usage.input,
        "output": usage.output,
        "cacheRead": usage.cache_read,
        "cacheWrite": usage.cache_write,
    }
    return {"usage": counts}


def _whom(summarizer: Summarizer) -> str:
    """Return a summarizer by its name, and its model or address if it has one."""
    address = summarizer.endpoint if isinstance(summarizer, HasEndpoint) else ""
    return " ".join([summarizer.name, *_model(summarizer).values(), strip_credentials(address)]).rstrip()


def _model(summarizer: Summarizer) -> dict[str, Any]:
    """Return the model that is asked, of a summarizer that says so: a request that fails has been to it, too."""
    return {"model": summarizer.model} if isinstance(summarizer, HasModel) else {}
