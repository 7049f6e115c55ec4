"""refold maintain."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Unpack

import click

from cli.compacting import Asking, asking_options, policy_option, window_option

if TYPE_CHECKING:
    from compaction.maintaining import Settings


@click.command(
    "maintain",
    epilog="""Example:  echo '{"on":"after_turn"}' | refold maintain @last --policy mask""",
)
@click.argument("session")
@policy_option("pi")
@asking_options
@window_option
@click.option(
    "--settings", "settings_file", metavar="FILE", help="Settings of automatic compaction, in TOML."
)
@click.option("--json", "_as_json", is_flag=True, help="Answer in JSON, as it does in any case.")
@click.pass_context
def command(
    ctx: click.Context,
    session: str,
    *,
    policy: str,
    window: int,
    settings_file: str | None,
    _as_json: bool,
    **asking: Unpack[Asking],
) -> None:
    """Keep a session's context small while its harness runs: a line of JSON in, a line of JSON out.

    Each line says what happened: {"on":"before_request"}, {"on":"after_turn"},
    {"on":"error","error":"…","model":"…"}, {"on":"idle","seconds":300} or {"on":"compact","instructions":"…"}.
    Each answer says what to do: "do" is nothing, retry, switch-model or continue. What belongs to it in the log
    is appended already. A line that makes no sense is answered with an "error"; the next is read. Ctrl-C calls
    off the summary that is being made, else it ends the command.
    """
    from cli.compacting import asker_of, new_session_name, policy_named, template_sources
    from cli.interrupt import Interrupt
    from cli.maintaining import answer
    from cli.output import echo_json
    from cli.store import opened_session
    from compaction.compactor import Compactor
    from compaction.hooks import installed_hooks
    from compaction.maintaining import Maintainer
    from compaction.part import Limits
    from eventstore.clock import epoch_milliseconds
    from eventstore.writing import SessionWriter
    from projections.tokens import counter

    chosen, settings, interrupt = policy_named(policy), _settings(settings_file), Interrupt()
    with opened_session(ctx, session) as (log, name):
        maintainer = Maintainer(
            compactor=Compactor(
                policy=chosen,
                asker=asker_of(ctx, log, asking, interrupt),
                limits=Limits(window=window),
                tokens=counter(chosen.counter, log=log),
                sources=template_sources(),
                hooks=installed_hooks(),
            ),
            now=epoch_milliseconds,
            new_session=lambda: SessionWriter(log, new_session_name()),
            settings=settings,
        )
        writer = SessionWriter(log, name)
        for number, line in enumerate(sys.stdin.buffer, 1):
            if line.strip():
                with interrupt.noted():
                    advice = answer(maintainer, writer, line, number)
                echo_json(advice)
                sys.stdout.buffer.flush()


def _settings(file: str | None) -> Settings:
    import tomllib
    from pathlib import Path

    from cli.maintaining import settings_of
    from eventstore.errors import BadInputError

    if file is None:
        return settings_of({}, "")
    try:
        given = tomllib.loads(Path(file).read_text("utf-8"))
    except OSError as error:
        raise BadInputError(file, str(error.strerror), "name a TOML file with settings") from None
    except ValueError as error:
        raise BadInputError(file, f"is no TOML ({error})", "docs/policies.md names the settings") from None
    return settings_of(given, file)
