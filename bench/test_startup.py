"""Compare `refold --help` as a whole process to a process that does nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

GROUP = "startup"
ROOT = Path(__file__).parents[1]
ROUNDS = 25


def run(*arguments):
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, cwd=ROOT)


def test_refold_says_what_it_can_do(measure):
    if not (ROOT / "cli" / "main.py").exists():
        pytest.skip("there is no command line yet")
    measure(GROUP, "refold", run, "-m", "cli.main", "--help", rounds=ROUNDS)


def test_python_does_nothing(measure):
    measure(GROUP, "python -c pass", run, "-c", "pass", rounds=ROUNDS)
