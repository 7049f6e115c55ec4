"""A writer that is stopped inside a transaction keeps other writers waiting, and no reader."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from eventstore import open_store
from eventstore.errors import StoreError
from eventstore.verify import verify
from tests.support.events import message, version

STOP = """
import os, signal, sys
from eventstore import open_store
from eventstore.lmdb.data_files import StoreFiles
from tests.support.events import message
log, commit = open_store(sys.argv[1]), StoreFiles.commit
def stop(*given):
    print("stopped", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    commit(*given)
StoreFiles.commit = stop
log.append("s", [message("b")])
print("stored", flush=True)
"""
STOP_BEFORE = """
import os, signal, sys
from eventstore import open_store
from tests.support.events import message
stops = [signal.SIGSTOP]
def stop():
    if stops:
        print("stopped", flush=True)
        os.kill(os.getpid(), stops.pop())
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
def writer(store: Path) -> Iterator[None]:
    """A process that is stopped inside its transaction."""
    with stopped(STOP, store):
        yield


@contextmanager
def stopped(program: str, store: Path) -> Iterator[None]:
    """Run a program that stops itself; let it go on after the block."""
    with subprocess.Popen(
        [sys.executable, "-c", program, store], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "stopped\n"
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        yield
        process.send_signal(signal.SIGCONT)
        assert process.stdout.readline() == "stored\n"


@pytest.mark.usefixtures("writer")
def test_a_reader_does_not_wait_for_it(store: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", READ, store], check=True, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.stdout == "1\n"


@pytest.mark.parametrize(
    "command",
    [
        *("sessions", "log s", "context s", "audit s", "search text", "verify", "stats"),
        *("compact s --keep-recent 0 --dry-run", "prune s --policy mask --dry-run", "go s root --dry-run"),
    ],
)
def test_a_reading_command_does_not_wait_for_it(store: Path, command: str) -> None:
    refold = [sys.executable, "-m", "refold", "--store", str(store), *command.split()]
    subprocess.run(refold, check=True, capture_output=True, timeout=PATIENCE)


def test_nobody_waits_while_it_makes_its_frames(store: Path) -> None:
    with stopped(STOP_BEFORE, store), open_store(store) as log:
        assert log.append("s", [message("c")]).version == 2
    with open_store(store) as log:
        assert verify(log).findings == []
        assert version(log, "s") == 3


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
