"""refold replay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Unpack

import click
from msgspec import structs

from cli.compacting import window_option
from cli.options import json_option, prices_option, require_all_or_names, session_filters
from cli.summarizing import SummarizerOptions, summarizer_options_with

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cli.asking import Answers
    from cli.replaying import ReplayOptions, SessionReplay
    from compaction.replay import ReplayResult
    from compaction.replay.boundaries import Where
    from compaction.replay.comparison import VariantSummary
    from compaction.replay.triggered import TriggeredRun
    from projections.overview import SessionFilter


@click.command("replay", epilog="Example:  refold replay @last --with refold --with pi --with drop")
@click.argument("sessions", metavar="SESSION...", nargs=-1)
@click.option(
    "--all",
    "is_all",
    is_flag=True,
    help="Replay all sessions but forks and copies, or those that the next options choose.",
)
@session_filters
@click.option(
    "--with",
    "variants",
    metavar="VARIANT",
    multiple=True,
    help="A policy by name or TOML file, or POLICY:TEMPLATE, or POLICY@MODEL; 'recorded' for what the session did,"
    " 'drop' for no summary at all; repeatable. The first is compared with the others."
    "  [default: refold's policies, and drop]",
)
@click.option(
    "--command",
    "commands",
    metavar="PROG",
    multiple=True,
    help="A variant by a program of yours: it reads the context as JSON and prints the compacted one; repeatable.",
)
@click.option(
    "--timeout",
    type=click.IntRange(1),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="How long a program may take for one context.",
)
@summarizer_options_with("extractive, whatever the policies say")
@click.option(
    "--yes", "is_agreed", is_flag=True, help="Ask the models without a question about the estimate."
)
@click.option(
    "--budget",
    type=click.FloatRange(0),
    metavar="DOLLARS",
    help="Ask the models, but never spend more; leave out boundaries beyond that.",
)
@prices_option
@click.option(
    "--at",
    type=click.Choice(["clean", "recorded", "triggered"]),
    default="clean",
    show_default=True,
    help="Compact inside stretches that were never compacted, where the session did, or when each policy decides to.",
)
@click.option(
    "--horizon",
    type=click.IntRange(1),
    metavar="ANSWERS",
    help="Look for what was needed in so many answers of the model at most.  [default: until the next compaction]",
)
@click.option(
    "--match-size",
    "matches_size",
    is_flag=True,
    help="Let each policy keep as much as makes its context as large as the recorded one, within 2 %.",
)
@click.option(
    "--keep-recent",
    type=click.IntRange(0),
    metavar="TOKENS",
    help="Keep this many recent tokens, whatever the policies say.",
)
@window_option
@click.option(
    "--jobs", type=click.IntRange(1), metavar="N", help="The number of processes; by default one per core."
)
@click.option(
    "--fail-under",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Exit with 1 if a variant keeps less of what was needed, from 0 to 1.",
)
@click.option(
    "-o", "--output", metavar="FILE", help="Write an HTML page with a plot and the summaries side by side."
)
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    sessions: tuple[str, ...],
    *,
    is_all: bool,
    chosen: SessionFilter,
    variants: tuple[str, ...],
    commands: tuple[str, ...],
    timeout: int,
    is_agreed: bool,
    budget: float | None,
    prices: str | None,
    at: Where | Literal["triggered"],
    horizon: int | None,
    matches_size: bool,
    keep_recent: int | None,
    window: int,
    jobs: int | None,
    fail_under: float | None,
    output: str | None,
    as_json: bool,
    **asking: Unpack[SummarizerOptions],
) -> None:
    """Show what other policies and templates would have kept of recorded sessions.

    Each variant compacts the same contexts, without changing the session. What the model used afterwards, up to the
    next recorded compaction, shows what was needed: how much of it does each variant's context still name, and at
    what size? Summaries are extracted from the log without a model, unless --summarizer or --model names one, or a
    VARIANT does, as POLICY@MODEL.
    """
    require_all_or_names(ctx, "replays", sessions, is_all=is_all, chosen=chosen)
    from cli.asking import Consent, answers_for
    from cli.output import counted, echo_note, echo_problem
    from cli.replaying import (
        ReplayOptions,
        asks,
        default_variants,
        replay_sessions,
        variants_of,
        without_copies,
    )
    from cli.store import chosen_names, looks_like_file, opened, resolve_session, store_path
    from cli.summarizing import EXIT_INTERRUPTED
    from compaction.summarizers import CancelledError
    from eventstore.workers import cores

    wanted = ReplayOptions(
        variants=variants or default_variants(),
        commands=commands,
        timeout=timeout,
        at="clean" if at == "triggered" else at,
        is_triggered=at == "triggered",
        horizon=horizon,
        matches_size=matches_size,
        prices=prices,
        keep_recent=keep_recent,
        window=window,
        summarizer=asking["summarizer"],
        models=asking["models"],
        endpoint=asking["endpoint"],
    )
    # Complain about a policy or template before anything is done.
    variants_of(wanted)
    _require_consistent(wanted, fail_under, output)
    is_paid = is_agreed or budget is not None or (prices is not None and not wanted.is_triggered)
    if is_paid and not asks(wanted):
        raise click.UsageError(
            "--yes, --budget and --prices are for models: name one with --model or POLICY@MODEL"
        )
    with opened(ctx, create=any(map(looks_like_file, sessions))) as log:
        names = (
            without_copies(log, chosen_names(log, chosen))
            if is_all
            else [resolve_session(log, each) for each in sessions]
        )
        if wanted.is_triggered:
            ctx.exit(
                _show_runs(
                    replay_sessions(store_path(ctx.obj), names, wanted, jobs=jobs or cores()),
                    len(names),
                    as_json=as_json,
                )
            )
        try:
            consent = Consent(is_given=is_agreed, budget=budget, prices=prices)
            answers = answers_for(log, store_path(ctx.obj), names, wanted, consent, jobs=jobs or cores())
        except CancelledError as error:
            # A terminal shows ^C at the cursor.
            click.echo(err=True)
            echo_problem(str(error), "answers that came before are kept, and are not asked for again")
            ctx.exit(EXIT_INTERRUPTED)
    if answers.left_out:
        places = counted(answers.left_out, "boundary", "boundaries")
        echo_note(f"{places} left out: {answers.why}")
    wanted = structs.replace(wanted, only=answers.only)
    results = replay_sessions(store_path(ctx.obj), names, wanted, jobs=jobs or cores())
    shown = _show(wanted, results, len(names), answers, fail_under=fail_under, output=output, as_json=as_json)
    ctx.exit(shown)


def _require_consistent(wanted: ReplayOptions, fail_under: float | None, output: str | None) -> None:
    """Raise UsageError for options that contradict each other, BadInputError for a file of others."""
    from cli.replaying import asks
    from cli.views.page.html import refuse_other_files

    if wanted.matches_size and (wanted.at != "recorded" or wanted.keep_recent is not None or asks(wanted)):
        problem = (
            "--match-size needs --at recorded, chooses how much is kept, and tries too often to ask a model"
        )
        raise click.UsageError(problem)
    if wanted.is_triggered and (
        fail_under is not None or wanted.horizon is not None or output is not None or asks(wanted)
    ):
        raise click.UsageError(
            "--at triggered measures sizes and costs, not what was needed, and asks no model: leave out --fail-under,"
            " --horizon, --output, --summarizer and --model"
        )
    if output is not None:
        refuse_other_files(output)


def _show_runs(replays: Iterable[SessionReplay], sessions: int, *, as_json: bool) -> int:
    """Print the runs of so many sessions under their policies' triggers, and return the exit code."""
    from cli.output import console, echo_json, echo_problem, paged, progress_bar
    from cli.views.triggered_table import print_runs

    runs: list[TriggeredRun] = []
    is_sound = True
    with progress_bar("replaying") as advance:
        for done, each in enumerate(replays, 1):
            advance(done, sessions)
            runs += each.runs
            if each.problem:
                echo_problem(each.problem)
                is_sound = False
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
    answers: Answers,
    *,
    fail_under: float | None,
    output: str | None,
    as_json: bool,
) -> int:
    """Print the results of so many sessions, or write their page, and return the exit code."""
    from cli.asking import with_errors
    from cli.output import console, echo_bytes, echo_json, echo_problem, echo_text, paged, progress_bar
    from cli.views.page.replay_page import replay_page
    from cli.views.replay_table import print_replay
    from cli.whole_file import write_atomically
    from compaction.replay.comparison import summaries

    results: list[ReplayResult] = []
    is_sound = True
    with progress_bar("replaying") as advance:
        for done, each in enumerate(replays, 1):
            advance(done, sessions)
            results += with_errors(each.results, answers)
            if each.problem:
                echo_problem(each.problem)
                is_sound = False
    found = summaries(results, wanted.names)
    if output is not None:
        content = replay_page(results, found)
        if output == "-":
            echo_bytes(content)
        else:
            size = write_atomically(output, [content])
            if not as_json:
                echo_text(f"{output}  {size:,} bytes")
    if as_json and output != "-":
        echo_json(_json(results, found) | {"leftOut": answers.left_out})
    elif output is None and (results or not answers.left_out):
        out = console()
        with paged(out):
            print_replay(out, results, found)
    least = fail_under or 0.0
    for summary in found:
        if summary.kept_share is not None and summary.kept_share < least:
            echo_problem(
                f"{summary.variant} keeps {summary.kept_share:.4g} of what was needed, under {least:g}"
            )
            is_sound = False
    return 0 if is_sound else 1


def _json(results: Sequence[ReplayResult], summaries: Sequence[VariantSummary]) -> dict[str, object]:
    return {
        "variants": summaries,
        "boundaries": [each.boundary for each in results],
        "trials": [
            structs.replace(trial, boundary=place)
            for place, each in enumerate(results)
            for trial in each.trials
        ],
    }
