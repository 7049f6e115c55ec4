"""Running the command: in this process, as a program of its own, and on a terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import click
from click.testing import CliRunner

from cli.main import main
from tests.support.gates import Gate
from tests.support.patience import PATIENCE

PROJECT = Path(__file__).parents[2]
E = TypeVar("E", bound=BaseException)


class Outcome:
    """The exit code and output of a command, and the error that ended it in this process."""

    def __init__(
        self, code: int | None, out: bytes, errors: bytes, error: BaseException | None = None
    ) -> None:
        self.code, self.raw, self.error = code, out, error
        self.out, self.errors = out.decode("utf-8", "replace"), errors.decode("utf-8", "replace")

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self.out.splitlines()]

    @property
    def notes(self) -> list[str]:
        """The lines on stderr that are no errors."""
        return [line for line in self.errors.splitlines() if line.startswith("refold: note: ")]

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @property
    def json_lines(self) -> list[Any]:
        return [json.loads(line) for line in self.raw.splitlines()]


class Refold:
    """Run the command, by default on one store, and check its exit code."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self.config = store.parent / "config"
        self.columns: int | None = None
        """Columns of the terminal that the command believes to print to in this process; None: no terminal."""

    def __call__(self, *arguments: str | Path, code: int | None = 0, stdin: str | bytes = b"") -> Outcome:
        """Run the command in this process, errors and exit codes and all; with None, any exit code will do."""
        given = stdin.encode() if isinstance(stdin, str) else stdin
        environment = {**dict.fromkeys(UNWANTED), **self._places}
        if self.columns:
            environment |= {"COLUMNS": str(self.columns), "TERM": "xterm"}
        with CliRunner().isolation(given, env=environment) as streams:
            if self.columns:
                # The runner's own is 80, wherever it prints to.
                click.formatting.FORCED_WIDTH = None
                for stream in (sys.stdout, sys.stderr):
                    stream.isatty = lambda: True  # type: ignore[method-assign]
            try:
                main(list(map(str, arguments)))
            except SystemExit as ended:
                # `main` exits while it handles the error that it turned into a line.
                ended_with, error = int(ended.code or 0), ended.__context__
            sys.stdout.flush()
            sys.stderr.flush()
            outcome = Outcome(ended_with, streams[0].getvalue(), streams[1].getvalue(), error)
        assert code in (None, outcome.code), outcome.errors or outcome.out
        return outcome

    def refused(self, error: type[E], *arguments: str | Path, code: int = 1, stdin: str | bytes = b"") -> E:
        """Run a command that is refused with one line; return its error, or what that was made of, for its data."""
        outcome = self(*arguments, code=code, stdin=stdin)
        assert outcome.errors.count("\n") == 1, outcome.errors
        assert outcome.errors.startswith("refold: ")
        found = (
            outcome.error if isinstance(outcome.error, error) else getattr(outcome.error, "__cause__", None)
        )
        assert isinstance(found, error), outcome.error
        # A misspelt option is refused like a wrong one.
        assert error is click.NoSuchOption or not isinstance(found, click.NoSuchOption), outcome.errors
        return found

    def program(
        self, *arguments: str | Path, code: int = 0, stdin: bytes = b"", **environment: str
    ) -> Outcome:
        """Run the command as a program."""
        done = subprocess.run(
            command(*arguments),
            input=stdin,
            capture_output=True,
            env=self.environment(**environment),
            timeout=PATIENCE,
            check=False,
        )
        outcome = Outcome(done.returncode, done.stdout, done.stderr)
        assert code == outcome.code, outcome.errors or outcome.out
        return outcome

    def started(
        self, *arguments: str | Path, gate: Gate | None = None, **streams: Any
    ) -> subprocess.Popen[bytes]:
        """Start the command as a program, and go on."""
        line = gate.command(*arguments) if gate else command(*arguments)
        return subprocess.Popen(line, env=self.environment(), **streams)

    def on_terminal(
        self, *arguments: str | Path, columns: int = 80, typed: bytes = b"", code: int = 0, **environment: str
    ) -> str:
        """Run the command on a terminal of `columns` columns, where `typed` is typed, and return its output."""
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        process = subprocess.Popen(
            command(*arguments),
            stdin=follower,
            stdout=follower,
            stderr=follower,
            env=self.environment(**{"PAGER": "cat", "TERM": "xterm-256color", **environment}),
            start_new_session=True,
        )
        os.close(follower)
        os.write(leader, typed)
        printed = b""
        # At the end of its other side, a terminal is not empty but gone.
        with suppress(OSError):
            while block := os.read(leader, 1 << 16):
                printed += block
        os.close(leader)
        assert process.wait(timeout=PATIENCE) == code, printed
        return printed.decode().replace("\r\n", "\n")

    def environment(self, **given: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in UNWANTED}
        return {**kept, "PYTHONPATH": str(PROJECT), **self._places, **given}

    @property
    def _places(self) -> dict[str, str]:
        """Name the store and the folder of the user's own policies and templates."""
        return {"REFOLD_STORE": str(self.store), "REFOLD_CONFIG": str(self.config)}


# Variables of the tester's own environment that would change the output.
UNWANTED = {"COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TERM", "PAGER", "LESS", "PYTHONIOENCODING"}


def command(*arguments: str | Path) -> list[str]:
    """Return the command line that runs the command as its installed script does."""
    return [sys.executable, "-c", "from cli.start import main; main()", *map(str, arguments)]
