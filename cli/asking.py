"""Ask models for the summaries of a replay, after an estimate that the user has agreed to."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, partial

import click
import msgspec

from cli.output import counted, echo_note, progress_bar
from cli.replaying import ReplayOptions, summarizer_of, variants_of
from cli.summarizing import Interrupt
from compaction.part import Limits
from compaction.replay import ReplayResult
from compaction.replay.asking import (
    Asked,
    Asker,
    AskOnce,
    Budget,
    Place,
    PriceOf,
    ask,
    draw,
    places_of,
)
from compaction.summarizers.extractive import ExtractiveSummarizer
from compaction.summarizers.recorded import RecordedSummarizer
from compaction.summarizers.registry import SummarizerContext, make_summarizer
from eventstore import open_store
from eventstore.errors import BadInputError, RefoldError
from eventstore.log import StoredLog
from eventstore.workers import WorkerLostError, map_in_processes
from projections.audit.prices import library_prices, prices_of_file


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """The boundaries that have answers, None for all, and why variants have none there.

    `left_out` counts the other boundaries, and `why` says why they have none.
    """

    only: frozenset[tuple[str, int]] | None = None
    errors: dict[tuple[str, int, str], str] = {}
    left_out: int = 0
    why: str = ""


class Consent(msgspec.Struct, frozen=True, kw_only=True):
    """Permission of the user to ask: without a question, or up to a number of dollars.

    `prices` is a file of prices, None for those of the library.
    """

    is_given: bool = False
    budget: float | None = None
    prices: str | None = None


def answers_for(
    log: StoredLog,
    store: str,
    sessions: Sequence[str],
    wanted: ReplayOptions,
    consent: Consent,
    *,
    jobs: int,
) -> Answers:
    """Get the answers that the variants of a replay lack; ask nobody with `--summarizer recorded`.

    Raises UsageError without consent, BadInputError for a budget without a price, CancelledError.
    """
    askers = _askers(wanted, log)
    if not askers:
        if wanted.endpoint:
            problem = "--endpoint needs a variant that asks: name a model, or add --summarizer"
            raise click.UsageError(problem, click.get_current_context(silent=True))
        return Answers()
    places = _places(log, store, sessions, wanted, consent.prices, jobs=jobs)
    names = [asker.variant.name for asker in askers]
    is_asking = [asker for asker in askers if asker.summarizer != RecordedSummarizer.name]
    if not is_asking:
        # Without any answer, it is a boundary that was left out when the models were asked.
        found = frozenset((each.session, each.seq) for each in places if len(each.lacking) < len(names))
        return Answers(only=found, left_out=len(places) - len(found), why="the log has no answer for them")
    lacking = [place for place in places if place.requests]
    asked = Asked(done=frozenset(), errors={})
    if lacking:
        budget = _agreed(lacking, consent)
        price_of = _price_of(consent.prices)
        interrupt = Interrupt()
        summarizers = [
            (
                asker.variant,
                [
                    AskOnce(
                        log,
                        make_summarizer(
                            asker.summarizer,
                            SummarizerContext(log=log, model=model, endpoint=wanted.endpoint),
                        ),
                        budget=budget,
                        price_of=price_of,
                    )
                    for model in asker.models
                ],
            )
            for asker in is_asking
        ]
        with interrupt.capture(), progress_bar("asking") as advance:
            for asked in ask(
                log,
                draw(lacking),
                summarizers,
                budget,
                at=wanted.at,
                limits=Limits(window=wanted.window),
                is_cancelled=interrupt,
            ):
                advance(len(asked.done), len(lacking))
    ready = {(place.session, place.seq) for place in places if not place.requests}
    left_out = len(lacking) - len(asked.done)
    return Answers(
        only=frozenset(asked.done | ready),
        errors=asked.errors,
        left_out=left_out,
        why="the budget does not reach them",
    )


def with_errors(results: Sequence[ReplayResult], answers: Answers) -> Iterator[ReplayResult]:
    """Yield results whose trials without an answer say why the model gave none."""
    for each in results:
        at = each.boundary.session, each.boundary.seq
        yield msgspec.structs.replace(
            each,
            trials=[
                msgspec.structs.replace(trial, error=answers.errors.get((*at, trial.variant), trial.error))
                for trial in each.trials
            ],
        )


def _askers(wanted: ReplayOptions, log: StoredLog | None) -> list[Asker]:
    """Return the variants whose summaries come from a model, or from its kept answers."""
    found = []
    for variant in variants_of(wanted, log):
        if variant.policy is None or variant.drops or not variant.policy.summarizes:
            continue
        choice = summarizer_of(variant.name, wanted)
        if choice.summarizer != ExtractiveSummarizer.name:
            models = choice.models or ("",)
            found.append(Asker(variant=variant, summarizer=choice.summarizer, models=models))
    return found


def _places(
    log: StoredLog,
    store: str,
    sessions: Sequence[str],
    wanted: ReplayOptions,
    prices: str | None,
    *,
    jobs: int,
) -> list[Place]:
    work = partial(_places_by_worker, store, wanted, prices)
    places: list[Place] = []
    with progress_bar("estimating") as advance:
        found = (
            (_places_of_session(log, wanted, prices, session) for session in sessions)
            if min(jobs, len(sessions)) <= 1
            else map_in_processes(work, sessions, jobs=jobs)
        )
        try:
            for done, each in enumerate(found, 1):
                places += each
                advance(done, len(sessions))
        except WorkerLostError as error:
            problem = f"session {error.item!r}: the process that looked at it was killed"
            raise click.ClickException(f"{problem}; try a smaller number of --jobs") from None
    return places


def _places_by_worker(store: str, wanted: ReplayOptions, prices: str | None, session: str) -> list[Place]:
    try:
        return _places_of_session(_store(store), wanted, prices, session)
    except RefoldError:
        return []


def _places_of_session(
    log: StoredLog, wanted: ReplayOptions, prices: str | None, session: str
) -> list[Place]:
    """Return a session's boundaries; none if it cannot be replayed, which the replay then reports."""
    try:
        with log.snapshot() as snapshot:
            return list(
                places_of(
                    snapshot,
                    log,
                    session,
                    _askers(wanted, log),
                    at=wanted.at,
                    limits=Limits(window=wanted.window),
                    price_of=_price_of(prices),
                )
            )
    except (RefoldError, msgspec.DecodeError):
        return []


@cache
def _store(store: str) -> StoredLog:
    """Return the store, kept open for the life of the process."""
    return open_store(store, create=False)


@cache
def _price_of(file: str | None) -> PriceOf:
    table = prices_of_file(file) if file else library_prices()
    return cache(lambda model, tokens: table.price(model, prompt=tokens))


def _agreed(lacking: Sequence[Place], consent: Consent) -> Budget:
    """Show the estimate, and return the budget if the user agrees."""
    requests = [request for place in lacking for request in place.requests]
    if consent.budget is not None:
        unknown = next((each for each in requests if each.dollars is None), None)
        if unknown is not None:
            raise BadInputError(
                f"--budget for {unknown.model or unknown.summarizer}",
                "its price is unknown",
                "name it in a file (--prices)",
            )
    for (summarizer, model), count in Counter((each.summarizer, each.model) for each in requests).items():
        own = [each for each in requests if (each.summarizer, each.model) == (summarizer, model)]
        costs = [each.dollars for each in own if each.dollars is not None]
        price = (
            f"about ${sum(costs):,.2f} if every answer has its full length"
            if len(costs) == len(own)
            else "its price is unknown"
        )
        echo_note(
            f"{model or summarizer}: {counted(count, 'request')} with about"
            f" {counted(sum(each.input for each in own), 'token')} of input, {price}"
        )
    if consent.budget is not None:
        return Budget(consent.budget)
    if not consent.is_given:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            problem = "nothing was asked: allow it with --yes, or with --budget DOLLARS"
            raise click.UsageError(problem, click.get_current_context(silent=True))
        if not click.confirm("Send these requests?", err=True):
            echo_note("nothing was sent")
            click.get_current_context().exit(1)
    return Budget()
