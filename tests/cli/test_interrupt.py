"""Ctrl-C while a summary is made: it is called off, recorded as an attempt, and the session is unchanged."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, NoReturn

import pytest

from cli.summarizing import Interrupt
from cli.whole_file import tidy_end
from compaction.summarizers import CancelledError
from compaction.summary import run_at_once
from tests.cli import long_talk
from tests.cli.long_talk import SESSION
from tests.cli.running import Refold, command
from tests.support.local_http import hangs
from tests.support.messages_api import MessagesApi, errs, stalls
from tests.support.patience import PATIENCE, comes

CALLED_OFF = b"\nrefold: cancelled; the session is unchanged\n"
CASES = {
    "compact": (["compact", SESSION, "--keep-recent", "250"], stalls("## Goal\n")),
    "a split turn": (["compact", SESSION, "--keep-recent", "350"], hangs),
    "go": (["go", SESSION, "root", "--summarize"], stalls("## Goal\n")),
    "handoff": (["handoff", SESSION], stalls("## Goal\n")),
    "a wait": (
        ["compact", SESSION, "--keep-recent", "250"],
        errs(529, "overloaded", "overloaded_error", retry_after="60"),
    ),
}


AGAIN = b"asked again for compaction in 60 s (1 of 2)"
NOTES = {"a wait": b"refold: note: summarizer anthropic: 529: overloaded; " + AGAIN + b"\n"}
"""The notes that a case prints before it is interrupted."""


class Interrupted(NamedTuple):
    """A command that was interrupted as soon as it had asked: how it ended, and the store with what was in it."""

    code: int
    out: bytes
    errors: bytes
    refold: Refold
    before: tuple[bytes, bytes]
    told: bytes


def seen(refold: Refold) -> tuple[bytes, bytes]:
    """Return the session's context and its tree, as printed."""
    return refold("context", SESSION, "--format", "pi").raw, refold("tree", SESSION, "--json").raw


@pytest.fixture(scope="module", params=CASES)
def interrupted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Interrupted:
    arguments, reply = CASES[request.param]
    folder = tmp_path_factory.mktemp("interrupted")
    refold = Refold(folder / "store")
    refold("sync", long_talk.write(folder / "talk.jsonl"))
    before = seen(refold)
    with MessagesApi(reply) as api:
        asking = ("--summarizer", "anthropic")
        process = subprocess.Popen(
            command(*arguments, *asking),
            env=refold.environment(
                ANTHROPIC_API_KEY="no-key", ANTHROPIC_BASE_URL=api.url, NO_PROXY="127.0.0.1"
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        while not api.requests:
            time.sleep(0.01)
            assert process.poll() is None
        assert process.stderr is not None
        told, heard = NOTES.get(request.param, b""), b""
        while len(heard) < len(told) and (more := os.read(process.stderr.fileno(), 1024)):
            heard += more
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=PATIENCE)
    return Interrupted(process.returncode, out, heard + errors, refold, before, told)


@pytest.mark.slow
def test_a_command_ends_with_one_line_and_130(interrupted: Interrupted) -> None:
    assert (interrupted.code, interrupted.out, interrupted.errors) == (
        130,
        b"",
        interrupted.told + CALLED_OFF,
    )


@pytest.mark.slow
def test_the_session_is_as_it_was(interrupted: Interrupted) -> None:
    assert seen(interrupted.refold) == interrupted.before
    assert interrupted.refold("verify", "--json").json["findings"] == []


@pytest.mark.slow
def test_the_attempt_is_recorded_with_its_requests(interrupted: Interrupted) -> None:
    attempt = interrupted.refold("log", SESSION, "--json").json_lines[-1]
    assert attempt["kind"] == "attempt"
    told = interrupted.refold("show", SESSION, attempt["id"], "--json").json["record"]
    assert told["error"] == "cancelled"
    assert {request["summarizer"] for request in told["request"]["requests"]} == {"anthropic"}


def test_a_first_press_is_noted_and_a_second_is_pythons_own() -> None:
    interrupt = Interrupt()
    with interrupt.capture():
        signal.raise_signal(signal.SIGINT)
        assert interrupt()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_press_that_another_thread_hears_is_noted_while_two_requests_wait() -> None:
    interrupt = Interrupt()

    def press_and_wait() -> NoReturn:
        # By now the main thread waits: nothing but a signal of its own would wake it.
        time.sleep(0.2)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        wait()

    def wait() -> NoReturn:
        assert comes(interrupt)
        raise CancelledError

    with interrupt.capture(), pytest.raises(CancelledError):
        run_at_once([press_and_wait, wait], threading.Event())


@pytest.mark.parametrize("module", ["signal", "cli.main"])
def test_ctrl_c_while_the_command_is_loading_ends_it_with_one_line(module: str) -> None:
    script = (
        "import builtins, signal, cli.start\n"
        "load = builtins.__import__\n"
        "def interrupted(name, *arguments):\n"
        f"    name == {module!r} and signal.raise_signal(signal.SIGINT)\n"
        "    return load(name, *arguments)\n"
        "builtins.__import__ = interrupted\n"
        "cli.start.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (130, b"refold: interrupted\n")


@pytest.mark.parametrize(("arguments", "code"), [("--version", 0), ("--nothing", 2)])
def test_ctrl_c_once_the_command_is_done_changes_nothing(arguments: str, code: int) -> None:
    ending = (
        "import atexit, signal, sys\n"
        "atexit.register(signal.raise_signal, signal.SIGINT)\n"
        "class Last:\n"
        "    def __del__(self, end=signal.raise_signal, number=signal.SIGINT):\n"
        "        end(number)\n"
        "sys.last = Last()\n"
    )
    done, disturbed = (
        subprocess.run(
            [*run[:2], before + run[2], *run[3:]], capture_output=True, timeout=PATIENCE, check=False
        )
        for run in [command(arguments)]
        for before in ("", ending)
    )
    assert done.returncode == code
    assert (disturbed.returncode, disturbed.stdout, disturbed.stderr) == (code, done.stdout, done.stderr)


def test_outside_of_the_block_nothing_is_noted() -> None:
    interrupt = Interrupt()
    with interrupt.capture():
        assert not interrupt()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    assert not interrupt()


def test_a_press_in_one_block_is_forgotten_in_the_next() -> None:
    interrupt = Interrupt()
    with interrupt.capture():
        signal.raise_signal(signal.SIGINT)
    with interrupt.capture():
        assert not interrupt()


@pytest.mark.skipif(os.name != "posix", reason="this system knows no such signals")
class TestTidyEnd:
    def test_a_signal_that_is_ignored_stays_ignored(self) -> None:
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            with tidy_end():
                signal.raise_signal(signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        finally:
            signal.signal(signal.SIGHUP, before)

    def test_outside_of_the_main_thread_signals_are_as_they_were(self) -> None:
        def handler() -> object:
            with tidy_end():
                return signal.getsignal(signal.SIGTERM)

        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(handler).result() == signal.getsignal(signal.SIGTERM)

    def test_a_signal_ends_the_program_with_its_code(self) -> None:
        with pytest.raises(SystemExit) as info, tidy_end():
            signal.raise_signal(signal.SIGTERM)
        assert info.value.code == 128 + signal.SIGTERM
