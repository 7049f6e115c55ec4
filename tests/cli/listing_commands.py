"""Commands over many sessions, on a store in which one of them is damaged."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from tests.cli.running import Refold

COMMANDS: Final = (
    *("sessions", "sessions --json", "search parser", "search --json parser", "stats", "stats --json"),
    *(
        "stats --by project",
        "audit --all",
        "check --all",
        "replay --all",
        "bench",
        "push COPY",
        "status",
        "verify",
    ),
)


def costs_a_line(refold: Refold, command: str, folder: Path) -> None:
    """Run a command; check that one line tells of damage, and that session `s`, of "the parser", is there."""
    words = [] if command == "status" else command.replace("COPY", str(folder / "copy")).split()
    told = refold(*words, code=0 if command == "status" else 1)
    if command == "verify":
        assert "problem" in told.out
        return
    (line,) = (each for each in told.errors.splitlines() if each not in told.notes)
    assert re.search("head is wrong|the index of sessions leads to|truncated|altered", line)
    assert "run 'refold verify'" in line
    match words[:1]:
        case ["search"]:
            assert "parser" in told.out
        case ["push"]:
            assert "copied 1 event of 1 session" in told.out
            assert "the parser" in Refold(folder / "copy")("search", "parser").out
        case ["sessions"]:
            assert "parser" in refold("sessions", "--all", code=1).out
        case ["stats"] if "project" not in words:
            assert "message" in told.out
