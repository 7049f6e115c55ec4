"""refold install."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import click

from cli.options import json_option

PLUGIN: Final = Path(__file__).parents[2] / "integrations" / "claude-code"
"""The plugin's folder, beside refold's packages."""
_PROGRAM: Final = "claude"
_TIMEOUT: Final = 120.0
"""Seconds for a command of the harness."""


@click.command("install", epilog="Example:  refold install claude-code")
@click.argument("harness", type=click.Choice(["claude-code"]))
@click.option("--uninstall", is_flag=True, help="Take it out again.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@click.pass_context
def command(ctx: click.Context, *, harness: str, uninstall: bool, yes: bool, as_json: bool) -> None:
    """Set refold up in a harness, so that it gives back what compactions drop.

    What it will do is shown first. The harness's own program does it.
    """
    from cli.output import echo_json, echo_note
    from eventstore.errors import NotFoundError

    program = shutil.which(_PROGRAM)
    if program is None:
        raise NotFoundError("program", _PROGRAM, "install Claude Code, or put it on your PATH")
    copies = _settings() / "plugins" / "cache" / "refold"
    commands = _commands(uninstall=uninstall)
    for words in commands:
        echo_note(f"runs: {shlex.join(words)}")
    if uninstall:
        echo_note(f"removes: {copies}")
    else:
        echo_note(f"writes: {_settings() / 'settings.json'}, and copies of {PLUGIN} to {copies}")
    if not yes:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise click.UsageError("nothing was changed: allow it with --yes", ctx)
        if not click.confirm("Go on?", err=True):
            ctx.exit(1)
    for words in commands:
        _run([program, *words[1:]])
    if uninstall:
        shutil.rmtree(copies, ignore_errors=True)
    if as_json:
        echo_json({"harness": harness, "isInstalled": not uninstall})
    else:
        echo_note("done: new sessions of Claude Code " + ("are without it" if uninstall else "have it"))


def _commands(*, uninstall: bool) -> list[list[str]]:
    plugin = [_PROGRAM, "plugin"]
    if uninstall:
        return [[*plugin, "uninstall", "refold@refold"], [*plugin, "marketplace", "remove", "refold"]]
    return [[*plugin, "marketplace", "add", str(PLUGIN)], [*plugin, "install", "refold@refold"]]


def _settings() -> Path:
    """Return Claude Code's folder of settings."""
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")


def _run(words: list[str]) -> None:
    """Run a command of the harness. Raises ClickException with its last line if it fails."""
    try:
        ran = subprocess.run(  # noqa: S603  the words are ours
            words, capture_output=True, text=True, timeout=_TIMEOUT, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise click.ClickException(f"{shlex.join(words)}: {error}") from None
    if ran.returncode:
        said = (ran.stderr.strip() or ran.stdout.strip() or "it said nothing").splitlines()[-1]
        raise click.ClickException(f"{shlex.join(words)} failed: {said}")
