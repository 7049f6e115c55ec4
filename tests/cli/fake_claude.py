"""A program in the place of a harness that writes down how it was called."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

CALLS = "claude-calls"


def put_claude(patch: pytest.MonkeyPatch, *, fails: bool = False, as_program: str = "claude") -> None:
    """Put the program first on the path, and its settings below the current folder."""
    program = Path("bin", as_program).resolve()
    program.parent.mkdir(exist_ok=True)
    program.write_text(
        f'#!/bin/sh\necho "$@" >> {Path(CALLS).resolve()}\n{"echo no such thing >&2; exit 3" if fails else ""}\n'
    )
    program.chmod(0o755)
    patch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR", "XDG_CONFIG_HOME"):
        patch.setenv(variable, str(Path("settings").resolve()))
