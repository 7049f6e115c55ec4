"""The files of a session in which Claude Code called each of its tools for files, searches and subagents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eventstore.files.importing import import_sessions
from eventstore.memory import MemoryLog
from projections.descriptions import summary_line
from projections.files import file_operations
from tests.support.claude_code import SESSION, answer, bring, call, result, said
from tests.support.events import events

PATCH = "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: patched.py\n@@\n*** End Patch\nEOF"
CALLS: dict[str, dict[str, Any]] = {
    "Read": {"file_path": "/a/read.py", "offset": 10, "limit": 5},
    "Edit": {"file_path": "/a/edit.py", "old_string": "a", "new_string": "b"},
    "MultiEdit": {"file_path": "/a/multi.py", "edits": [{"old_string": "a", "new_string": "b"}]},
    "Write": {"file_path": "/a/write.py", "content": "a"},
    "NotebookEdit": {"notebook_path": "/a/book.ipynb", "new_source": "a"},
    "Bash": {"command": PATCH},
    "Grep": {"pattern": "a", "path": "/a/searched"},
    "Glob": {"pattern": "**/*.py", "path": "/a/listed"},
    "Task": {"description": "look", "prompt": "Read /a/other.py", "subagent_type": "Explore"},
}
SHOWN = {
    **{name: next(iter(fields.values())) for name, fields in list(CALLS.items())[:5]},
    "Bash": "apply_patch",
    "Grep": "/a/searched",
    "Glob": "/a/listed",
    "Task": "",
}
"""The beginning of what a log shows behind a tool's name."""


@pytest.fixture
def log(tmp_path: Path) -> MemoryLog:
    log, lines = MemoryLog(), [said("u1", None, "go")]
    for number, (tool, arguments) in enumerate(CALLS.items()):
        own, above = f"a{number}", f"r{number - 1}" if number else "u1"
        lines.append(answer(own, above, f"m{number}", call(f"k{number}", tool, **arguments)))
        lines.append(result(f"r{number}", own, f"k{number}", "done"))
    bring(log, tmp_path / "s.jsonl", *lines)
    return log


def test_what_is_read_and_what_is_modified(log: MemoryLog) -> None:
    found = file_operations(log, SESSION)
    assert found.read_files == ["/a/read.py"]
    assert found.modified_files == [
        "/a/book.ipynb",
        "/a/edit.py",
        "/a/multi.py",
        "/a/write.py",
        "patched.py",
    ]


def test_a_line_of_the_log_shows_what_each_call_was_about(log: MemoryLog) -> None:
    lines = [summary_line(each) for each in events(log, SESSION) if each.role == "assistant"]
    for line, (tool, shown) in zip(lines, SHOWN.items(), strict=True):
        assert line.startswith(f"→ {tool} {shown}".strip())


@pytest.mark.parametrize("name", ["6113e919-3auto", "67d765b5-manual", "aefcb05b", "0708a5fa-snap3"])
def test_the_files_of_real_sessions_are_those_that_their_lines_name(name: str, corpus: Path) -> None:
    path, log = corpus / "claude-code" / f"{name}.jsonl", MemoryLog()
    (imported,) = import_sessions(log, path)
    modified, read = set[str](), set[str]()
    for line in path.read_bytes().splitlines():
        record = json.loads(line)
        content = record.get("message", {}).get("content")
        for block in content if record["type"] == "assistant" and isinstance(content, list) else ():
            used = block.get("name"), block.get("input", {})
            if used[0] in ("Edit", "MultiEdit", "Write", "NotebookEdit"):
                modified.add(used[1].get("file_path") or used[1]["notebook_path"])
            elif used[0] == "Read":
                read.add(used[1]["file_path"])
    found = file_operations(log, imported.id)
    assert set(found.modified_files) <= modified
    assert set(found.read_files) <= read - set(found.modified_files)
    assert found.modified_files
    if name != "aefcb05b":
        # That one was rewound: what the branch behind touched does not count.
        assert (set(found.modified_files), set(found.read_files)) == (modified, read - modified)
