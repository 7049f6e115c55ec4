"""A program in the place of Claude Code that writes down how it was called."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

CALLS = "claude-calls"


def put_claude(patch: pytest.MonkeyPatch, *, fails: bool = False) -> None:
    """Put the program first on the path, and its settings below the current folder."""
    program = Path("bin/claude").resolve()
    program.parent.mkdir(exist_ok=True)
    program.write_text(
        f'#!/bin/sh\necho "$@" >> {Path(CALLS).resolve()}\n{"echo no such thing >&2; exit 3" if fails else ""}\n'
    )
    program.chmod(0o755)
    patch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    patch.setenv("CLAUDE_CONFIG_DIR", str(Path("settings").resolve()))
