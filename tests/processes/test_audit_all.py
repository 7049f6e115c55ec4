"""Audits of a whole store by several processes: killed, interrupted, read slowly, and of more than fits in memory."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.running import Refold
from tests.support.processes import output_of
from tests.support.stores import make_store

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found by /proc")

PEAK_OF_AN_AUDIT = """
import os, re, sys
from pathlib import Path
from cli.main import main
if __name__ == "__main__":
    sys.stdout = open(os.devnull, "w")
    try:
        main(["--store", sys.argv[1], "audit", "--all", "--jobs", "2", *sys.argv[2:]])
    except SystemExit as ended:
        assert not ended.code
    print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1], file=sys.__stdout__)
"""

LONG = 20_000
"""Messages of a session whose audit takes seconds."""


@pytest.fixture
def slow(tmp_path: Path) -> Refold:
    """The command with a store of two sessions whose audits take seconds."""
    refold = Refold(tmp_path / "store")
    make_store(refold.store, 2, messages=LONG)
    return refold


def start(refold: Refold, *options: str) -> subprocess.Popen[bytes]:
    return refold.started(
        "audit",
        "--all",
        "--jobs",
        "2",
        *options,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def workers_of(process: subprocess.Popen[bytes]) -> list[int]:
    """The two processes that audit for another, once they are there."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        found = [pid for pid in children(process.pid) if b"spawn_main" in read(f"/proc/{pid}/cmdline")]
        if len(found) == 2:
            return found
        time.sleep(0.01)
    pytest.fail("it started no processes")


def children(parent: int) -> list[int]:
    stats = (read(path) for path in Path("/proc").glob("[0-9]*/stat"))
    found = (re.match(rb"(\d+) \(.*\) \S (\d+) ", stat, re.DOTALL) for stat in stats)
    return [int(match[1]) for match in found if match and int(match[2]) == parent]


def read(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_where_a_process_is_killed_one_line_says_so_and_nothing_hangs(
    slow: Refold, options: list[str]
) -> None:
    process = start(slow, *options)
    os.kill(workers_of(process)[0], signal.SIGKILL)
    # Both streams end with the last process that has them.
    out, errors = process.communicate(timeout=60)
    assert re.fullmatch(rb"refold: session 'session-0000[01]': .* was killed; .*\n", errors), errors
    assert process.returncode == 1
    assert not out.endswith(b"\n")


def test_ctrl_c_ends_all_processes_with_one_line_and_exit_code_130(slow: Refold) -> None:
    process = start(slow)
    workers_of(process)
    # As a terminal does it: to every process of the group.
    os.killpg(process.pid, signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, out, errors) == (130, b"", b"\nrefold: interrupted\n")


def test_a_reader_that_has_seen_enough_ends_all_processes_without_a_word(tmp_path: Path) -> None:
    refold = Refold(tmp_path / "store")
    make_store(refold.store, 40, messages=4, paths=2000)
    process = start(refold, "--json")
    assert process.stdout is not None
    process.stdout.read(10)
    process.stdout.close()
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (141, b"")


def test_memory_does_not_grow_with_the_number_of_sessions(tmp_path: Path) -> None:
    # An audit of one of them is half a megabyte of JSON.
    make_store(tmp_path / "few", 4, messages=4, paths=6000)
    make_store(tmp_path / "many", 120, messages=4, paths=6000)
    few, many = (int(output_of(PEAK_OF_AN_AUDIT, tmp_path / name, "--json")) for name in ("few", "many"))
    assert many - few < 20_000, f"{few:,} kB for 4 sessions, {many:,} kB for 120"


def test_a_store_may_be_written_to_meanwhile(tmp_path: Path) -> None:
    refold = Refold(tmp_path / "store")
    names = make_store(refold.store, 30, messages=200)
    process = start(refold, "--json")
    workers_of(process)
    refold("rename", names[-1], "Renamed while it was audited")
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, b"")
    assert [each["session"] for each in json.loads(out)["sessions"]] == names


def test_a_command_whose_main_module_is_a_script_starts_its_processes(tmp_path: Path) -> None:
    refold = Refold(tmp_path / "store")
    make_store(refold.store, 3, messages=4)
    script = tmp_path / "refold"
    script.write_text(
        "import sys\nfrom cli.main import main\nif __name__ == '__main__':\n    sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, script, "audit", "--all", "--jobs", "2"],
        env=refold.environment(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
