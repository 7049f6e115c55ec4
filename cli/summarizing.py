"""Ask for a summary on a person's behalf: say who is asked, wait, stop at Ctrl-C, advise after a failure."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Lock, current_thread, main_thread
from types import FrameType
from typing import TYPE_CHECKING, Final

from cli.output import echo_note, error_console

if TYPE_CHECKING:
    import click
    from rich.progress import Progress, TaskID

    from compaction.summarizers import SummarizerError


CODE = 130
"""The exit code of what was interrupted."""


class Interrupt:
    """Says whether somebody has pressed Ctrl-C: what a summarizer asks while it waits."""

    def __init__(self) -> None:
        self._pressed = Event()

    def __call__(self) -> bool:
        return self._pressed.is_set()

    @contextmanager
    def noted(self) -> Iterator[None]:
        """In the block, a first Ctrl-C is noted, and no more; a second one ends the program."""
        self._pressed.clear()
        before = signal.getsignal(signal.SIGINT)

        def note(_number: int, _frame: FrameType | None) -> None:
            self._pressed.set()
            signal.signal(signal.SIGINT, before)

        signal.signal(signal.SIGINT, note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


@contextmanager
def tidy_end() -> Iterator[None]:
    """End the program on SIGTERM and SIGHUP as on Ctrl-C: the block can remove what is half made.

    A signal that is ignored, as SIGHUP under nohup, stays so. Outside the main thread nothing changes: only that
    thread can be told of signals.
    """
    if current_thread() is not main_thread():
        yield
        return

    def end(number: int, _frame: FrameType | None) -> None:
        sys.exit(128 + number)

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    heard = [number for number in numbers if signal.getsignal(number) not in (signal.SIG_IGN, None)]
    before = [(number, signal.signal(number, end)) for number in heard]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


@contextmanager
def cancellable(ctx: click.Context) -> Iterator[Interrupt]:
    """A block in which Ctrl-C calls off what asks the interrupt; that is told, and ends the command with 130."""
    from cli.output import echo_problem
    from compaction.summarizers import CancelledError

    interrupt = Interrupt()
    try:
        with interrupt.noted():
            yield interrupt
    except CancelledError as error:
        # A terminal shows ^C where the cursor stands.
        sys.stderr.write("\n")
        echo_problem(str(error), "the session is as it was")
        ctx.exit(CODE)


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


_MODEL_FREE: Final = "--summarizer extractive"
_MINUTE: Final = 60
_MANY: Final = 2 * _MINUTE


@contextmanager
def told_what_to_do(ctx: click.Context) -> Iterator[None]:
    """A block in which a summary that nobody gives is told with what to do, and ends the command with 1."""
    from cli.output import echo_problem
    from compaction.summarizers.asking import AskingError

    try:
        yield
    except AskingError as error:
        echo_problem(str(error), f"the session is as it was; {advice(error.failures[-1])}")
        ctx.exit(1)


def advice(failure: SummarizerError) -> str:
    """Return what may help after the last of those that were asked has failed."""
    from compaction.summarizers.summarizer import UnfitTemplateError

    if isinstance(failure, UnfitTemplateError):
        return "name another template, one with sections such as Goal and Next Steps, or another --summarizer"
    if failure.is_too_long:
        return f"give a policy with a smaller `window` under [prompting], or {_MODEL_FREE}"
    if failure.retry_after:
        return f"try again in {_duration(failure.retry_after)}, or {_MODEL_FREE}"
    if failure.is_transient:
        return f"try again later, or {_MODEL_FREE}"
    return f"{_MODEL_FREE} asks no model"


def _duration(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds < _MANY else f"{seconds / _MINUTE:,.0f} min"
