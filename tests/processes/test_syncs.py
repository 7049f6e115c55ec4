"""Imports of many files by several processes: killed, interrupted, and of more than fits in memory."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from eventstore import open_store
from eventstore.verify import verify
from tests.cli.running import Refold
from tests.processes.test_audit_all import workers_of
from tests.support.homes import chains, large_home
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
MOST_GROWTH = 30_000_000
"""Bytes that the private memory of an import of 1 GB may exceed that of an import of 200 MB."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with so many files that two processes are at work for a second or more."""
    return large_home(tmp_path / "home", 64, megabytes=64)


def start(refold: Refold, home: Path) -> subprocess.Popen[bytes]:
    return refold.started(
        "sync",
        "--home",
        home,
        "--jobs",
        "2",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def test_killed_at_any_moments_and_run_again_it_makes_the_store_of_one_run(
    tmp_path: Path, home: Path
) -> None:
    whole, killed = Refold(tmp_path / "whole"), Refold(tmp_path / "killed")
    begun = time.monotonic()
    whole("sync", "--home", home, "--jobs", "1")
    took = time.monotonic() - begun
    rng = random.Random(5)
    kills = 0
    for _ in range(12):
        process = start(killed, home)
        try:
            process.communicate(timeout=0.3 + rng.random() * took / 3)
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            kills += 1
            # Both streams end with the last process that has them: none is left.
            process.communicate(timeout=60)
    assert kills >= 2
    killed("sync", "--home", home)
    with open_store(whole.store) as one, open_store(killed.store) as other:
        assert verify(other).findings == []
        assert chains(other) == chains(one)
        assert len(chains(one)) == 64
        with one.snapshot() as here, other.snapshot() as there:
            assert sorted(here.sources(), key=str) == sorted(there.sources(), key=str)


def test_interrupted_it_ends_with_one_line_and_goes_on_the_next_time(tmp_path: Path, home: Path) -> None:
    refold = Refold(tmp_path / "store")
    process = start(refold, home)
    workers_of(process)
    time.sleep(0.5)
    # As a terminal does it: to every process of the group.
    os.killpg(process.pid, signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, out, errors) == (130, b"", b"\nrefold: interrupted\n")
    refold("sync", "--home", home)
    with open_store(refold.store) as log:
        assert len(chains(log)) == 64
        assert verify(log).findings == []


def test_where_a_process_is_killed_one_line_names_its_file(tmp_path: Path, home: Path) -> None:
    refold = Refold(tmp_path / "store")
    process = start(refold, home)
    killed = workers_of(process)[0]
    time.sleep(0.3)
    os.kill(killed, signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors.count(b"\n")) == (1, 1)
    assert errors.startswith(b"refold: %b" % bytes(home))


@pytest.mark.parametrize("jobs", [1, 2])
def test_private_memory_does_not_grow_with_the_size_of_all_files(tmp_path: Path, jobs: int) -> None:
    if shutil.disk_usage(tmp_path).free < 6 << 30:
        pytest.skip("too little space for files of 1 GB and their store")
    peaks = []
    for files, megabytes in ((200, 200), (1000, 1000)):
        home = large_home(tmp_path / "home", files, megabytes=megabytes)
        peaks.append(int(output_of(PRIVATE_MEMORY, tmp_path / "store", home, str(jobs), patience=600)))
        shutil.rmtree(tmp_path / "home")
        shutil.rmtree(tmp_path / "store")
    few, many = peaks
    assert many - few < MOST_GROWTH, f"{few:,} bytes for 200 MB, {many:,} bytes for 1 GB"
