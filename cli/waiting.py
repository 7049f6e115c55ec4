"""How a person is told who is asked for a summary, for how long by now, and what goes wrong meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from cli.output import echo_note, error_console

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Waiting:
    """An onlooker on standard error: on a terminal a line for each request that is waited for, elsewhere notes only.

    `foretold` are notes for who waits, if anybody is asked at all: before the first request.
    """

    def __init__(self, foretold: Sequence[str] = ()) -> None:
        self._foretold = list(foretold)
        self._lock = Lock()
        self._lines: Progress | None = None

    @contextmanager
    def waiting_for(self, whom: str) -> Iterator[None]:
        """A line with the seconds since the block was entered."""
        self._foretell()
        if not sys.stderr.isatty():
            yield
            return
        line = self._begun(whom)
        try:
            yield
        finally:
            self._ended(line)

    def note(self, what: str) -> None:
        """A note, also where nobody watches."""
        echo_note(what)

    def _foretell(self) -> None:
        with self._lock:
            while self._foretold:
                echo_note(self._foretold.pop(0))

    def _begun(self, whom: str) -> TaskID:
        with self._lock:
            if self._lines is None:
                self._lines = _lines()
                self._lines.start()
            return self._lines.add_task(f"asking {whom}", total=None)

    def _ended(self, line: TaskID) -> None:
        with self._lock:
            assert self._lines is not None  # noqa: S101  it is there as long as a line is
            self._lines.remove_task(line)
            if not self._lines.tasks:
                self._lines.stop()
                self._lines = None


def _lines() -> Progress:
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    return Progress(*columns, console=error_console(), transient=True)
