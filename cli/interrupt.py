"""Ctrl-C as a question that long work asks, not as an exception in the middle of it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, current_thread, main_thread
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

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
