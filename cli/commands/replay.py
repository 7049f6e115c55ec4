"""refold replay."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

import click
from msgspec import structs

from cli.compacting import window_option
from cli.options import chosen_prices, json_option, require_all_or_names, session_filters
from cli.summarizing import no_redact_option

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cli.answers import Consent
    from cli.replaying import Answers, ReplayOptions, SessionReplay
    from cli.views.page.replay_page import Origin
    from compaction.replay.boundaries import Where
    from compaction.replay.results import ReplayResult, VariantSummary
    from compaction.replay.triggered import TriggeredRun
    from eventstore.log import StoredLog
    from projections.overview import SessionFilter


@click.command("replay", epilog="Example:  refold replay @last --with refold --with pi --with drop")
@click.argument("sessions", metavar="SESSION...", nargs=-1)
@click.option(
    "--all",
    "is_all",
    is_flag=True,
    help="Replay all sessions except forks and copies, or those that the next options choose.",
)
@session_filters
@click.option(
    "--with",
    "variants",
    metavar="VARIANT",
    multiple=True,
    help="A policy by name or TOML file, POLICY:TEMPLATE, POLICY@MODEL, or POLICY:TEMPLATE@MODEL; 'recorded' for what"
    " the session did, 'recorded+given-back' with what refold hook would give back, 'drop' for no summary at all;"
    " repeatable.  [default: refold and drop; with --at recorded, recorded before them]",
)
@click.option(
    "--command",
    "commands",
    metavar="PROG",
    multiple=True,
    help="A variant made by your own program, which reads a context as JSON and prints the compacted one; repeatable.",
)
@no_redact_option
@click.option("--yes", "is_agreed", is_flag=True, help="Send requests to models without asking you first.")
@click.option(
    "--budget",
    type=click.FloatRange(0),
    metavar="DOLLARS",
    help="Like --yes, but spend no more than this, and leave out the boundaries that it does not cover.",
)
@click.option(
    "--at",
    type=click.Choice(["clean", "recorded", "triggered"]),
    default="clean",
    show_default=True,
    help="Where to compact: in stretches that were never compacted, where the session did, or when policies decide to.",
)
@click.option(
    "--rounds",
    type=click.IntRange(1),
    metavar="N",
    help="Compact what a variant made again, at a session's first N compactions: show what is still there by round.",
)
@click.option(
    "--reader",
    metavar="NAME|MODEL",
    default="",
    help="Who says what contexts have in other words, by quotations that refold checks.  [default: nobody]",
)
@click.option(
    "--keep-recent",
    type=click.IntRange(0),
    metavar="TOKENS",
    help="Keep this many recent tokens, whatever the policies say.",
)
@window_option
@click.option("-o", "--output", metavar="FILE", help="Write an HTML page with the summaries side by side.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    sessions: tuple[str, ...],
    *,
    is_all: bool,
    chosen: SessionFilter,
    output: str | None,
    as_json: bool,
    **options: Unpack[_Options],
) -> None:
    """Show what contexts other policies and templates would have made of recorded sessions.

    Each variant compacts the same contexts, without changing the session. refold measures how much of their
    size is left, or with --at triggered the calls and costs of whole sessions; at recorded compactions that refold
    judge has read, also what is still there. Summaries are extracted from the log without a model, unless a
    VARIANT names one, as POLICY@MODEL.
    """
    require_all_or_names(ctx, "replays", sessions, is_all=is_all, chosen=chosen)
    from cli.answers import Consent
    from cli.each_session import each_session
    from cli.replaying import try_replay, uses_models
    from cli.store import looks_like_file, opened, store_path
    from cli.views.page.replay_page import Origin
    from eventstore.event import epoch_milliseconds

    wanted = _wanted(ctx, options)
    consent = Consent(is_given=options["is_agreed"], budget=options["budget"], prices=wanted.prices)
    _require_consistent(wanted, output, consent)
    may_create = any(map(looks_like_file, sessions))
    with opened(ctx, create=may_create, writes=uses_models(wanted)) as log:
        place = log.place
        names = _names(log, sessions, chosen if is_all else None)
        if wanted.is_triggered:
            runs = each_session(store_path(ctx.obj), names, partial(try_replay, wanted))
            ctx.exit(_show_runs(runs, len(names), as_json=as_json))
        answers = _answers(ctx, log, names, wanted, consent)
    wanted = structs.replace(wanted, answers=answers, has_summaries=output is not None)
    results = each_session(store_path(ctx.obj), names, partial(try_replay, wanted))
    origin = Origin(store=place, command=_command(ctx), made=epoch_milliseconds())
    ctx.exit(_show(wanted, results, len(names), origin, output=output, as_json=as_json))


def _names(log: StoredLog, sessions: Sequence[str], chosen: SessionFilter | None) -> list[str]:
    """Return the sessions that are named, or all that are chosen."""
    from cli.replaying import without_copies
    from cli.store import chosen_names, resolve_session

    if chosen is not None:
        return without_copies(log, chosen_names(log, chosen))
    return list(dict.fromkeys(resolve_session(log, each) for each in sessions))


class _Options(TypedDict):
    """The options that say what to try, where, and with whom."""

    variants: tuple[str, ...]
    commands: tuple[str, ...]
    no_redact: bool
    is_agreed: bool
    budget: float | None
    at: Where | Literal["triggered"]
    rounds: int | None
    reader: str
    keep_recent: int | None
    window: int


def _wanted(ctx: click.Context, options: _Options) -> ReplayOptions:
    from cli.replaying import ReplayOptions, default_variants

    at = options["at"]
    return ReplayOptions(
        variants=options["variants"] or default_variants(at),
        commands=options["commands"],
        at="clean" if at == "triggered" else at,
        is_triggered=at == "triggered",
        rounds=options["rounds"] or 0,
        reader=options["reader"],
        prices=chosen_prices(ctx),
        keep_recent=options["keep_recent"],
        window=options["window"],
        redacts=not options["no_redact"],
    )


def _answers(
    ctx: click.Context, log: StoredLog, sessions: Sequence[str], wanted: ReplayOptions, consent: Consent
) -> Answers:
    """Get what models have to answer, and say which boundaries are left out."""
    from cli.answers import get_answers
    from cli.output import counted, echo_note, echo_problem
    from cli.store import store_path
    from cli.summarizing import EXIT_INTERRUPTED
    from compaction.summarizers import CancelledError

    try:
        answers = get_answers(log, store_path(ctx.obj), sessions, wanted, consent)
    except CancelledError as error:
        # A terminal shows ^C at the cursor.
        click.echo(err=True)
        echo_problem(str(error), "answers received so far are stored, and will not be requested again")
        ctx.exit(EXIT_INTERRUPTED)
    for why, count in answers.left_out.items():
        if count:
            echo_note(f"{counted(count, 'boundary', 'boundaries')} left out: {why}")
    return answers


def _require_consistent(wanted: ReplayOptions, output: str | None, consent: Consent) -> None:
    """Raise an error for a policy, template, program, price or page that will not do.

    Raises UsageError for conflicting options.
    """
    from cli.replaying import reader_of, uses_models, variants_of
    from cli.views.page.html import refuse_other_files
    from projections.audit.prices import prices_of_file

    variants_of(wanted)
    if wanted.is_triggered and (output is not None or uses_models(wanted)):
        raise click.UsageError("--at triggered asks no model and has no page: leave out --output and @MODEL")
    if wanted.at != "recorded" and (wanted.rounds or wanted.reader):
        raise click.UsageError("--rounds and --reader need --at recorded")
    reader_of(wanted)
    if output is not None:
        refuse_other_files(output)
    if (consent.is_given or consent.budget is not None) and not uses_models(wanted):
        raise click.UsageError("--yes and --budget are for models: name one, as POLICY@MODEL or --reader")
    if wanted.prices:
        # Each session would only be reported as one that cannot be replayed.
        prices_of_file(wanted.prices)


def _received(replays: Iterable[SessionReplay], sessions: int) -> Iterator[SessionReplay]:
    """Yield the replays of sessions as they are done; report progress and problems."""
    from cli.output import echo_problem, progress_bar

    with progress_bar("replaying") as advance:
        for done, each in enumerate(replays, 1):
            advance(done, sessions)
            if each.problem:
                echo_problem(each.problem)
            yield each


def _show_runs(replays: Iterable[SessionReplay], sessions: int, *, as_json: bool) -> int:
    """Print the sessions' runs under their policies' triggers, and return the exit code."""
    from cli.output import console, echo_json, paged
    from cli.views.replay_table import print_runs

    runs: list[TriggeredRun] = []
    is_sound = True
    for each in _received(replays, sessions):
        runs += each.runs
        is_sound = is_sound and not each.problem
    if as_json:
        echo_json({"runs": runs})
    else:
        out = console()
        with paged(out):
            print_runs(out, runs)
    return 0 if is_sound else 1


def _show(
    wanted: ReplayOptions,
    replays: Iterable[SessionReplay],
    sessions: int,
    origin: Origin,
    *,
    output: str | None,
    as_json: bool,
) -> int:
    """Print the results of so many sessions, or write their page, and return the exit code."""
    from cli.output import console, echo_bytes, echo_json, echo_note, echo_text, paged
    from cli.views.page.replay_page import replay_page
    from cli.views.replay_table import failures_of, print_replay, session_line
    from cli.whole_file import write_atomically
    from compaction.replay.results import summaries

    results: list[ReplayResult] = []
    is_sound = True
    for each in _received(replays, sessions):
        results += each.results
        is_sound = is_sound and not each.problem
        if sessions > 1 and each.results:
            echo_note(session_line(each.session, len(each.results), summaries(each.results, wanted.names)))
    found, left_out = summaries(results, wanted.names), sum(wanted.answers.left_out.values())
    if output is not None:
        content = replay_page(results, found, origin=origin)
        if output == "-":
            echo_bytes(content)
        else:
            size = write_atomically(output, [content])
            if not as_json:
                echo_text(f"{output}  {size:,} bytes")
                for why in failures_of(results, found):
                    echo_note(why)
    if as_json and output != "-":
        echo_json(_json(results, found) | {"leftOut": left_out})
    elif output is None and (results or not left_out):
        out = console()
        with paged(out):
            print_replay(out, results, found, is_recorded=wanted.at == "recorded")
    # A boundary that was left out has no result either.
    is_empty = any(each.failed == len(results) for each in found) and bool(results or left_out)
    return 1 if is_empty or not is_sound else 0


def _command(ctx: click.Context) -> str:
    """Return the command line of this run, without secrets."""
    from shlex import join

    from cli.output import ARGUMENTS, command_line
    from compaction.summarizers.refusals import mask_secrets

    return mask_secrets(command_line(join(ctx.meta[ARGUMENTS])).rstrip())


def _json(results: Sequence[ReplayResult], summaries: Sequence[VariantSummary]) -> dict[str, object]:
    return {
        "variants": summaries,
        "boundaries": [each.boundary for each in results],
        "trials": [
            structs.replace(trial, boundary=number)
            for number, each in enumerate(results)
            for trial in each.trials
        ],
    }
