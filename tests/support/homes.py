"""Home folders with the session files of several harnesses."""

from __future__ import annotations

import os
from pathlib import Path

from eventstore import EventLog
from tests.support import claude_code
from tests.support.oh_my_pi_sessions import header as omp_header
from tests.support.oh_my_pi_sessions import line_of, slot
from tests.support.pi_files import header, said

PI = ".pi/agent/sessions"
OMP = ".omp/agent/sessions"
CLAUDE = ".claude/projects"


def write(path: Path, content: bytes, *, time: int = 1_000_000_000) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (time, time))
    return path


def pi_session(home: Path, project: str, name: str, *, records: int = 3) -> Path:
    lines = [
        said(f"text {number} " * 50, f"e{number}", f"e{number - 1}" if number else None)
        for number in range(records)
    ]
    own = b"".join(lines).replace(b'"e0"', b'"%b-e0"' % name.encode())
    return write(home / PI / project / f"{name}.jsonl", header(session=name) + own)


def a_home(folder: Path) -> Path:
    """A home with sessions of three harnesses, among them a subagent's, and a copy of a session's beginning."""
    home = folder / "home"
    for project in ("one", "two", "three"):
        for number in range(4):
            pi_session(home, project, f"{project}-{number}")
    for project in ("p", "q"):
        parent, child = f"parent-{project}", f"child-{project}"
        results = {"results": [{"id": "worker"}]}
        message = {
            "role": "toolResult",
            "toolCallId": "k",
            "toolName": "task",
            "content": [],
            "details": results,
        }
        call = {"type": "message", "id": "a1", "parentId": None, "timestamp": "2026-03-01T12:00:01.000Z"}
        content = slot() + line_of(omp_header(session=parent)) + line_of({**call, "message": message})
        write(home / OMP / project / "2026_x.jsonl", content)
        content = (
            slot()
            + line_of(omp_header(session=child))
            + line_of({**call, "message": {"role": "user", "content": "go"}})
        )
        write(home / OMP / project / "2026_x" / "worker.jsonl", content)
    first = [claude_code.said("u1", None, "hello"), claude_code.answer("a1", "u1", "m1", "yes")]
    for name, more in (("c1", "one"), ("c2", "two")):
        lines = [*first, claude_code.said(f"u-{name}", "a1", more, at=9 if name == "c2" else 5)]
        text = b"\n".join(lines).replace(claude_code.SESSION.encode(), name.encode()) + b"\n"
        write(home / CLAUDE / "-home-me" / f"{name}.jsonl", text)
    return home


def chains(log: EventLog) -> dict[str, bytes]:
    with log.snapshot() as snapshot:
        return {head.name: head.digest for head in snapshot.heads()}


def large_home(home: Path, files: int, *, megabytes: int) -> Path:
    """Make a home with so many sessions of pi, as large together as `megabytes`, in several projects."""
    size = megabytes * 1_000_000 // files
    body, number = b"", 0
    while len(body) < size:
        body += said("some text " * 150, f"e{number}", f"e{number - 1}" if number else None)
        number += 1
    for each in range(files):
        name = f"session-{each:05}"
        # Sessions that begin with the same record may be copies, and are not read at the same time.
        own = body.replace(b'"e0"', b'"%b-e0"' % name.encode())
        write(home / PI / f"project-{each % 8}" / f"{name}.jsonl", header(session=name) + own)
    return home
