"""Compare whole processes of `refold` to a process of Python that does nothing.

Modules are compiled beforehand, as an installed program's are.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.conftest import REFOLD
from bench.sessions import session_file, session_name

ROOT = Path(__file__).parents[1]
TURNS = 5
ROUNDS = 5
WORK = {
    "startup": ("--help",),
    "startup-context": ("context", session_name(1_000, 60), "--format", "native"),
    "startup-text": ("context", session_name(1_000, 60)),
    "startup-text-long": ("context", session_name(10_000, 60)),
}
"""The arguments of each group's command: the contexts have 60 messages after 1,000 or 10,000 events."""

# Other work on the machine varies within seconds, so the two sides take turns.
pytestmark = [
    pytest.mark.parametrize("turn", range(TURNS), scope="module"),
    pytest.mark.usefixtures("turn"),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return a function that runs Python where a session is imported and modules are compiled."""
    folder = tmp_path_factory.mktemp("startup")
    environment = os.environ | {
        "REFOLD_STORE": str(folder / "store"),
        "PYTHONPYCACHEPREFIX": str(folder / "compiled"),
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def run(*arguments):
        command = [sys.executable, *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT, env=environment)

    run(*REFOLD, "sync", str(session_file(1_000, 60)), str(session_file(10_000, 60)))
    for arguments in WORK.values():
        run(*REFOLD, *arguments)
    return run


@pytest.mark.parametrize("group", WORK)
def test_refold_starts(measure, run, group):
    measure(group, "refold", run, *REFOLD, *WORK[group], rounds=ROUNDS)


@pytest.mark.parametrize("group", WORK)
def test_python_does_nothing(measure, run, group):
    measure(group, "python -c pass", run, "-c", "pass", rounds=ROUNDS)
