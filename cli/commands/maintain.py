"""refold maintain."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, BinaryIO, Final, Unpack

import click

from cli.compacting import policy_option, window_option
from cli.summarizing import SummarizerOptions, summarizer_options

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cli.harness_protocol import ParsedLine
    from cli.summarizing import Interrupt
    from compaction.maintainer import Maintainer, Settings
    from compaction.part import Limits
    from compaction.policy.model import Policy
    from eventstore.writing import SessionWriter

DEFAULT_OUTPUT: Final = 32_000


@click.command(
    "maintain",
    epilog="""Example:  echo '{"on":"after_turn"}' | refold maintain @last --policy mask""",
)
@click.argument("session")
@policy_option()
@summarizer_options
@window_option
@click.option(
    "--max-output",
    type=click.IntRange(0),
    default=DEFAULT_OUTPUT,
    show_default=True,
    metavar="TOKENS",
    help="Maximum output of the session's model.",
)
@click.option(
    "--system",
    type=click.File("rb"),
    help="The harness's system prompt, for handoffs and policies that send real messages.",
)
@click.option("--tools", type=click.File("rb"), help="The harness's tools as a JSON list, for the same uses.")
@click.option(
    "--settings", "settings_file", metavar="FILE", help="Settings of automatic compaction, in TOML."
)
@click.pass_context
def command(
    ctx: click.Context,
    session: str,
    *,
    policy: str,
    window: int,
    max_output: int,
    system: BinaryIO | None,
    tools: BinaryIO | None,
    settings_file: str | None,
    **summarizer_options: Unpack[SummarizerOptions],
) -> None:
    """Keep a session's context small while its harness runs: a JSON line in, a JSON line out.

    Each input line reports an event: {"on":"before_request"}, {"on":"after_turn","model":"…"},
    {"on":"error","error":"…","model":"…"}, {"on":"idle","seconds":300}, {"on":"compact","instructions":"…"}
    or {"on":"abort"}. Each answer says what to do: "do" is nothing, retry, switch-model or continue. Changes
    to the log are already appended. An invalid line is answered with an "error", and the next one is read.
    "compact" and "abort" cancel a summary in progress, and so does Ctrl-C, which otherwise ends the command.
    """
    from cli.compacting import build_compactor, check_templates, policy_named, template_sources
    from cli.harness_protocol import ReadAheadLines, parse_line
    from cli.options import prompt_of
    from cli.store import new_session_name, opened_session
    from cli.summarizing import Interrupt, build_summarizer_chain
    from compaction.maintainer import Maintainer
    from compaction.part import Limits
    from eventstore.event import epoch_milliseconds
    from eventstore.writing import SessionWriter

    if sys.stdin.buffer in (system, tools):
        raise click.UsageError("--system and --tools cannot read standard input: it carries the events", ctx)
    chosen, limits = policy_named(policy), Limits(window=window, output=max_output)
    interrupt, lines = Interrupt(), ReadAheadLines(sys.stdin.buffer, parse_line)
    settings = _settings(settings_file, chosen, limits)

    def is_cancelled() -> bool:
        # The maintainer also asks whether another thread takes precedence: here only one thread calls it.
        return interrupt() or lines.is_cancelled()

    with opened_session(ctx, session, writes=True) as (log, name):
        check_templates(log, name, chosen, template_sources())
        chain = build_summarizer_chain(
            ctx, log, summarizer_options, is_cancelled, chosen, session=name, remote=settings.remote
        )
        maintainer = Maintainer(
            compactor=build_compactor(
                log, chosen, chain, limits, counter=chosen.counter, sources=template_sources()
            ),
            now=epoch_milliseconds,
            new_session=lambda: SessionWriter(log, new_session_name()),
            settings=settings,
            sent_before=prompt_of(system, tools),
        )
        _answer(lines, maintainer, SessionWriter(log, name), interrupt)


def _answer(
    lines: Iterable[ParsedLine], maintainer: Maintainer, writer: SessionWriter, interrupt: Interrupt
) -> None:
    """Print an answer for each line, as soon as it is there."""
    from cli.harness_protocol import BLANK, reply_to
    from cli.output import echo_json

    for line in lines:
        if line is not BLANK:
            with interrupt.capture():
                recommendation = reply_to(maintainer, writer, line)
            echo_json(recommendation)
            sys.stdout.buffer.flush()


def _settings(file: str | None, policy: Policy, limits: Limits) -> Settings:
    """Return the settings in a file, or the defaults; warn of what does not fit the model.

    Raises BadInputError for invalid settings, and if the window is too small for any context.
    """
    from cli.compacting import warn_of_misfits
    from cli.harness_protocol import load_settings
    from compaction.maintainer import Settings
    from eventstore.errors import BadInputError

    settings = load_settings(file, limits) if file is not None else Settings()
    policy = settings.applied_to(policy)
    if policy.trigger.leaves_nothing(limits):
        problem = f"every context is too large for a window of {limits.window:,} tokens"
        raise BadInputError(f"policy {policy.name}", problem, "reserve fewer tokens in its trigger")
    warn_of_misfits(policy, limits)
    return settings
