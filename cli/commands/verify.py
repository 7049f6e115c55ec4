"""refold verify."""

from __future__ import annotations

import click

from cli.options import json_option


@click.command("verify", epilog="Example:  refold verify && echo sound")
@json_option
@click.pass_context
def command(ctx: click.Context, *, as_json: bool) -> None:
    """Check the whole store: every digest, index and pointer. The exit code is 1 if anything is wrong."""
    from cli.output import counted, echo_json, echo_text, progress_bar
    from cli.store import opened
    from eventstore.verify import verify

    with opened(ctx) as log, progress_bar("verifying") as progress:
        found = verify(log, progress=progress)
    if as_json:
        echo_json(found)
    else:
        for finding in found.findings:
            where = f"{finding.session} #{finding.seq}" if finding.seq else finding.session or "the store"
            echo_text(f"{where}: {finding.problem}")
        state = counted(len(found.findings), "problem") if found.findings else "sound"
        echo_text(f"{counted(found.events, 'event')} of {counted(found.sessions, 'session')}: {state}")
    ctx.exit(1 if found.findings else 0)
