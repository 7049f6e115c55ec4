"""Measure the private memory of commands over whole stores, for two sizes of a store, and of one large file.

Private memory is what no other process has and the kernel cannot drop: private dirty or anonymous pages, of the command
and the processes that it starts. Pages of the store's map do not count.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.conftest import REFOLD
from bench.sessions import session_file, session_name
from tests.support import claude_code, pi_files
from tests.support.homes import CLAUDE, PI
from tests.support.processes import cores

pytestmark = pytest.mark.slow

LIMIT = 200_000
"""Kilobytes."""
FLAT = 1.25
EVENTS = 1_000
LARGE = 200_000_000
SESSIONS = {"sync": (100, 400), "verify": (100, 400), "audit": (10, 40)}
"""Sessions of 2.3 MB: up to 0.9 GB; an audit reads a session many times."""


@pytest.mark.parametrize("what", SESSIONS)
def test_memory_does_not_follow_the_store(benchmark, tmp_path, what):
    peaks = {}
    for count in SESSIONS[what]:
        store, home = tmp_path / f"store{count}", tmp_path / f"home{count}"
        write_sessions(home / ".pi/agent/sessions/project", count)
        peaks[count] = peak(store, "sync", "--home", str(home))
        if what == "verify":
            peaks[count] = peak(store, "verify")
        elif what == "audit":
            with cores(2):
                peaks[count] = peak(store, "audit", "--all")
    benchmark.group = f"private-memory-{what}"
    benchmark.extra_info.update(role="refold", peak={str(count): size for count, size in peaks.items()})
    benchmark.pedantic(lambda: None, rounds=1)
    smaller, larger = peaks.values()
    assert larger < LIMIT
    assert larger < FLAT * smaller


@pytest.mark.parametrize("harness", ["pi", "claude-code"])
def test_a_large_file_takes_little_memory(benchmark, tmp_path, harness):
    write_large_file(tmp_path / "home", harness)
    used = peak(tmp_path / "store", "sync", "--home", str(tmp_path / "home"))
    benchmark.group = f"private-memory-large-file-{harness}"
    benchmark.extra_info.update(role="refold", peak=used)
    benchmark.pedantic(lambda: None, rounds=1)
    assert used < LIMIT


def write_large_file(home: Path, harness: str) -> None:
    """Write a session of 200 MB in records of 1.5 KB."""
    said = (
        pi_files.said if harness == "pi" else lambda *record: claude_code.said(*record[1:], record[0]) + b"\n"
    )
    path = home / (PI if harness == "pi" else CLAUDE) / "project" / f"{claude_code.SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        if harness == "pi":
            file.write(pi_files.header())
        for number in range(LARGE // 1_500):
            parent = f"record-{number - 1:08}" if number else None
            file.write(said("some text " * 130, f"record-{number:08}", parent))


def write_sessions(folder: Path, count: int) -> None:
    """Write session files that differ in their ids."""
    folder.mkdir(parents=True)
    lines, name = session_file(EVENTS, 60).read_bytes(), session_name(EVENTS, 60).encode()
    for number in range(count):
        (folder / f"{number}.jsonl").write_bytes(lines.replace(name, b"%s-%d" % (name, number)))


def peak(store: Path, *arguments: str) -> int:
    """Run a command; return the most private memory that it and its processes had at once, in kilobytes."""
    command = [sys.executable, *REFOLD, "--store", str(store), *arguments]
    most = 0
    with subprocess.Popen(command, cwd=Path(__file__).parents[1], stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            most = max(most, sum(map(private, family(process.pid))))
            time.sleep(0.05)
    assert process.returncode == 0
    assert most
    return most


def family(pid: int) -> list[int]:
    """Return a process and those that it has started."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        children = []
    return [pid, *(each for child in children for each in family(int(child)))]


def private(pid: int) -> int:
    """Return the private memory of a process in kilobytes; 0 once it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    sizes = {line.split(":")[0]: int(line.split()[1]) for line in lines[1:]}
    # An anonymous page is also dirty, unless it was swapped out.
    return max(sizes.get("Private_Dirty", 0), sizes.get("Anonymous", 0))
