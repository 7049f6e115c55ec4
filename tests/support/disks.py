"""Disks of their own, where the tests may mount some."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def disk(folder: Path, *, size: str) -> Iterator[Path]:
    """A folder as a disk of this size. Skips the test where none can be mounted."""
    if sys.platform != "linux" or os.geteuid():
        pytest.skip("only root on Linux may mount a disk")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "refold-test", str(folder)]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def mount_for_reading(folder: Path) -> None:
    """Let nothing on a disk be written any more."""
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
