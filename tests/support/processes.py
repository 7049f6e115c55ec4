"""Programs of their own, for what would end or hurt the tests' process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_PROJECT = Path(__file__).parents[2]


def start(script: str, *arguments: str | Path) -> subprocess.Popen[str]:
    """A Python program with these arguments; the project's packages are there to import."""
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(_PROJECT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output_of(script: str, *arguments: str | Path) -> str:
    """What a Python program prints. It has to end well."""
    process = start(script, *arguments)
    printed, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    return printed
