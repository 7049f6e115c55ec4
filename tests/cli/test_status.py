"""`refold` alone shows where things stand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.running import Refold
from tests.cli.tale import SESSION, tale
from tests.support.homes import PI, write

NOTHING_NEW = "no session file in the usual places is new or changed since the last import"


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compacted session in this user's home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PI_CODING_AGENT_DIR", raising=False)
    return write(tmp_path / PI / "p" / "tale.jsonl", tale())


def test_an_empty_store_names_the_one_next_command(refold: Refold) -> None:
    assert refold().lines == ["the store is empty; to import the sessions on this machine: refold sync"]
    assert not refold.store.exists()


def test_what_to_import_comes_before_what_to_audit(refold: Refold, session: Path) -> None:
    refold("sync")
    assert refold().lines[:2] == ["1 session, 1 of them compacted", NOTHING_NEW]
    assert refold().lines[-1] == f"next: refold audit {SESSION}"
    with session.open("ab") as file:
        file.write(b"\n")
    assert refold().lines[1] == "1 session file in the usual places is new or changed since the last import"
    assert refold().lines[-1] == "next: refold sync"


def test_a_touched_file_has_not_changed(refold: Refold, session: Path) -> None:
    session.touch()
    refold("sync")
    for seconds in (None, (2e9, 2e9)):
        os.utime(session, seconds)
        assert refold().lines[1] == NOTHING_NEW
        assert refold("sync").lines[-1] == "imported 0 events from 0 files; 1 unchanged"


def test_a_failed_file_is_new_when_it_changes(refold: Refold, session: Path) -> None:
    poem = write(session.with_name("poem.jsonl"), b"Two roads diverged\n")
    refold("sync", code=1)
    assert refold().lines[1] == NOTHING_NEW
    os.utime(poem, (2e9, 2e9))
    assert refold().lines[1] == "1 session file in the usual places is new or changed since the last import"


def test_the_newest_five_compacted_sessions_are_listed(refold: Refold, session: Path) -> None:
    for number in range(6):
        own = tale().replace(SESSION.encode(), b"s%d" % number).replace(b"2025-12-0", b"202%d-12-0" % number)
        write(session.with_name(f"{number}.jsonl"), own)
    session.unlink()
    refold("sync")
    assert [line.split()[0] for line in refold().lines[3:-1]] == ["s1", "s2", "s3", "s4", "s5"]


def test_without_compactions_the_next_command_lists_the_sessions(refold: Refold, session: Path) -> None:
    write(session, b"".join(tale().splitlines(keepends=True)[:3]))
    refold("sync")
    assert refold().lines == ["1 session, 0 of them compacted", NOTHING_NEW, "next: refold sessions"]
