"""refold install."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import click

from cli.options import json_option, require_consent

INTEGRATIONS: Final = Path(__file__).parents[2] / "integrations"
"""The folder with a folder for each integration, beside refold's packages."""
_TIMEOUT: Final = 120.0
"""Seconds for a command of the harness."""


class _Setup(NamedTuple):
    """The way of an integration into a harness.

    It has the harness's name, its program, the integration's folder, and the program's commands.

    Its settings are in the folder that `variable` names, or `home` below the person's: there, `writes` is changed,
    and `copies` is a copy of the integration. Without commands, refold makes that copy: of one file. `trusts` is what
    the person still does.
    """

    name: str
    program: str
    folder: str
    variable: str
    home: str
    install: Sequence[str] = ()
    uninstall: Sequence[str] = ()
    writes: str = ""
    copies: str = ""
    trusts: str = ""

    @property
    def source(self) -> Path:
        return INTEGRATIONS / self.folder

    def inside(self, name: str) -> Path:
        """Return a path in the folder of settings."""
        return Path(os.environ.get(self.variable) or Path.home() / self.home) / name

    def commands(self, source: Path, *, uninstall: bool = False) -> list[list[str]]:
        """Return the words of the program's commands, for an integration in a folder."""
        texts = self.uninstall if uninstall else self.install
        return [[word.format(source) for word in text.split()] for text in texts]

    @property
    def is_there(self) -> bool:
        """True if the program has it, as far as its files tell."""
        place = self.inside(self.copies or self.writes)
        if place.suffix == ".json":
            return place.is_file() and f"{INTEGRATIONS.name}/{self.folder}".encode() in place.read_bytes()
        return os.path.lexists(place)


_ADDED: Final = "plugin marketplace add {}"
_REMOVED: Final = "plugin marketplace remove refold"
_COPIES: Final = "plugins/cache/refold"
_MARK: Final = b"execFile('refold', ['hook', "
"""Stands in each copy of one file that refold ever made."""
SETUPS: Final = {
    "claude-code": _Setup(
        name="Claude Code",
        program="claude",
        folder="claude-code",
        install=(_ADDED, "plugin install refold@refold"),
        uninstall=("plugin uninstall refold@refold", _REMOVED),
        variable="CLAUDE_CONFIG_DIR",
        home=".claude",
        writes="settings.json",
        copies=_COPIES,
    ),
    "codex": _Setup(
        name="Codex",
        program="codex",
        folder="codex",
        install=(_ADDED, "plugin add refold@refold"),
        uninstall=("plugin remove refold@refold", _REMOVED),
        variable="CODEX_HOME",
        trusts=", once you have trusted its hooks at the start of one",
        home=".codex",
        writes="config.toml",
        copies=_COPIES,
    ),
    "oh-my-pi": _Setup(
        name="oh-my-pi",
        program="omp",
        folder="pi",
        install=("plugin link {}",),
        uninstall=("plugin uninstall refold-pi",),
        variable="",
        home=".omp",
        writes="plugins/node_modules/refold-pi",
    ),
    "opencode": _Setup(
        name="opencode",
        program="opencode",
        folder="opencode",
        variable="XDG_CONFIG_HOME",
        home=".config",
        copies="opencode/plugins/refold.js",
    ),
    "pi": _Setup(
        name="pi",
        program="pi",
        folder="pi",
        install=("install {}",),
        uninstall=("remove {}",),
        variable="PI_CODING_AGENT_DIR",
        home=".pi/agent",
        writes="settings.json",
    ),
}


@click.command("install", epilog="Example:  refold install claude-code")
@click.argument("harness", type=click.Choice(tuple(SETUPS)), metavar="HARNESS")
@click.option("--uninstall", is_flag=True, help="Take it out again.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def command(*, harness: str, uninstall: bool, yes: bool, as_json: bool) -> None:
    """Set refold up in a harness, so that it gives back what compactions drop.

    HARNESS is claude-code, codex, oh-my-pi, opencode or pi. What it will do is shown first. The harness's own program
    does it, if it can.
    """
    from cli.output import echo_json, echo_note
    from eventstore.errors import NotFoundError

    setup = SETUPS[harness]
    program = shutil.which(setup.program)
    if program is None:
        raise NotFoundError("program", setup.program, f"install {setup.name}, or put it on your PATH")
    commands = setup.commands(setup.source, uninstall=uninstall)
    if not commands:
        _check_copy(setup.inside(setup.copies))
    for line in _announced(setup, commands, uninstall=uninstall):
        echo_note(line)
    if not yes:
        require_consent("Go on?", "nothing was changed: allow it with --yes")
    was_there = setup.is_there
    _change(setup, program, commands, uninstall=uninstall)
    if as_json:
        echo_json({"harness": harness, "isInstalled": not uninstall})
    elif uninstall and not was_there:
        echo_note(f"{setup.name} did not have it")
    else:
        have = "are without it" if uninstall else f"have it{setup.trusts}"
        echo_note(f"done: new sessions of {setup.name} {have}")


def _announced(setup: _Setup, commands: Sequence[Sequence[str]], *, uninstall: bool) -> list[str]:
    """Return what will be done, in lines."""
    lines = [f"runs: {shlex.join([setup.program, *words])}" for words in commands]
    copies = setup.copies and f"{setup.inside(setup.copies)}"
    if uninstall:
        return [*lines, f"removes: {copies}"] if copies else lines
    files = [f"{setup.inside(setup.writes)}"] if setup.writes else []
    source = setup.source if commands else setup.source / Path(setup.copies).name
    copied = [f"a copy of {source} to {copies}"] if copies else []
    return [*lines, f"writes: {', and '.join([*files, *copied])}"]


def _change(setup: _Setup, program: str, commands: Sequence[Sequence[str]], *, uninstall: bool) -> None:
    """Run the program's commands, and make or remove the copy."""
    is_needed = setup.is_there or not uninstall
    for words in commands:
        try:
            _run([program, *words])
        except click.ClickException:
            if is_needed:
                raise
    copies = setup.inside(setup.copies)
    if uninstall and setup.copies:
        copies.unlink(missing_ok=True) if not commands else shutil.rmtree(copies, ignore_errors=True)
    elif not commands:
        copies.parent.mkdir(parents=True, exist_ok=True)
        copies.unlink(missing_ok=True)
        shutil.copyfile(setup.source / copies.name, copies)


def _check_copy(file: Path) -> None:
    """Raise BadInputError for a file that refold did not make."""
    from eventstore.errors import BadInputError

    if file.exists() and not (file.is_file() and _MARK in file.read_bytes()):
        raise BadInputError(str(file), "is no copy of refold's", "move it away")


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
