"""A writer that is stopped inside a transaction keeps other writers waiting, and no reader."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from eventstore import open_store
from eventstore.errors import StoreError
from tests.support.events import message, version

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no signal stops a process here")

STOP = """
import os, signal, sys
from eventstore import open_store
from tests.support.events import message
def stop():
    print("stopped", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    return 1
log = open_store(sys.argv[1], clock=stop)
log.append("s", [message("b")])
print("stored", flush=True)
"""
READ = """
import sys
from eventstore import open_store
with open_store(sys.argv[1], read_only=True) as log:
    with log.snapshot() as snapshot:
        print(snapshot.head("s").version)
    log.keep([(b"key", b"value")])
"""
PATIENCE = 60
"""Seconds after which a process counts as one that waits."""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with open_store(tmp_path / "store") as log:
        log.append("s", [message("a", "text")])
    return tmp_path / "store"


@pytest.fixture
def writer(store: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that is stopped inside its append; it goes on when it is told to."""
    with subprocess.Popen([sys.executable, "-c", STOP, store], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "stopped\n"
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        yield process
        process.send_signal(signal.SIGCONT)
        assert process.stdout.readline() == "stored\n"


@pytest.mark.usefixtures("writer")
def test_a_reader_does_not_wait_for_it(store: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", READ, store], check=True, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.stdout == "1\n"


@pytest.mark.parametrize(
    "command", ["sessions", "log s", "context s", "audit s", "search text", "verify", "stats"]
)
def test_a_reading_command_does_not_wait_for_it(store: Path, command: str) -> None:
    refold = [sys.executable, "-m", "refold", "--store", str(store), *command.split()]
    subprocess.run(refold, check=True, capture_output=True, timeout=PATIENCE)


def test_results_are_cached_while_nobody_writes(store: Path) -> None:
    for key in (b"one", b"two"):
        with open_store(store, read_only=True) as log:
            log.keep([(key, b"value")])
            with log.snapshot() as snapshot:
                assert snapshot.derived(key) == b"value"


def test_a_read_only_store_refuses_appends(store: Path) -> None:
    with open_store(store, read_only=True) as log, pytest.raises(StoreError):
        log.append("s", [message("b")])
    assert not (store.parent / "nothing").exists()
    with pytest.raises(StoreError):
        open_store(store.parent / "nothing", read_only=True)


@pytest.mark.usefixtures("writer")
def test_a_reader_cannot_write_while_another_does(store: Path) -> None:
    with open_store(store, read_only=True) as log:
        with pytest.raises(StoreError):
            open_store(store)
        assert version(log, "s") == 1
