"""List the tools of pi's sessions."""

from __future__ import annotations

import re
from typing import Final

from eventstore.harnesses.base import Editor, Tools

_PATHS: Final = ("path", "file_path", "filePath", "notebook_path")
_SCRIPTS: Final = ("command", "cmd")
_ANTHROPICS: Final = Editor(command="command", views="view", paths=("path", "old_path", "new_path"))
_RANGE: Final = r"L?\d+(?:(?:[-+]|\.\.)L?\d+|-|\.\.)?"
_RANGES: Final = rf"{_RANGE}(?:,{_RANGE})*"
_SELECTOR: Final = re.compile(
    rf"(?s:(?<=.)):(?:{_RANGES}(?::raw)?|raw(?::{_RANGES})?|conflicts)\Z", re.ASCII | re.IGNORECASE
)
"""oh-my-pi's read selectors: line ranges, `raw`, both in either order, or `conflicts`."""

# pi has few tools of its own; the others are whatever its extensions register, and many of those take the names that
# oh-my-pi, Claude Code, Codex, opencode or Gemini's program use, or that Anthropic gives its models.
TOOLS: Final = Tools(
    reads=dict.fromkeys(("read", "Read", "read_file", "view", "NotebookRead"), _PATHS),
    modifies=dict.fromkeys(
        (
            "write",
            "edit",
            "Write",
            "Edit",
            "MultiEdit",
            "NotebookEdit",
            "write_file",
            "edit_file",
            "multiedit",
            "multi_edit",
        ),
        _PATHS,
    ),
    editors=dict.fromkeys(("str_replace_based_edit_tool", "str_replace_editor", "memory"), _ANTHROPICS),
    patches=frozenset({"apply_patch", "patch"}),
    shells=dict.fromkeys(
        ("bash", "Bash", "shell", "exec_command", "run_shell_command", "local_shell", "execute"), _SCRIPTS
    ),
    plans=frozenset({"todo", "todowrite", "todo_write", "update_plan", "TodoWrite"}),
    paths=_PATHS,
    scripts=_SCRIPTS,
    ranges=("offset", "limit"),
    selector=_SELECTOR,
)
