"""Replay a session by the variants that the options name."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

import click
import msgspec

from cli.compacting import DEFAULT_POLICY, policy_named, with_template
from cli.summarizing import SummarizerChoice, SummarizerOptions, choose_summarizer
from compaction.part import Limits
from compaction.policy.model import Policy
from compaction.processes import words_of
from compaction.replay import Measures, replay_session
from compaction.replay.boundaries import Where
from compaction.replay.model_answers import Reader, stored_answers
from compaction.replay.program import Program
from compaction.replay.results import ReplayResult
from compaction.replay.triggered import TriggeredRun, triggered_runs
from compaction.replay.variants import DROP, GIVEN_BACK, RECORDED, Variant
from compaction.summarizers import Summarizer
from compaction.summarizers.chain import SummarizerChain
from compaction.summarizers.extractive import ExtractiveSummarizer
from compaction.summarizers.registry import SUMMARIZERS, own_model
from compaction.templates import find_template
from eventstore.checked import require_sound
from eventstore.errors import CorruptionError, NotFoundError, RefoldError, StoreError
from eventstore.imports import copied_through
from eventstore.log import EventLog, Snapshot, StoredLog
from projections.audit.prices import library_prices, prices_of_file


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """The boundaries that have answers (None: all), and errors of variants there.

    `left_out` counts the other boundaries, by the reason why they have none. `unplanned` are sessions whose
    boundaries could not be examined: to replay them shows why.
    """

    only: frozenset[tuple[str, int]] | None = None
    errors: dict[tuple[str, int, str], str] = {}
    unplanned: frozenset[str] = frozenset()
    left_out: dict[str, int] = {}


class ReplayOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a replay; each variant as `POLICY[:TEMPLATE][@MODEL]`.

    `commands` are the command lines of programs that are variants too. `rounds`: variants compact their own contexts
    again, so often, 0 for not at all.
    `reader` names who says what contexts have in other words, "" for nobody. `is_triggered`: policies decide when to
    compact. `prices` is a file of prices, None for those of the library. With `redacts`, models get no secrets.
    `answers` are those of models. Summaries are returned if `has_summaries`.
    """

    variants: tuple[str, ...]
    commands: tuple[str, ...] = ()
    at: Where = "clean"
    is_triggered: bool = False
    rounds: int = 0
    reader: str = ""
    prices: str | None = None
    keep_recent: int | None = None
    window: int
    redacts: bool = True
    answers: Answers = Answers()
    has_summaries: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all variants; that of a program is its command line."""
        return self.variants + self.commands


class SessionReplay(msgspec.Struct, frozen=True, kw_only=True):
    """The results of one session, or its runs under triggers, or why it could not be replayed."""

    session: str
    results: list[ReplayResult] = []
    runs: list[TriggeredRun] = []
    problem: str = ""


def default_variants(at: str = "clean") -> tuple[str, ...]:
    """Return refold's policy and `drop`, behind the recorded one where a session compacted."""
    return (RECORDED, DEFAULT_POLICY, DROP) if at == "recorded" else (DEFAULT_POLICY, DROP)


def variants_of(wanted: ReplayOptions, log: EventLog | None = None) -> list[Variant]:
    """Return the variants that the options name, with the answers that a log has stored.

    Raises NotFoundError for an unknown policy or template, BadInputError for an invalid one or for a command line
    that names no program, and UsageError for a variant that is named twice.
    """
    if len(set(wanted.names)) < len(wanted.names):
        raise click.UsageError("each variant can be named once")
    extractive = ExtractiveSummarizer()
    return [
        *(_variant(name, wanted, log, extractive) for name in wanted.variants),
        *map(_program, wanted.commands),
    ]


def _program(command: str) -> Variant:
    program = Program(command=command)
    name, *_ = words_of(command)
    if shutil.which(name) is None:
        raise NotFoundError("program", name, "give its path, or install it")
    return Variant(name=command, policy=None, chain=SummarizerChain(summarizers=[]), program=program)


def uses_models(wanted: ReplayOptions) -> bool:
    """Return True if a model writes the summaries of a variant, or reads contexts."""
    return bool(wanted.reader) or any(
        summarizer_of(name).summarizer != ExtractiveSummarizer.name for name in wanted.variants
    )


def summarizer_of(variant: str) -> SummarizerChoice:
    """Return who writes a variant's summaries: whom its `@` names, else `extractive`.

    A policy's own models count only behind `@anthropic`. Raises NotFoundError.
    """
    named, _, given = variant.partition("@")
    if not given:
        return SummarizerChoice(ExtractiveSummarizer.name, (), is_chosen=False)
    return _choice(given, policy_named(named.partition(":")[0]))


def reader_of(wanted: ReplayOptions) -> Reader | None:
    """Return who reads contexts, None for nobody. Raises NotFoundError, UsageError."""
    if not wanted.reader:
        return None
    choice = _choice(wanted.reader)
    if not SUMMARIZERS[choice.summarizer].follows_instructions:
        raise click.UsageError(f"--reader {choice.summarizer} reads nothing: name a model")
    return Reader(summarizer=choice.summarizer, model=choice.models[0] if choice.models else "")


def measures_of(wanted: ReplayOptions, log: EventLog | None = None) -> Measures:
    """Return what a replay measures; a reader's answers are those of a log."""
    reader = reader_of(wanted)
    answers = [stored_answers(log, reader.summarizer, reader.model)] if reader and log else []
    return Measures(
        at=wanted.at,
        limits=Limits(window=wanted.window),
        rounds=wanted.rounds,
        reader=SummarizerChain(summarizers=answers) if reader else None,
        prices=prices_of_file(wanted.prices) if wanted.prices else library_prices(),
    )


def _choice(given: str, policy: Policy | None = None) -> SummarizerChoice:
    choice = choose_summarizer(
        click.get_current_context(silent=True),
        SummarizerOptions(summarizers=(given,), no_redact=False),
        policy,
    )
    if not choice.models and (model := own_model(choice.summarizer)):
        return choice._replace(models=(model,))
    return choice


def _variant(
    name: str, wanted: ReplayOptions, log: EventLog | None, extractive: ExtractiveSummarizer
) -> Variant:
    choice = summarizer_of(name)
    summarizers: list[Summarizer] = [extractive]
    if choice.summarizer != ExtractiveSummarizer.name:
        models = choice.models or ("",)
        summarizers = [stored_answers(log, choice.summarizer, model) for model in models] if log else []
    chain = SummarizerChain(summarizers=summarizers)
    if name in (RECORDED, GIVEN_BACK):
        return Variant(name=name, policy=None, chain=chain, gives_back=name == GIVEN_BACK)
    if name.startswith(f"{RECORDED}+"):
        raise NotFoundError("variant", name, f"there is {GIVEN_BACK}")
    if name == DROP:
        return Variant(name=name, policy=_policy(DEFAULT_POLICY, wanted), chain=chain, drops=True)
    of_policy, _, of_template = name.partition("@")[0].partition(":")
    policy = _policy(of_policy, wanted)
    sources, template = with_template(of_template)
    if template:
        find_template(template, sources)
    return Variant(name=name, policy=policy, chain=chain, template=template, sources=sources)


def _policy(name: str, wanted: ReplayOptions) -> Policy:
    policy = policy_named(name)
    return policy if wanted.keep_recent is None else policy.keeping(wanted.keep_recent)


def without_copies(log: StoredLog, sessions: Sequence[str]) -> list[str]:
    """Leave out forks and copies: they have the events of other sessions.

    Comparisons count each session once, as if it were independent of the others. One that cannot be read stays, to be
    reported with the others' results.
    """
    with log.snapshot() as snapshot:
        return [each for each in sessions if not _is_copy(snapshot, each)]


def _is_copy(snapshot: Snapshot, session: str) -> bool:
    try:
        return copied_through(snapshot, session) > 0
    except CorruptionError:
        return False


def try_replay(wanted: ReplayOptions, log: StoredLog, session: str) -> SessionReplay:
    """Replay a session; return any error but StoreError, so that others are still replayed."""
    try:
        try:
            with log.snapshot() as snapshot:
                variants = variants_of(wanted, log)
                measures = measures_of(wanted, log)
                if wanted.is_triggered:
                    prices = measures.prices or library_prices()
                    limits = measures.limits
                    runs = triggered_runs(snapshot, session, variants, limits=limits, prices=prices, log=log)
                    return SessionReplay(session=session, runs=list(runs))
                answered = wanted.answers.only
                is_whole = answered is None or session in wanted.answers.unplanned
                only = None if is_whole else {seq for name, seq in answered or () if name == session}
                found = replay_session(snapshot, session, variants, measures, only=only, log=log)
                return SessionReplay(
                    session=session, results=[_with_errors(wanted, result) for result in found]
                )
        except RefoldError:
            raise
        except Exception:
            # Damaged bytes can fail in any way. If none are damaged, it is a bug in refold.
            require_sound(log, session)
            raise
    except StoreError:
        raise
    except RefoldError as error:
        return _failed(session, str(error))
    except Exception as error:  # noqa: BLE001  the other sessions must still be replayed
        return _failed(session, f"a bug in refold ({type(error).__name__}: {error})")


def _with_errors(wanted: ReplayOptions, result: ReplayResult) -> ReplayResult:
    """Explain trials for which a model gave no summary; drop summaries that are not shown."""
    at = result.boundary.session, result.boundary.seq
    trials = [
        # A variant's request may have failed, and another variant's request for the same summary not.
        msgspec.structs.replace(
            trial, error=trial.error and wanted.answers.errors.get((*at, trial.variant), trial.error)
        )
        for trial in result.trials
    ]
    summaries = result.summaries if wanted.has_summaries else {}
    return msgspec.structs.replace(result, trials=trials, summaries=summaries)


def _failed(session: str, problem: str) -> SessionReplay:
    return SessionReplay(session=session, problem=f"session {session!r} cannot be replayed: {problem}")
