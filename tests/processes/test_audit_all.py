"""Audits of a whole store by several processes: killed, interrupted, read slowly, and of more than fits in memory."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import Refold
from tests.support.gates import Gate
from tests.support.patience import PATIENCE
from tests.support.processes import output_of
from tests.support.stores import make_store

pytestmark = pytest.mark.usefixtures("two_cores")

PEAK_OF_AN_AUDIT = """
import os, re, sys
from pathlib import Path
from cli.main import main
if __name__ == "__main__":
    sys.stdout = open(os.devnull, "w")
    try:
        main(["--store", sys.argv[1], "audit", "--all", *sys.argv[2:]])
    except SystemExit as ended:
        assert not ended.code
    print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1], file=sys.__stdout__)
"""


@pytest.fixture
def two(tmp_path: Path) -> Refold:
    """The command with a store of two sessions."""
    refold = Refold(tmp_path / "store")
    make_store(refold.store, 2, messages=4)
    return refold


@pytest.fixture
def gate() -> Iterator[Gate]:
    """A gate before the work of each process that audits."""
    with Gate("eventstore.workers:_serve") as gate:
        yield gate


def start(refold: Refold, *options: str, gate: Gate | None = None) -> subprocess.Popen[bytes]:
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return refold.started("audit", "--all", *options, gate=gate, start_new_session=True, **streams)


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_where_a_process_is_killed_one_line_says_so_and_nothing_hangs(
    two: Refold, gate: Gate, options: list[str]
) -> None:
    process = start(two, *options, gate=gate)
    os.kill(gate.held().pid, signal.SIGKILL)
    # Both streams end with the last process that has them.
    out, errors = process.communicate(timeout=PATIENCE)
    assert re.fullmatch(rb"refold: session 'session-0000[01]': .* was killed; .*\n", errors), errors
    assert process.returncode == 1
    assert not out.endswith(b"\n")


def test_ctrl_c_ends_all_processes_with_one_line_and_exit_code_130(two: Refold, gate: Gate) -> None:
    process = start(two, gate=gate)
    for _ in range(2):
        gate.held()
    # As a terminal does it: to every process of the group.
    os.killpg(process.pid, signal.SIGINT)
    out, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, errors) == (130, b"", b"\nrefold: interrupted\n")


def test_a_reader_that_has_seen_enough_ends_all_processes_without_a_word(tmp_path: Path) -> None:
    refold = Refold(tmp_path / "store")
    make_store(refold.store, 40, messages=4, paths=2000)
    process = start(refold, "--json")
    assert process.stdout is not None
    process.stdout.read(10)
    process.stdout.close()
    _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (141, b"")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is measured by /proc")
def test_memory_does_not_grow_with_the_number_of_sessions(tmp_path: Path) -> None:
    # An audit of one of them is half a megabyte of JSON.
    make_store(tmp_path / "few", 4, messages=4, paths=6000)
    make_store(tmp_path / "many", 120, messages=4, paths=6000)
    few, many = (int(output_of(PEAK_OF_AN_AUDIT, tmp_path / name, "--json")) for name in ("few", "many"))
    assert many - few < 20_000, f"{few:,} kB for 4 sessions, {many:,} kB for 120"


def test_a_store_may_be_written_to_meanwhile(tmp_path: Path, gate: Gate) -> None:
    refold = Refold(tmp_path / "store")
    names = make_store(refold.store, 30, messages=20)
    process = start(refold, "--json", gate=gate)
    both = [gate.held() for _ in range(2)]
    refold("label", names[-1], "--title", "Renamed while it was audited")
    for each in both:
        each.go_on()
    out, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (0, b"")
    assert [each["session"] for each in json.loads(out)["sessions"]] == names


def test_a_command_whose_main_module_is_a_script_starts_its_processes(tmp_path: Path) -> None:
    refold = Refold(tmp_path / "store")
    make_store(refold.store, 3, messages=4)
    script = tmp_path / "refold"
    script.write_text(
        "import sys\nfrom cli.start import main\nif __name__ == '__main__':\n    sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, script, "audit", "--all"],
        env=refold.environment(),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
