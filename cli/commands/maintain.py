"""refold maintain."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, BinaryIO, Final, Unpack

import click

from cli.compacting import policy_option, window_option
from cli.summarizing import SummarizerOptions, summarizer_options

if TYPE_CHECKING:
    from compaction.part import Limits
    from compaction.policy.model import Policy

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
    from cli.compacting import check_templates, new_session_name, policy_named, template_sources
    from cli.harness_protocol import BLANK, ReadAheadLines, load_settings, parse_line, reply_to
    from cli.options import text_of, tool_definitions
    from cli.output import echo_json
    from cli.store import opened_session
    from cli.summarizing import Interrupt, build_summarizer_chain
    from compaction.compactor import Compactor
    from compaction.hooks import installed_hooks
    from compaction.maintainer import Maintainer, Settings
    from compaction.part import Limits
    from eventstore.event import epoch_milliseconds
    from eventstore.formats.base import PromptView
    from eventstore.writing import SessionWriter
    from projections.tokens import counter

    if sys.stdin.buffer in (system, tools):
        raise click.UsageError("--system and --tools cannot read standard input: it carries the events", ctx)
    chosen, interrupt = policy_named(policy), Interrupt()
    lines = ReadAheadLines(sys.stdin.buffer, parse_line)
    limits = Limits(window=window, output=max_output)
    settings = load_settings(settings_file, limits) if settings_file is not None else Settings()
    remote = settings.remote_endpoint if settings.remote_enabled else None
    sent_before = PromptView(
        system=text_of(system) if system else "", tools=tool_definitions(tools) if tools else b""
    )

    def is_cancelled() -> bool:
        # The maintainer also asks whether another thread takes precedence: here only one thread calls it.
        return interrupt() or lines.is_cancelled()

    _check_window(settings.applied_to(chosen), limits)
    with opened_session(ctx, session) as (log, name):
        check_templates(log, name, chosen, template_sources())
        maintainer = Maintainer(
            compactor=Compactor(
                policy=chosen,
                chain=build_summarizer_chain(
                    ctx, log, summarizer_options, is_cancelled, chosen, session=name, remote=remote
                ),
                limits=limits,
                tokens=counter(chosen.counter, log=log),
                sources=template_sources(),
                hooks=installed_hooks(),
            ),
            now=epoch_milliseconds,
            new_session=lambda: SessionWriter(log, new_session_name()),
            settings=settings,
            sent_before=sent_before,
        )
        writer = SessionWriter(log, name)
        for line in lines:
            if line is not BLANK:
                with interrupt.capture():
                    recommendation = reply_to(maintainer, writer, line)
                echo_json(recommendation)
                sys.stdout.buffer.flush()


def _check_window(policy: Policy, limits: Limits) -> None:
    """Raise BadInputError if the window is too small for any context; warn of other misfits."""
    from cli.compacting import warn_of_misfits
    from eventstore.errors import BadInputError

    if policy.trigger.leaves_nothing(limits):
        problem = f"every context is too large for a window of {limits.window:,} tokens"
        raise BadInputError(f"policy {policy.name}", problem, "reserve fewer tokens in its trigger")
    warn_of_misfits(policy, limits)
