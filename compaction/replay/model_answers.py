"""Get a replay's summaries from a model: estimate, ask within a budget, store every answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from itertools import zip_longest
from random import Random
from threading import Lock
from typing import Any, Final, TypeVar

import msgspec

from compaction.part import Limits
from compaction.prompts import Prompt
from compaction.replay import Measures, claims_at
from compaction.replay.boundaries import Boundary, courses_of
from compaction.replay.kept import asking, is_readable, kept_in
from compaction.replay.results import Claim
from compaction.replay.trials import try_variant
from compaction.replay.variants import Variant
from compaction.summarizers import (
    Answer,
    Cancellation,
    CancelledError,
    Summarizer,
    SummarizerError,
    model_of,
)
from compaction.summarizers.chain import (
    RETRIES,
    SummarizerChain,
    SummarizersFailedError,
    text_of,
    usage_json,
)
from compaction.summarizers.recorded import AnswerSource, RecordedSummarizer
from compaction.summarizers.refusals import strip_credentials
from compaction.summarizers.registry import endpoint_of
from eventstore.errors import RefoldError
from eventstore.log import EventLog, Snapshot
from eventstore.records import Attempt
from eventstore.views import Usage
from eventstore.writing import SessionWriter
from projections.audit.prices import MILLION, Price
from projections.audit.readings import readings
from projections.context.cursor import resolve_cursor
from projections.overview import ANSWERS
from projections.tokens import counter

T = TypeVar("T")
_AT_ONCE: Final = 4
"""Boundaries for which models are asked at once."""
_TRIES: Final = 3 * (1 + RETRIES)
"""The highest cost of one summary, in first requests: retries, and reminders with a draft."""
_LOOK_EVERY: Final = 0.2
"""Seconds between two chances to handle signals while waiting for answers."""
_HIDDEN_TOKENS: Final = 1_000
"""An upper bound of the tokens that a provider adds to a request, for example for tools."""
_SEED: Final = 17

PriceOf = Callable[[str, int], Price | None]
"""The price of a model for a prompt of so many tokens, None if unknown."""


def answers_session(summarizer: str, model: str) -> str:
    """Return the name of the session with the answers of a summarizer, or of its model."""
    return ANSWERS + (model or summarizer)


def stored_answers(log: EventLog, summarizer: str, model: str) -> RecordedSummarizer:
    """Return a summarizer that gives the stored answers of a summarizer, model and address.

    With `recorded`, those of any. Raises BadInputError for a wrong address.
    """
    if summarizer == RecordedSummarizer.name:
        return RecordedSummarizer(log, prefix=ANSWERS)
    source = AnswerSource(summarizer=summarizer, model=model, endpoint=_address(summarizer))
    return RecordedSummarizer(log, prefix=answers_session(summarizer, model), source=source)


def _address(summarizer: str) -> str:
    return strip_credentials(endpoint_of(summarizer))


class BudgetError(RefoldError):
    """A request was not sent, because its worst case would exceed the budget.

    It is no failure of the summarizer, so no other one is tried, and no draft is taken instead. `before` is the failure
    of the same request that was sent earlier, "" for none.
    """

    def __init__(self, summarizer: str, before: str) -> None:
        super().__init__(f"{summarizer}: nothing was sent: it could exceed the budget")
        self.before = before


class Budget:
    """Dollars for requests of several threads.

    Each request reserves its worst case until it has ended.
    """

    def __init__(self, dollars: float | None = None) -> None:
        self._left, self._lock = dollars, Lock()

    def covers(self, dollars: float | None) -> bool:
        """Return True if this amount is left; None, an unknown price, needs an unlimited budget."""
        return self._left is None or (dollars is not None and dollars <= self._left)

    def reserve(self, dollars: float | None) -> bool:
        """Reserve an amount, or return False if less is left."""
        with self._lock:
            if not self.covers(dollars):
                return False
            if self._left is not None:
                self._left -= dollars or 0.0
            return True

    def settle(self, reserved: float | None, spent: float | None) -> None:
        """End a reservation, for which this was spent, even if more; None, unknown: all of it."""
        with self._lock:
            if self._left is not None and reserved is not None and spent is not None:
                self._left += reserved - spent


class PlannedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to a model: estimated tokens, and its dollars; None without a known price.

    `dollars` is the estimated cost with an answer of maximum length, `most` the worst case. Requests with the same
    `prompt_digest` are sent once.
    """

    prompt_digest: str
    summarizer: str
    model: str
    input: int
    output: int
    dollars: float | None
    most: float | None


def plan_request(prompt: Prompt, summarizer: str, model: str, price_of: PriceOf) -> PlannedRequest:
    """Return the tokens of a request and their price. A token has at least one byte."""
    tokens = counter("utf16/4")
    size = tokens.of_text(prompt.system) + tokens.of_text(prompt.text) + sum(tokens.count(prompt.prefix))
    size += len(prompt.tools) // 4
    price = price_of(model, size) if model else None
    return PlannedRequest(
        prompt_digest=prompt.digest,
        summarizer=summarizer,
        model=model,
        input=size,
        output=prompt.max_tokens,
        dollars=None if price is None else _cost(size, price.input, prompt.max_tokens, price.output),
        most=None if price is None else _most_dollars(prompt, model, price_of),
    )


def _most_dollars(prompt: Prompt, model: str, price_of: PriceOf) -> float | None:
    from compaction.summarizers.anthropic import messages_request  # noqa: PLC0415  its renderer

    bound = len(messages_request(prompt, model).body) + _HIDDEN_TOKENS
    price = price_of(model, bound)
    if price is None:
        return None
    return _cost(bound, max(price.input, price.cache_write_5m), prompt.max_tokens, price.output)


def _cost(size: int, input_price: float, answer: int, output_price: float) -> float:
    return (size * input_price + answer * output_price) / MILLION


class CachingSummarizer:
    """Store every answer of a summarizer; request only the missing ones, within a budget.

    Answers, and failures of requests that were sent, are appended to the summarizer's session of answers. An empty
    answer is a failure.
    """

    def __init__(self, log: EventLog, inner: Summarizer, *, budget: Budget, price_of: PriceOf) -> None:
        self.name, self._inner, self._budget, self._price_of = inner.name, inner, budget, price_of
        self.model = model_of(inner)
        self._endpoint = _address(self.name)
        self._stored = stored_answers(log, self.name, self.model)
        self._writer = SessionWriter(log, answers_session(self.name, self.model))
        self._locks: dict[str, Lock] = {}
        self._unsent = Counter[str]()
        self._is_unreachable = False
        self._failures: dict[str, str] = {}

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        """Return the stored answer, or else a new one.

        Raises SummarizerError, BudgetError, CancelledError.
        """
        # Copies of a session have the same prompts.
        with self._locks.setdefault(prompt.digest, Lock()):
            try:
                return self._stored.summarize(prompt, is_cancelled=is_cancelled)
            except SummarizerError:
                return self._request(prompt, is_cancelled=is_cancelled)

    def _request(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        most = plan_request(prompt, self.name, self.model, self._price_of).most
        if not self._budget.reserve(most):
            raise BudgetError(self.name, self._failures.get(prompt.digest, ""))
        spent = None
        try:
            answer = self._inner.summarize(prompt, is_cancelled=is_cancelled)
            spent = self._dollars(answer.usage)
            text_of(answer, prompt, self.name)
        except CancelledError as error:
            spent = None if error.is_sent else 0.0
            raise
        except SummarizerError as error:
            if not error.is_sent:
                spent = 0.0
                self._count_unsent(prompt, error)
                raise
            self._reached()
            spent = self._dollars(error.usage) if spent is None else spent
            self._failures[prompt.digest] = str(error)
            self._append(prompt, {"error": error.problem, **usage_json(error.usage)}, str(error))
            raise
        finally:
            self._budget.settle(most, spent)
        self._reached()
        self._append(
            prompt,
            {"answer": answer.text, **usage_json(answer.usage), **({"isCut": True} if answer.is_cut else {})},
            "",
        )
        return answer

    def _count_unsent(self, prompt: Prompt, error: SummarizerError) -> None:
        """Stop retries once all tries of one request did not reach the server.

        It would be waited for at every boundary. Requests at once count apart: all may fail in the same moment.
        """
        self._unsent[prompt.digest] += 1
        self._is_unreachable |= self._unsent[prompt.digest] > RETRIES
        error.is_transient = error.is_transient and not self._is_unreachable

    def _reached(self) -> None:
        self._unsent.clear()
        self._is_unreachable = False

    def _dollars(self, usage: Usage | None) -> float | None:
        """Return the cost of a request, None if that is unknown."""
        price = self._price_of(self.model, usage.prompt) if usage else None
        return price.of(usage) if price is not None and usage is not None else None

    def _append(self, prompt: Prompt, outcome: dict[str, Any], error: str) -> None:
        request = {
            "summarizer": self.name,
            **({"model": self.model} if self.model else {}),
            **({"endpoint": self._endpoint} if self._endpoint else {}),
            "template": prompt.template.name,
            "templateVersion": prompt.template.version,
            "promptDigest": prompt.digest,
            **outcome,
        }
        self._writer.append(Attempt(request={"reason": "replay", "requests": [request]}, error=error))


class _EstimatingSummarizer:
    """Give stored answers; count each other request, with an answer of maximum length."""

    is_local = True

    def __init__(
        self, stored: Sequence[RecordedSummarizer], summarizer: str, model: str, price_of: PriceOf
    ) -> None:
        self.name, self._stored, self._model, self._price_of = summarizer, stored, model, price_of
        self.planned: list[PlannedRequest] = []
        self.found: list[str] = []

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        for stored in self._stored:
            try:
                answer = stored.summarize(prompt, is_cancelled=is_cancelled)
            except SummarizerError:
                continue
            self.found.append(prompt.digest)
            return answer
        self.planned.append(plan_request(prompt, self.name, self._model, self._price_of))
        headings = [f"## {section}\nall" for section in prompt.template.sections]
        return Answer(text="\n\n".join([*headings, " all" * prompt.max_tokens]), model=self._model)


class ModelVariant(msgspec.Struct, frozen=True, kw_only=True):
    """A variant whose summaries a model writes, or with `summarizer` "" one that writes its own.

    `models` are those of the summarizer to ask in order, ("",) for its own.
    """

    variant: Variant
    summarizer: str = ""
    models: tuple[str, ...] = ("",)


class Reader(msgspec.Struct, frozen=True, kw_only=True):
    """A summarizer, and its model ("" for its own), that reads contexts."""

    summarizer: str
    model: str


class PlannedBoundary(msgspec.Struct, frozen=True, kw_only=True):
    """A boundary, by its session and last entry's number, and the requests that it still needs.

    Of rounds, the first one stands for all.

    `lacking` are the names of variants that lack answers, `stored` the digests of prompts that have one.
    """

    session: str
    seq: int
    requests: tuple[PlannedRequest, ...]
    lacking: tuple[str, ...]
    stored: tuple[str, ...] = ()


def plan_boundaries(
    snapshot: Snapshot,
    log: EventLog,
    session: str,
    model_variants: Sequence[ModelVariant],
    measures: Measures,
    *,
    reader: Reader | None = None,
    price_of: PriceOf,
) -> Iterator[PlannedBoundary]:
    """Yield the boundaries of a session with the requests that they still need; send none."""
    # Stored answers are read once, not at every boundary.
    stored = [
        [stored_answers(log, each.summarizer, model) for model in each.models if each.summarizer]
        for each in model_variants
    ]
    read = [stored_answers(log, reader.summarizer, reader.model)] if reader else []
    for course in courses_of(snapshot, resolve_cursor(snapshot, session), measures.at, measures.rounds):
        claims = _claims(snapshot, course, measures) if reader else [None] * len(course)
        requests, lacking, found = list[PlannedRequest](), list[str](), list[str]()
        for each, answers in zip(model_variants, stored, strict=True):
            writes = _EstimatingSummarizer(answers, each.summarizer, each.models[0], price_of)
            reads = _EstimatingSummarizer(read, reader.summarizer, reader.model, price_of) if reader else None
            with suppress(SummarizersFailedError):
                # A variant whose stored answers are missing has no context to read.
                own = [writes] if each.summarizer else []
                _try(snapshot, course, each.variant, measures.limits, writes=own, reads=reads, claims=claims)
            planned = [*writes.planned, *(reads.planned if reads else ())]
            requests += planned
            lacking += [each.variant.name] if planned else []
            found += [*writes.found, *(reads.found if reads else ())]
        yield PlannedBoundary(
            session=session,
            seq=course[0].leaf.seq,
            requests=tuple(requests),
            lacking=tuple(lacking),
            stored=tuple(found),
        )


def _try(
    snapshot: Snapshot,
    course: Sequence[Boundary],
    variant: Variant,
    limits: Limits,
    *,
    writes: Sequence[Summarizer],
    reads: Summarizer | None,
    claims: Sequence[Sequence[Claim] | None],
    **chain: Any,
) -> None:
    """Compact in a course with `writes` ([]: the variant's own); ask `reads` about contexts."""
    if writes:
        variant = msgspec.structs.replace(variant, chain=SummarizerChain(summarizers=writes, **chain))
    cursor = resolve_cursor(snapshot, course[0].leaf.session)
    attempts = try_variant(snapshot, cursor, course, variant, limits=limits)
    for attempted, asked in zip(attempts, claims, strict=True):
        after = attempted.after
        if asked and reads and not isinstance(after, str) and is_readable(snapshot, after.parts):
            kept_in(after.parts, asked, asking(SummarizerChain(summarizers=[reads], **chain)))


def _claims(snapshot: Snapshot, course: Sequence[Boundary], measures: Measures) -> list[list[Claim] | None]:
    found = readings(snapshot, course[0].leaf.session) if measures.at == "recorded" else {}
    return claims_at(course, found, is_course=measures.rounds > 0)


def sampling_order(planned: Iterable[PlannedBoundary]) -> list[PlannedBoundary]:
    """Order boundaries so that any first part of them is spread evenly over the sessions.

    The order depends only on the boundaries.
    """
    by_session: dict[str, list[PlannedBoundary]] = {}
    for boundary in planned:
        by_session.setdefault(boundary.session, []).append(boundary)
    sessions = sorted(by_session)
    Random(_SEED).shuffle(sessions)  # noqa: S311  a sample, no secret
    for session in sessions:
        Random(f"{_SEED} {session}").shuffle(by_session[session])  # noqa: S311
    rounds = zip_longest(*(by_session[session] for session in sessions))
    return [boundary for each in rounds for boundary in each if boundary is not None]


class AnswerProgress(msgspec.Struct, frozen=True, kw_only=True):
    """The boundaries whose answers have come, and variants' errors by boundary and name.

    One that its session no longer has is done, too. `last_failure` is that of a request that the budget did not let
    repeat, "" for none.
    """

    done: frozenset[tuple[str, int]]
    errors: dict[tuple[str, int, str], str]
    last_failure: str = ""


def fetch_answers(
    log: EventLog,
    planned: Sequence[PlannedBoundary],
    model_variants: Sequence[tuple[Variant, Sequence[CachingSummarizer]]],
    budget: Budget,
    measures: Measures,
    *,
    reader: CachingSummarizer | None = None,
    is_cancelled: Cancellation,
    redacts: bool = True,
) -> Iterator[AnswerProgress]:
    """Get the missing answers of boundaries, in order, until the budget does not cover the next.

    Several boundaries are asked for at once only while the budget covers all repetitions of their requests: else it
    would depend on time which of them is left out. Yield the boundaries that are done so far, after each few. Raises
    CancelledError; answers until then are stored.
    """
    done, errors, is_spent = set[tuple[str, int]](), dict[tuple[str, int, str], str](), False
    tries = _TRIES * max((len(summarizers) for _, summarizers in model_variants), default=1)
    rest, failure = list(planned), ""
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        while rest and not is_spent:
            batch: list[PlannedBoundary] = []
            while rest and len(batch) < _AT_ONCE:
                most = tries * sum(map(_most, [*batch, rest[0]])) if batch else _most(rest[0])
                if not budget.covers(most):
                    break
                batch.append(rest.pop(0))
            if not batch:
                break
            fetch = partial(
                _fetch,
                log,
                model_variants,
                measures=measures,
                reader=reader,
                is_cancelled=is_cancelled,
                redacts=redacts,
            )
            for boundary, fetched in zip(batch, _finished(threads, fetch, batch), strict=True):
                place = boundary.session, boundary.seq
                try:
                    found = fetched.result()
                except BudgetError as error:
                    is_spent, failure = True, error.before
                    continue
                errors |= {(*place, name): error for name, error in found.items()}
                done.add(place)
            yield AnswerProgress(done=frozenset(done), errors=dict(errors), last_failure=failure)


def _fetch(
    log: EventLog,
    model_variants: Sequence[tuple[Variant, Sequence[CachingSummarizer]]],
    planned: PlannedBoundary,
    *,
    measures: Measures,
    reader: CachingSummarizer | None,
    is_cancelled: Cancellation,
    redacts: bool,
) -> dict[str, str]:
    """Get the answers at a boundary; return the errors of variants by name.

    Raises BudgetError, CancelledError.
    """
    errors = dict[str, str]()
    with log.snapshot() as snapshot:
        cursor = resolve_cursor(snapshot, planned.session)
        found = courses_of(snapshot, cursor, measures.at, measures.rounds)
        course = next((each for each in found if each[0].leaf.seq == planned.seq), None)
        if course is None:
            return errors
        claims = _claims(snapshot, course, measures) if reader else [None] * len(course)
        for variant, summarizers in model_variants:
            try:
                _try(
                    snapshot,
                    course,
                    variant,
                    measures.limits,
                    writes=summarizers,
                    reads=reader,
                    claims=claims,
                    is_cancelled=is_cancelled,
                    redacts=redacts,
                )
            except SummarizersFailedError as error:
                errors[variant.name] = str(error)
    return errors


def _finished(
    threads: ThreadPoolExecutor, work: Callable[[PlannedBoundary], T], items: Sequence[PlannedBoundary]
) -> list[Future[T]]:
    """Run work for each item to its end, in short waits, so that no signal goes unnoticed."""
    futures = [threads.submit(work, item) for item in items]
    while wait(futures, timeout=_LOOK_EVERY).not_done:
        pass
    return futures


def _most(planned: PlannedBoundary) -> float:
    return sum(request.most or 0.0 for request in distinct_requests([planned]))


def distinct_requests(planned: Iterable[PlannedBoundary]) -> list[PlannedRequest]:
    """Return the requests of boundaries, each once: variants and copies of sessions share some."""
    return list(dict.fromkeys(request for boundary in planned for request in boundary.requests))
