"""Hold a command at one of its functions, so that it cannot end before the test has done something to it."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, suppress
from importlib import import_module
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any, NamedTuple, Self

from tests.support.patience import PATIENCE

_START = "from tests.support.gates import main; main()"


class Held(NamedTuple):
    """A process that waits at a gate."""

    pid: int
    connection: Connection

    def go_on(self) -> None:
        self.connection.send(None)


class Gate:
    """A gate before a function, as "module:name": each of its calls waits until the test lets it go on.

    The calls of worker processes wait, too. Those that still wait at the end of the block go on.
    """

    def __init__(self, function: str) -> None:
        self._function = function
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self._listener = self._open.enter_context(Listener(family="AF_UNIX"))
        # A command that ends before it comes to the gate must fail the test.
        self._listener._listener._socket.settimeout(PATIENCE)  # type: ignore[attr-defined]
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def command(self, *arguments: str | Path) -> list[str]:
        """Return the command line of the command with this gate."""
        address = os.fsdecode(self._listener.address)
        return [sys.executable, "-c", _START, address, self._function, *map(str, arguments)]

    def held(self) -> Held:
        """Wait for the next process at the gate."""
        connection = self._open.enter_context(self._listener.accept())
        return Held(connection.recv(), connection)

    def pass_through(self, calls: int) -> None:
        """Let so many calls go on, one after another."""
        for _ in range(calls):
            self.held().go_on()


class _Guarded:
    """A function whose calls wait at a gate; other processes can unpickle it."""

    def __init__(self, address: str, function: str) -> None:
        self._address, self._name = address, function
        module, _, name = function.partition(":")
        self._function = getattr(import_module(module), name)

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return _Guarded, (self._address, self._name)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        with Client(self._address) as gate:
            gate.send(os.getpid())
            with suppress(EOFError):
                gate.recv()
        return self._function(*arguments, **options)


def main() -> None:
    """Run the command with a gate: the arguments are its address, its function, and those of the command."""
    address, function = sys.argv[1:3]
    del sys.argv[1:3]
    guarded = _Guarded(address, function)
    module, _, name = function.partition(":")
    setattr(import_module(module), name, guarded)
    from cli.start import main as run  # noqa: PLC0415  it loads the command, and with it much else

    run()
