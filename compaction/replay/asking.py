"""Get the summaries of a replay from a model: estimate, ask within a budget, keep every answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from random import Random
from threading import Lock
from typing import Any, Final

import msgspec

from compaction.part import Limits
from compaction.prompts import Prompt
from compaction.replay.boundaries import Boundary, Where, clean_boundaries, recorded_boundaries
from compaction.replay.trials import try_variant
from compaction.replay.variants import Variant
from compaction.summarizers import Answer, Cancellation, HasModel, Summarizer, SummarizerError
from compaction.summarizers.chain import SummarizerChain, SummarizersFailedError, usage_json
from compaction.summarizers.recorded import RecordedSummarizer
from eventstore.log import EventLog, Snapshot
from eventstore.records import Attempt
from eventstore.writing import SessionWriter
from projections.audit.prices import MILLION, Price
from projections.context.cursor import path, resolve_cursor
from projections.tokens import counter

PREFIX: Final = "replay-answers-"
"""The beginning of the names of sessions that hold answers."""
_AT_ONCE: Final = 4
"""Boundaries for which models are asked at once."""
_HIDDEN_TOKENS: Final = 1_000
"""More tokens than a provider adds to a request, as for its tools."""
_SEED: Final = 17

PriceOf = Callable[[str, int], Price | None]
"""The price of a model for a prompt of so many tokens, None if unknown."""


def answers_session(summarizer: str, model: str) -> str:
    """Return the name of the session with the answers of a summarizer, or of its model."""
    return PREFIX + (model or summarizer)


def kept_answers(log: EventLog, summarizer: str, model: str) -> RecordedSummarizer:
    """Return a summarizer that gives only the answers kept for a summarizer and model.

    With `recorded` and no model, those of any model.
    """
    if summarizer == RecordedSummarizer.name and not model:
        return RecordedSummarizer(log, reads=lambda name: name.startswith(PREFIX))
    session = answers_session(summarizer, model)
    return RecordedSummarizer(log, reads=lambda name: name == session)


class BudgetError(SummarizerError):
    """A request was not sent, because its worst case would exceed the budget."""

    def __init__(self, summarizer: str) -> None:
        super().__init__(summarizer, "nothing was sent: it could exceed the budget")


class Budget:
    """Dollars for requests of several threads.

    Each request holds its worst case until its cost is known. One that fails with unknown cost has cost its
    worst case.
    """

    def __init__(self, dollars: float | None = None) -> None:
        self._left, self._lock = dollars, Lock()

    def covers(self, dollars: float | None) -> bool:
        """Return True if so much is left; an unknown price (None) is covered only without a limit."""
        return self._left is None or (dollars is not None and dollars <= self._left)

    def take(self, dollars: float | None) -> bool:
        """Hold so much, or return False if less is left."""
        with self._lock:
            if not self.covers(dollars):
                return False
            if self._left is not None:
                self._left -= dollars or 0.0
            return True

    def give_back(self, dollars: float) -> None:
        """Return what a request held and did not cost."""
        with self._lock:
            if self._left is not None:
                self._left += dollars


class PlannedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to a model: estimated tokens, and its dollars; None without a known price.

    `dollars` is the estimated cost of an answer of full length, `most` what it can cost at worst.
    """

    summarizer: str
    model: str
    input: int
    output: int
    dollars: float | None
    most: float | None


def plan_request(prompt: Prompt, summarizer: str, model: str, price_of: PriceOf) -> PlannedRequest:
    """Return the tokens of a request and their price. No tokenizer makes a token of less than a byte."""
    tokens = counter("utf16/4")
    size = tokens.of_text(prompt.system) + tokens.of_text(prompt.text) + sum(tokens.count(prompt.prefix))
    size += len(prompt.tools) // 4
    price = price_of(model, size) if model else None
    return PlannedRequest(
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


class AskOnce:
    """Ask a summarizer only for what its session of answers lacks, within a budget.

    Every answer is appended there, and every failure.
    """

    def __init__(self, log: EventLog, inner: Summarizer, *, budget: Budget, price_of: PriceOf) -> None:
        self.name, self._inner, self._budget, self._price_of = inner.name, inner, budget, price_of
        self.model = inner.model if isinstance(inner, HasModel) else ""
        self._kept = kept_answers(log, self.name, self.model)
        self._writer = SessionWriter(log, answers_session(self.name, self.model))
        self._locks: dict[str, Lock] = {}

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        """Return the kept answer, or else a new one. Raises SummarizerError, CancelledError."""
        # Copies of a session have the same prompts.
        with self._locks.setdefault(prompt.digest, Lock()):
            try:
                return self._kept.summarize(prompt, is_cancelled=is_cancelled)
            except SummarizerError:
                return self._ask(prompt, is_cancelled=is_cancelled)

    def _ask(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        most = plan_request(prompt, self.name, self.model, self._price_of).most
        if not self._budget.take(most):
            raise BudgetError(self.name)
        try:
            answer = self._inner.summarize(prompt, is_cancelled=is_cancelled)
        except SummarizerError as error:
            self._append(prompt, {"error": error.problem, **usage_json(error.usage)}, str(error))
            raise
        price = self._price_of(self.model, answer.usage.prompt) if answer.usage else None
        if most is not None and price is not None and answer.usage is not None:
            self._budget.give_back(max(0.0, most - price.of(answer.usage)))
        self._append(
            prompt,
            {"answer": answer.text, **usage_json(answer.usage), **({"isCut": True} if answer.is_cut else {})},
            "",
        )
        return answer

    def _append(self, prompt: Prompt, outcome: dict[str, Any], error: str) -> None:
        request = {
            "summarizer": self.name,
            **({"model": self.model} if self.model else {}),
            "template": prompt.template.name,
            "templateVersion": prompt.template.version,
            "promptDigest": prompt.digest,
            **outcome,
        }
        self._writer.append(Attempt(request={"reason": "replay", "requests": [request]}, error=error))


class _Estimating:
    """Give kept answers; note each request that would be made, and answer it at full length."""

    def __init__(
        self, kept: Sequence[RecordedSummarizer], summarizer: str, model: str, price_of: PriceOf
    ) -> None:
        self.name, self._kept, self._model, self._price_of = summarizer, kept, model, price_of
        self.planned: list[PlannedRequest] = []

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        for kept in self._kept:
            try:
                return kept.summarize(prompt, is_cancelled=is_cancelled)
            except SummarizerError:
                continue
        self.planned.append(plan_request(prompt, self.name, self._model, self._price_of))
        headings = [f"## {section}\nall" for section in prompt.template.sections]
        return Answer(text="\n\n".join([*headings, " all" * prompt.max_tokens]), model=self._model)


class Asker(msgspec.Struct, frozen=True, kw_only=True):
    """A variant whose summaries a model writes.

    `models` are those of the summarizer to ask in order, ("",) for its own.
    """

    variant: Variant
    summarizer: str
    models: tuple[str, ...]


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A boundary of a session by its last entry's number, and the requests that its variants would make.

    `lacking` are the names of those that lack answers.
    """

    session: str
    seq: int
    requests: tuple[PlannedRequest, ...]
    lacking: tuple[str, ...]


def places_of(
    snapshot: Snapshot,
    log: EventLog,
    session: str,
    askers: Sequence[Asker],
    *,
    at: Where,
    limits: Limits,
    price_of: PriceOf,
) -> Iterator[Place]:
    """Yield the boundaries of a session with the requests that are still to be made there; send none."""
    for seq, boundary in _boundaries(snapshot, session, at):
        requests, lacking = list[PlannedRequest](), list[str]()
        for asker in askers:
            estimating = _Estimating(
                [kept_answers(log, asker.summarizer, model) for model in asker.models],
                asker.summarizer,
                asker.models[0],
                price_of,
            )
            _try(snapshot, session, boundary, asker.variant, [estimating], limits=limits)
            requests += estimating.planned
            lacking += [asker.variant.name] if estimating.planned else []
        yield Place(session=session, seq=seq, requests=tuple(requests), lacking=tuple(lacking))


def _boundaries(snapshot: Snapshot, session: str, at: Where) -> Iterator[tuple[int, Boundary]]:
    cursor = resolve_cursor(snapshot, session)
    entries = path(snapshot, cursor)
    found = clean_boundaries(snapshot, cursor, entries) if at == "clean" else recorded_boundaries(entries)
    for each in found:
        # Trials do not look at other entries, and many boundaries are held at once.
        yield each.leaf.seq, msgspec.structs.replace(each, earlier=(), later=())


def _try(
    snapshot: Snapshot,
    session: str,
    boundary: Boundary,
    variant: Variant,
    summarizers: Sequence[Summarizer],
    *,
    limits: Limits,
    **chain: Any,
) -> None:
    asking = msgspec.structs.replace(variant, chain=SummarizerChain(summarizers=summarizers, **chain))
    try_variant(snapshot, resolve_cursor(snapshot, session), boundary, asking, limits=limits)


def draw(places: Iterable[Place]) -> list[Place]:
    """Return boundaries in an order of which every beginning is spread evenly over the sessions.

    The order depends only on the boundaries.
    """
    by_session: dict[str, list[Place]] = {}
    for place in places:
        by_session.setdefault(place.session, []).append(place)
    sessions = sorted(by_session)
    Random(_SEED).shuffle(sessions)  # noqa: S311  a draw, no secret
    for session in sessions:
        Random(f"{_SEED} {session}").shuffle(by_session[session])  # noqa: S311
    rounds = zip_longest(*(by_session[session] for session in sessions))
    return [place for each in rounds for place in each if place is not None]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The boundaries that were asked for, and the errors of variants, by boundary and name."""

    done: frozenset[tuple[str, int]]
    errors: dict[tuple[str, int, str], str]


def ask(
    log: EventLog,
    places: Sequence[Place],
    askers: Sequence[tuple[Variant, Sequence[AskOnce]]],
    budget: Budget,
    *,
    at: Where,
    limits: Limits,
    is_cancelled: Cancellation,
) -> Iterator[Asked]:
    """Ask for what the boundaries lack, in their order, until the budget does not cover the next one.

    Yield the boundaries that are done so far, after each few. Raises CancelledError; answers until then are kept.
    """
    done, errors, is_spent = set[tuple[str, int]](), dict[tuple[str, int, str], str](), False

    def asked(place: Place) -> bool:
        """Ask for a boundary; return False if the budget did not cover it."""
        with log.snapshot() as snapshot:
            boundary = next(
                each for seq, each in _boundaries(snapshot, place.session, at) if seq == place.seq
            )
            for variant, summarizers in askers:
                try:
                    _try(
                        snapshot,
                        place.session,
                        boundary,
                        variant,
                        summarizers,
                        limits=limits,
                        is_cancelled=is_cancelled,
                    )
                except SummarizersFailedError as error:
                    if any(isinstance(each, BudgetError) for each in error.failures):
                        return False
                    errors[place.session, place.seq, variant.name] = str(error)
        return True

    rest = list(places)
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        while rest and not is_spent:
            batch: list[Place] = []
            while rest and len(batch) < _AT_ONCE and budget.covers(_most([*batch, rest[0]])):
                batch.append(rest.pop(0))
            if not batch:
                break
            for place, is_done in zip(batch, list(threads.map(asked, batch)), strict=True):
                if is_done:
                    done.add((place.session, place.seq))
                is_spent = is_spent or not is_done
            yield Asked(done=frozenset(done), errors=dict(errors))


def _most(places: Iterable[Place]) -> float:
    return sum(request.most or 0.0 for place in places for request in place.requests)
