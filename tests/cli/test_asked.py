"""Sessions of agents that refold asked are recognized by their working folder, and left out."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from tests.cli.lossy import store_lossy
from tests.cli.running import Refold
from tests.support import claude_code, codex
from tests.support.homes import CLAUDE, PI, write
from tests.support.pi_files import header, said

FOLDER = "/tmp/refold-ask-a1b2c3_4"  # noqa: S108  no such folder is made
LEFT_OUT = "2 session files of programs that refold asked left out"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with sessions of two asked agents, and one of a person who writes about them."""
    write(
        tmp_path / CLAUDE / "-tmp-refold-ask-a1b2c3-4" / "a.jsonl",
        claude_code.line(type="queue-operation") + claude_code.said("u1", None, "judge this"),
    )
    rollout = tmp_path / ".codex/sessions/2026/01/01" / codex.name_of()
    write(rollout, codex.meta(cwd=FOLDER) + codex.line("response_item", codex.said("judge this")))
    write(
        tmp_path / PI / "p" / "person.jsonl", header(cwd="/home/me") + said("m1", None, f"what is {FOLDER}?")
    )
    return tmp_path


def test_sync_leaves_them_out_and_says_so(refold: Refold, home: Path) -> None:
    assert LEFT_OUT in refold("sync", "--home", home, "--dry-run").errors
    done = refold("sync", "--home", home)
    assert done.errors.count(LEFT_OUT) == 1
    assert len(refold("sessions", "--json").json["sessions"]) == 1
    assert len(refold("sync", "--home", home, "--json").json["asked"]) == 2


def test_a_named_file_is_imported(refold: Refold, home: Path) -> None:
    (asked,) = home.glob(".claude/projects/*/a.jsonl")
    assert "asked" not in refold("sync", asked).errors
    assert "1 session file of programs that refold asked left out" in refold("sync", home).errors


def test_a_home_of_asked_agents_has_no_sessions(refold: Refold, home: Path) -> None:
    (home / PI / "p" / "person.jsonl").unlink()
    refold("sync", "--home", home, code=1)


def test_judge_leaves_out_what_they_wrote(refold: Refold, home: Path) -> None:
    store_lossy(refold)
    (rollout,) = home.glob(".codex/sessions/*/*/*/*.jsonl")
    refold("sync", rollout)
    assert "2 boundaries to read" in refold("judge", "--all", "--dry-run").out


def test_what_refold_asks_is_what_it_recognizes(
    refold: Refold, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent that writes its session where it works, as harnesses do."""
    store_lossy(refold)
    agent, projects = tmp_path / "agent.py", tmp_path / CLAUDE
    agent.write_text(
        "import json, os, pathlib, re, sys\n"
        "sys.stdin.read()\n"
        f"folder = pathlib.Path({str(projects)!r}, re.sub('[^A-Za-z0-9]', '-', os.getcwd()))\n"
        "folder.mkdir(parents=True)\n"
        f"(folder / 's.jsonl').write_bytes({claude_code.said('u1', None, 'hello')!r})\n"
        f"print({json.dumps(json.dumps({'rules': []}))})\n"
    )
    monkeypatch.setenv("REFOLD_SUMMARIZER_COMMAND", shlex.join([sys.executable, str(agent)]))
    refold("judge", "lossy", "--summarizer", "command", "--yes")
    assert LEFT_OUT in refold("sync", "--home", tmp_path, code=1).errors
