"""Ask several summarizers in order, with retries and a reminder of missing sections."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import count
from typing import Any, Final, Protocol

import msgspec

from compaction.prompts import Prompt, mask_secrets, with_reminder
from compaction.summarizers import (
    Answer,
    Cancellation,
    CancelledError,
    Summarizer,
    SummarizerError,
    model_of,
)
from compaction.summarizers.refusals import strip_credentials
from compaction.templates import missing_sections
from eventstore.errors import RefoldError
from eventstore.javascript import well_formed
from eventstore.records import Attempt
from eventstore.views import Usage
from eventstore.writing import SessionWriter

_SUMMARY, _END_OF_SUMMARY = "<summary>", "</summary>"


class ProgressListener(Protocol):
    """Observe requests while they are made; called by several threads at once."""

    def waiting_for(self, whom: str) -> AbstractContextManager[object]:
        """Return a block that surrounds the wait for an answer of `whom` (name and model)."""

    def note(self, what: str) -> None:
        """Show a line about a failed request and the next step."""


class NullListener:
    """A listener that ignores everything."""

    def waiting_for(self, whom: str) -> AbstractContextManager[object]:
        """Return a no-op context manager."""
        del whom
        return nullcontext()

    def note(self, what: str) -> None:
        """Ignore the line."""


def request_record(
    requests: Sequence[dict[str, Any]], *, missing: Sequence[str] = (), left_out: Sequence[str] = ()
) -> dict[str, Any]:
    """Return a record of all requests: the model that answered last, and their usage together.

    Return {} without requests. `missing` are sections that the summary lacks, `left_out` ids of messages that
    were too long for any prompt.
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
    """Append an `attempt` if the body raises a RefoldError, then re-raise.

    The error then has the attempt's id. `reason` says what the requests were for, `policy` by which policy,
    "" for none. `answered` are the records of earlier successful requests, which the attempt includes with
    their cost.
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
    """Return the id of an error's attempt, [] for none."""
    return [error.attempt] if error.attempt else []


RETRIES: Final = 2
"""Maximum number of retries after transient failures."""
LONG_WAIT: Final = 20.0
"""Seconds; if a provider asks for a longer wait, the next summarizer is asked instead."""
MAX_WAIT: Final = 120.0
"""Seconds; a longer wait counts as a failure, even without another summarizer."""
DEADLINE: Final = 900.0
"""Seconds for one summary in all: requests, waits, other summarizers and the reminder."""
_LOOK_EVERY: Final = 0.1
"""Seconds between two checks for cancellation during a wait."""


def never() -> bool:
    """Return False; the default cancellation."""
    return False


class SummarizerChain(msgspec.Struct, frozen=True, kw_only=True):
    """The summarizers to ask in order, with clock, retries and limits.

    `seconds` is the clock. `deadline` is the number of seconds for one summary. `end` is a time by the clock
    that limits several summaries together. `listener` observes the requests. With `redacts`, secrets are masked in
    prompts, except for a summarizer that sends them nowhere.
    """

    summarizers: Sequence[Summarizer]
    is_cancelled: Cancellation = never
    seconds: Callable[[], float] = time.monotonic
    wait: Callable[[float], None] = time.sleep
    retries: int = RETRIES
    deadline: float = DEADLINE
    end: float = math.inf
    listener: ProgressListener = NullListener()
    redacts: bool = True

    def end_from_now(self) -> float:
        """Return the time by the clock at which a summary begun now must end."""
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
    """A summary, the sections that it still lacks, and a record of each request."""

    text: str
    missing: list[str]
    requests: list[dict[str, Any]]


class SummarizersFailedError(SummarizerError):
    """No summarizer gave a summary.

    `failures` are the last failure of each summarizer, in order, `requests` the records of all requests. The
    error is too long if any of them is.
    """

    def __init__(self, failures: Sequence[SummarizerError], requests: list[dict[str, Any]]) -> None:
        last = failures[-1]
        before = "".join(f"; before that: {each}" for each in failures[:-1])
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
    """Return the answer to a reminder, or the draft if that fails."""
    try:
        return _answer(
            with_reminder(prompt, draft.text, missing, is_cut=draft.is_cut), chain, requests, end=end
        )
    except SummarizersFailedError:
        return draft


def _answer(prompt: Prompt, chain: SummarizerChain, requests: list[dict[str, Any]], *, end: float) -> Answer:
    """Return the first answer before `end`, without the part that the template strips."""
    failures: list[SummarizerError] = []
    for place, summarizer in enumerate(chain.summarizers):
        has_next = place + 1 < len(chain.summarizers)
        begun = chain.seconds()
        until = begun + (end - begun) / (len(chain.summarizers) - place)
        for attempt in count(1):
            outcome = _attempt(prompt, summarizer, chain, attempt, requests, until=until)
            if isinstance(outcome, Answer):
                return outcome
            delay = outcome.retry_after if outcome.retry_after is not None else 2.0 ** (attempt - 1)
            longest = LONG_WAIT if has_next else MAX_WAIT
            is_too_late = delay > longest or chain.seconds() + delay >= until
            if not outcome.is_transient or attempt > chain.retries or is_too_late:
                failures.append(outcome)
                break
            again = f"asked again for {prompt.template.name} in {delay:.3g} s ({attempt} of {chain.retries})"
            chain.listener.note(f"{outcome}; {again}")
            _wait(delay, chain, requests)
        if has_next:
            chain.listener.note(f"{failures[-1]}; trying the next summarizer for {prompt.template.name}")
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
    """Make one request and record it; return its answer or its error.

    Send nothing after `until`.
    """
    if chain.is_cancelled():
        raise CancelledError(requests)
    if chain.seconds() >= until:
        return _late(summarizer, chain)
    if chain.redacts and not getattr(summarizer, "is_local", False):
        prompt = mask_secrets(prompt)
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
            return _failed(record, _late(summarizer, chain))
        record["error"] = "cancelled"
        raise CancelledError(requests) from None
    finally:
        record["durationMs"] = round((chain.seconds() - begun) * 1000)
    if not isinstance(answer, Answer) or not isinstance(answer.text, str):
        # Summarizers are also a caller's own objects, which no type checker may have seen.
        problem = f"it returned a value of type {type(answer).__name__}, not an Answer with a text"
        return _failed(record, SummarizerError(summarizer.name, problem))
    answer = msgspec.structs.replace(answer, text=well_formed(answer.text))
    try:
        text = text_of(answer, prompt, summarizer.name)
    except SummarizerError as empty:
        return _failed(record, empty)
    record |= {"model": answer.model, "answer": answer.text, **usage_json(answer.usage)}
    record |= {"isCut": True} if answer.is_cut else {}
    return msgspec.structs.replace(answer, text=text)


def _late(summarizer: Summarizer, chain: SummarizerChain) -> SummarizerError:
    problem = f"no answer in time; a summary may take {chain.deadline:g} s, retries included"
    return SummarizerError(summarizer.name, problem)


def text_of(answer: Answer, prompt: Prompt, summarizer: str) -> str:
    """Return an answer's text without what the template strips; raise SummarizerError if empty."""
    text = strip_tag(answer.text, prompt.template.strip)
    if not text:
        raise SummarizerError(summarizer, "the answer is empty", is_transient=True, usage=answer.usage)
    return text


def strip_tag(answer: str, tag: str) -> str:
    """Remove a tagged part from an answer; return the text in `<summary>` if there is one.

    An unclosed part ends where the summary begins; an unclosed summary ends with the answer. Without a tag,
    return the whole answer.
    """
    if not tag:
        return answer.strip()
    rest = _without(answer, tag)
    start = rest.find(_SUMMARY)
    if start < 0:
        return rest.strip()
    end = rest.rfind(_END_OF_SUMMARY)
    return rest[start + len(_SUMMARY) : end if end > start else None].strip()


def _without(answer: str, tag: str) -> str:
    """Remove a tagged part before the summary; the summary itself may mention the tag."""
    start, summary = answer.find(f"<{tag}>"), answer.find(_SUMMARY)
    if start < 0 or 0 <= summary < start:
        return answer
    closed = answer.find(f"</{tag}>", start)
    if closed >= 0:
        return answer[:start] + answer[closed + len(f"</{tag}>") :]
    return answer[:start] + (answer[summary:] if summary >= 0 else "")


def _failed(record: dict[str, Any], error: SummarizerError) -> SummarizerError:
    record |= {"error": error.problem, **usage_json(error.usage)}
    return error


def _wait(delay: float, chain: SummarizerChain, requests: list[dict[str, Any]]) -> None:
    """Wait before the next attempt, and check for cancellation meanwhile."""
    if chain.is_cancelled is never:
        chain.wait(delay)
        return
    while delay > 0 and not chain.is_cancelled():
        chain.wait(min(delay, _LOOK_EVERY))
        delay -= _LOOK_EVERY
    if chain.is_cancelled():
        raise CancelledError(requests)


def _record(prompt: Prompt, summarizer: Summarizer, attempt: int) -> dict[str, Any]:
    """Return a request's record. It holds the prompt's digest; the log can reproduce the prompt."""
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
        **({"masked": prompt.masked} if prompt.masked else {}),
    }


def usage_json(usage: Usage | None) -> dict[str, Any]:
    """Return the `usage` of a request's record, {} if it is unknown."""
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
    """Return a summarizer's name, and its model or address if it has one."""
    address = strip_credentials(getattr(summarizer, "endpoint", ""))
    return " ".join(filter(None, (summarizer.name, model_of(summarizer), address)))


def _model(summarizer: Summarizer) -> dict[str, Any]:
    """Return the model of a summarizer that names one, so that failed requests have it too."""
    model = model_of(summarizer)
    return {"model": model} if model else {}
