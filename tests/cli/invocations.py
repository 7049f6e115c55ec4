"""Each command with arguments that work on any session."""

from __future__ import annotations

from typing import Final

from cli.main import COMMANDS
from tests.cli.tale import SESSION

_LINES: Final = {
    "append": '{"type":"custom","customType":"note"}\n',
    "maintain": '{"on":"after_turn"}\n',
}
_IMPORTED: Final = {SESSION: ["c1"], "hostile": ["e13"]}
"""Imported events of a session, which `undo` undoes only if they are named."""


def invocations(session: str, *, file: str = "tale.jsonl") -> dict[str, list[str]]:
    """From the name of each command that works on a store to a call of it; some read `line_for` them."""
    return {
        "sessions": ["sessions"],
        "search": ["search", "the"],
        "log": ["log", session],
        "show": ["show", session, "#1"],
        "tree": ["tree", session, "--full"],
        "context": ["context", session, "--full"],
        "files": ["files", session],
        "audit": ["audit", session],
        "report": ["report", session, "-o", "report.html"],
        "diff": ["diff", session, "root", "#2"],
        "judge": ["judge", session, "--dry-run"],
        "rules": ["rules", session],
        "check": ["check", session],
        "replay": ["replay", session, "--at", "recorded", "--with", "recorded"],
        "hook": ["hook", "--explain", session],
        "compact": ["compact", session, "--keep-recent", "0", "--dry-run"],
        "prune": ["prune", session, "--policy", "mask"],
        "handoff": ["handoff", session, "--as", "handed-off", "--summarizer", "extractive"],
        "go": ["go", session, "#1"],
        "fork": ["fork", session, "--as", "forked"],
        "undo": ["undo", session, *_IMPORTED.get(session, [])],
        "label": ["label", session, "#1", "a label"],
        # No name holds control characters, so what is appended here begins a session.
        "append": ["append", session, *(["--expected", "0"] if session == "hostile" else [])],
        "maintain": ["maintain", session, "--summarizer", "extractive"],
        "sync": ["sync", file],
        "export": ["export", session, "--format", "pi", "--force", "-o", "exported.jsonl"],
        "stats": ["stats"],
        "verify": ["verify"],
        "push": ["push", "another", "--session", session],
        "backup": ["backup", "copy"],
        "purge": ["purge", session, "--match", "nobody said this"],
        "bench": ["bench", session],
    }


WITHOUT_A_STORE: Final = ("policies", "templates", "demo", "completion", "pull", "mcp", "install")
"""Commands that bring a store of their own, need none, or serve until they are ended."""

NAMES: Final = [name for name in COMMANDS if name not in WITHOUT_A_STORE]


def json_option(name: str) -> list[str]:
    """Return the option for JSON; commands that read lines answer in JSON without one."""
    return [] if name in _LINES else ["--json"]


def line_for(name: str) -> str:
    """Return the standard input of a command; empty for most."""
    return _LINES.get(name, "")
