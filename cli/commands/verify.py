"""refold verify."""

from __future__ import annotations

import click


@click.command("verify", epilog="Example:  refold verify && echo sound")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(ctx: click.Context, *, as_json: bool) -> None:
    """Check the whole store: every digest, index and pointer. The exit code is 1 if anything is wrong."""
    import sys

    import msgspec

    from cli.output import echo_json
    from cli.store import opened
    from eventstore.verify import verify

    with opened(ctx) as log:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress

            with Progress(console=Console(stderr=True), transient=True) as bar:
                task = bar.add_task("verifying", total=None)
                found = verify(
                    log, progress=lambda done, total: bar.update(task, completed=done, total=total)
                )
        else:
            found = verify(log)
    if as_json:
        echo_json(msgspec.to_builtins(found))
    else:
        for finding in found.findings:
            where = f"{finding.session} #{finding.seq}" if finding.seq else finding.session
            click.echo(f"{where}: {finding.problem}")
        state = f"{len(found.findings)} problems" if found.findings else "sound"
        click.echo(f"{found.events:,} events of {found.sessions:,} sessions: {state}")
    ctx.exit(1 if found.findings else 0)
