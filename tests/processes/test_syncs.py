"""Imports of many files by several processes: killed, interrupted, and of more than fits in memory."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from eventstore import is_store, open_store
from eventstore.verify import verify
from tests.cli.running import Refold
from tests.support.gates import Gate
from tests.support.homes import chains, large_home
from tests.support.patience import PATIENCE, comes
from tests.support.processes import output_of

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/smaps_rollup").exists(), reason="processes are found by /proc"
)

PRIVATE_MEMORY = """
import re, sys, threading
from multiprocessing import active_children
from pathlib import Path
from eventstore import open_store
from eventstore.files.discovery import session_files
from eventstore.files.syncing import compare_sources, import_files

def private():
    "Return the bytes of memory, of this process and its children, that are not pages of a file."
    total = 0
    for process in ["self", *(child.pid for child in active_children())]:
        try:
            text = Path(f"/proc/{process}/smaps_rollup").read_text()
        except OSError:
            continue
        # Pages of the store's file are private and dirty, too, until the system has written them.
        total += int(re.search(r"^Anonymous: +(\\d+) kB", text, re.MULTILINE)[1])
    return total * 1024

peak, is_done = 0, threading.Event()

def watch():
    global peak
    while not is_done.wait(0.05):
        peak = max(peak, private())

if __name__ == "__main__":
    store, home, jobs = sys.argv[1:]
    watching = threading.Thread(target=watch)
    watching.start()
    with open_store(store) as log:
        files = session_files({}, [home])
        with log.snapshot() as snapshot:
            compare_sources(snapshot, files)
        assert all(each.error is None for each in import_files(log, files, jobs=int(jobs)))
    is_done.set()
    watching.join()
    print(peak)
"""
FEW_LEFT = 24
"""Sessions of the 64 after which what is left may be too little for two processes."""
MOST_GROWTH = 30_000_000
"""Bytes that the private memory of an import of 500 MB may exceed that of an import of 100 MB."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with so many files that two processes import them."""
    return large_home(tmp_path / "home", 64, megabytes=64)


@pytest.fixture
def gate(two_cores: None) -> Iterator[Gate]:
    """A gate before the work of each of two processes that read files."""
    del two_cores
    with Gate("eventstore.workers:_serve") as gate:
        yield gate


def start(refold: Refold, home: Path, gate: Gate) -> subprocess.Popen[bytes]:
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return refold.started(*("sync", "--home", home), gate=gate, start_new_session=True, **streams)


def sessions(store: Path) -> int:
    """Return the number of sessions of a store, 0 if there is none."""
    if not is_store(store):
        return 0
    with open_store(store, create=False) as log, log.snapshot() as snapshot:
        return len(list(snapshot.heads()))


def test_killed_at_any_moments_and_run_again_it_makes_the_store_of_one_run(
    tmp_path: Path, home: Path, gate: Gate
) -> None:
    whole, killed = Refold(tmp_path / "whole"), Refold(tmp_path / "killed")
    whole("sync", "--home", home)
    rng = random.Random(5)
    for number in range(12):
        if (before := sessions(killed.store)) > FEW_LEFT:
            break
        process = start(killed, home, gate)
        one, other = gate.held(), gate.held()
        # Only one of the two begins, so that the import cannot end.
        one.go_on()
        # The first may be killed before it has stored anything, the others only later.
        assert not number or comes(lambda before=before: sessions(killed.store) > before)
        time.sleep(rng.random() * 0.1)
        process.send_signal(signal.SIGKILL)
        other.go_on()
        # Both streams end with the last process that has them: none is left.
        process.communicate(timeout=PATIENCE)
    assert sessions(killed.store) > 1
    killed("sync", "--home", home)
    with open_store(whole.store) as one, open_store(killed.store) as other:
        assert verify(other).findings == []
        assert chains(other) == chains(one)
        assert len(chains(one)) == 64
        with one.snapshot() as here, other.snapshot() as there:
            assert sorted(here.sources(), key=str) == sorted(there.sources(), key=str)


def test_interrupted_it_ends_with_one_line_and_goes_on_the_next_time(
    tmp_path: Path, home: Path, gate: Gate
) -> None:
    refold = Refold(tmp_path / "store")
    process = start(refold, home, gate)
    one, _ = gate.held(), gate.held()
    one.go_on()
    assert comes(lambda: sessions(refold.store) > 1)
    # As a terminal does it: to every process of the group.
    os.killpg(process.pid, signal.SIGINT)
    out, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, b"")
    assert re.fullmatch(
        rb"\nrefold: note: \d+ files? imported before that; [^\n]*\nrefold: interrupted\n", errors
    )
    refold("sync", "--home", home)
    with open_store(refold.store) as log:
        assert len(chains(log)) == 64
        assert verify(log).findings == []


def test_where_a_process_is_killed_one_line_names_its_file(tmp_path: Path, home: Path, gate: Gate) -> None:
    refold = Refold(tmp_path / "store")
    process = start(refold, home, gate)
    os.kill(gate.held().pid, signal.SIGKILL)
    _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors.count(b"\n")) == (1, 1)
    assert errors.startswith(b"refold: %b" % bytes(home))


@pytest.mark.long
@pytest.mark.parametrize("jobs", [1, 2])
def test_private_memory_does_not_grow_with_the_size_of_all_files(tmp_path: Path, jobs: int) -> None:
    if shutil.disk_usage(tmp_path).free < 3 << 30:
        pytest.skip("too little space for files of 500 MB and their store")
    peaks = []
    for files, megabytes in ((100, 100), (500, 500)):
        home = large_home(tmp_path / "home", files, megabytes=megabytes)
        peaks.append(int(output_of(PRIVATE_MEMORY, tmp_path / "store", home, str(jobs))))
        shutil.rmtree(tmp_path / "home")
        shutil.rmtree(tmp_path / "store")
    few, many = peaks
    assert many - few < MOST_GROWTH, f"{few:,} bytes for 100 MB, {many:,} bytes for 500 MB"
