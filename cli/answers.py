"""Ask models for the summaries of a replay, after an estimate that the user has agreed to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache, partial

import msgspec

from cli.each_session import each_session
from cli.options import require_consent
from cli.output import counted, echo_note, progress_bar
from cli.replaying import Answers, ReplayOptions, measures_of, reader_of, summarizer_of, variants_of
from cli.summarizing import Interrupt
from compaction.replay.model_answers import (
    AnswerProgress,
    Budget,
    CachingSummarizer,
    ModelVariant,
    PlannedBoundary,
    PriceOf,
    Reader,
    distinct_requests,
    fetch_answers,
    plan_boundaries,
    sampling_order,
)
from compaction.replay.variants import Variant
from compaction.summarizers.extractive import ExtractiveSummarizer
from compaction.summarizers.recorded import RecordedSummarizer
from compaction.summarizers.registry import SummarizerContext, make_summarizer
from eventstore.errors import BadInputError
from eventstore.log import StoredLog
from projections.audit.prices import library_prices, prices_of_file


class Consent(msgspec.Struct, frozen=True, kw_only=True):
    """The user's permission to send requests: without asking, or up to a number of dollars.

    `prices` is a file of prices, None for those of the library.
    """

    is_given: bool = False
    budget: float | None = None
    prices: str | None = None


def get_answers(
    log: StoredLog,
    store: str,
    sessions: Sequence[str],
    wanted: ReplayOptions,
    consent: Consent,
) -> Answers:
    """Get the missing answers of a replay's variants; those with `@recorded` request none.

    Raises UsageError without consent, BadInputError for a budget without a price, CancelledError.
    """
    model_variants, reader = _model_variants(wanted, log), _paid_reader(wanted)
    if not model_variants and reader is None:
        return Answers()
    planned, unplanned = _planned(store, sessions, wanted, consent.prices)
    stored = {digest for each in planned for digest in each.stored}
    if stored:
        echo_note(f"{counted(len(stored), 'answer')} from the store, of earlier replays")
    to_ask = [each for each in model_variants if each.summarizer != RecordedSummarizer.name]
    if not to_ask and reader is None:
        # A boundary without any answer was left out when the requests were sent.
        found = frozenset((each.session, each.seq) for each in planned if each.stored or not each.lacking)
        left_out = {"no answers are stored for them": len(planned) - len(found)}
        return Answers(only=found, unplanned=unplanned, left_out=left_out)
    lacking = [boundary for boundary in planned if boundary.requests]
    progress = AnswerProgress(done=frozenset(), errors={})
    if lacking:
        progress = _ask(log, lacking, to_ask, wanted, consent)
    ready = {(boundary.session, boundary.seq) for boundary in planned if not boundary.requests}
    after = f" after a failure of unknown cost: {progress.last_failure}" if progress.last_failure else ""
    left_out = {f"not covered by the budget{after}": len(lacking) - len(progress.done)}
    return Answers(
        only=frozenset(progress.done | ready),
        errors=progress.errors,
        unplanned=unplanned,
        left_out=left_out,
    )


def _ask(
    log: StoredLog,
    lacking: Sequence[PlannedBoundary],
    to_ask: Sequence[ModelVariant],
    wanted: ReplayOptions,
    consent: Consent,
) -> AnswerProgress:
    """Request the missing answers, once the user has agreed; return how far that went."""
    budget = _agreed(lacking, consent)
    price_of = _price_of(consent.prices)
    interrupt = Interrupt()
    progress = AnswerProgress(done=frozenset(), errors={})

    @cache
    def summarizer_for(name: str, model: str) -> CachingSummarizer:
        """Return one summarizer for all variants, so that none requests what another has."""
        asked = make_summarizer(name, SummarizerContext(log=log, model=model))
        return CachingSummarizer(log, asked, budget=budget, price_of=price_of)

    reader = _paid_reader(wanted)
    writing = [
        (each.variant, [summarizer_for(each.summarizer, model) for model in each.models]) for each in to_ask
    ]
    # The contexts of the other variants are read, too.
    written = {variant.name for variant, _ in writing}
    others: list[tuple[Variant, list[CachingSummarizer]]] = [
        (each, []) for each in variants_of(wanted, log) if reader and each.name not in written
    ]
    summarizers = [*writing, *others]
    with interrupt.capture(), progress_bar("requesting") as advance:
        for progress in fetch_answers(
            log,
            sampling_order(lacking),
            summarizers,
            budget,
            measures_of(wanted),
            reader=summarizer_for(reader.summarizer, reader.model) if reader else None,
            is_cancelled=interrupt,
            redacts=wanted.redacts,
        ):
            advance(len(progress.done), len(lacking))
    return progress


def _model_variants(wanted: ReplayOptions, log: StoredLog) -> list[ModelVariant]:
    """Return the variants whose summaries come from a model, or from its stored answers."""
    found = []
    for variant in variants_of(wanted, log):
        if variant.policy is None or variant.drops or not variant.policy.summarizes:
            continue
        choice = summarizer_of(variant.name)
        if choice.summarizer != ExtractiveSummarizer.name:
            models = choice.models or ("",)
            found.append(ModelVariant(variant=variant, summarizer=choice.summarizer, models=models))
    return found


def _paid_reader(wanted: ReplayOptions) -> Reader | None:
    """Return who is asked what contexts say; None for nobody, and if answers are only looked up."""
    reader = reader_of(wanted)
    return None if reader is None or reader.summarizer == RecordedSummarizer.name else reader


def _planned(
    store: str, sessions: Sequence[str], wanted: ReplayOptions, prices: str | None
) -> tuple[list[PlannedBoundary], frozenset[str]]:
    """Return the boundaries of sessions, and the sessions that could not be examined."""
    planned: list[PlannedBoundary] = []
    unplanned = set[str]()
    work = partial(_planned_in_session, wanted, prices)
    with progress_bar("estimating") as advance:
        found = zip(sessions, each_session(store, sessions, work), strict=True)
        for done, (session, each) in enumerate(found, 1):
            if each is None:
                unplanned.add(session)
            else:
                planned += each
            advance(done, len(sessions))
    return planned, frozenset(unplanned)


def _planned_in_session(
    wanted: ReplayOptions, prices: str | None, log: StoredLog, session: str
) -> list[PlannedBoundary] | None:
    """Return a session's boundaries; None if it cannot be replayed: the replay reports that."""
    variants = _model_variants(wanted, log)
    # No request is sent for answers that are only looked up.
    paid = [each for each in variants if each.summarizer != RecordedSummarizer.name]
    reader = _paid_reader(wanted)
    if reader is not None:
        named = {each.variant.name for each in paid}
        paid += [ModelVariant(variant=each) for each in variants_of(wanted, log) if each.name not in named]
    try:
        with log.snapshot() as snapshot:
            return list(
                plan_boundaries(
                    snapshot,
                    log,
                    session,
                    paid or variants,
                    measures_of(wanted),
                    reader=reader,
                    price_of=_price_of(prices),
                )
            )
    except Exception:  # noqa: BLE001  the replay of this session raises it again, and explains it
        return None


@cache
def _price_of(file: str | None) -> PriceOf:
    table = prices_of_file(file) if file else library_prices()
    return cache(lambda model, tokens: table.price(model, prompt=tokens))


def _agreed(lacking: Sequence[PlannedBoundary], consent: Consent) -> Budget:
    """Show the estimate, and return the budget if the user agrees."""
    requests = distinct_requests(lacking)
    if consent.budget is not None:
        unknown = next((each for each in requests if each.dollars is None), None)
        if unknown is not None:
            raise BadInputError(
                f"--budget for {unknown.model or unknown.summarizer}",
                "its price is unknown",
                "name it in a file (refold --prices FILE)",
            )
    for (summarizer, model), count in Counter((each.summarizer, each.model) for each in requests).items():
        own = [each for each in requests if (each.summarizer, each.model) == (summarizer, model)]
        costs = [each.dollars for each in own if each.dollars is not None]
        price = (
            f"about ${sum(costs):,.2f} if every answer has the maximum length; requests that are repeated, after"
            " a failure or for a missing section, come on top"
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
        require_consent(
            "Send these requests?", "no request was sent: allow them with --yes, or with --budget DOLLARS"
        )
    return Budget()
