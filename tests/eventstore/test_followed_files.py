"""A file that a process imports again and again: only its ends are compared, and a full look finds the rest."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from eventstore.files import discovery
from eventstore.files.importing import ImportResult, import_sessions
from eventstore.harnesses import source as sources
from eventstore.harnesses.pi.session_file import PiReading
from eventstore.harnesses.source import FollowedFiles, Source, source_path
from eventstore.memory import MemoryLog
from eventstore.verify import verify
from tests.support import claude_code
from tests.support.events import leaf, message, session_names
from tests.support.pi_files import SESSION, header, original, said

ENTRIES = [said(f"text {number}", f"e{number}", f"e{number - 1}" if number else None) for number in range(30)]
FIRST = header(3) + b"".join(ENTRIES[:20])
END = 200


@pytest.fixture
def log() -> MemoryLog:
    return MemoryLog()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


@pytest.fixture
def follow(log: MemoryLog, path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], ImportResult]:
    """Return a function that imports the followed file once it has other bytes."""
    monkeypatch.setattr(sources, "_END_BYTES", END)
    followed = FollowedFiles()

    def write(content: bytes) -> ImportResult:
        with path.open("r+b" if path.exists() else "wb") as file:
            file.write(content)
            file.truncate()
        # Long ago, so that its status could tell it from a later state.
        os.utime(path, (1e9, 1e9))
        return import_sessions(log, path, followed=followed)[0]

    write(FIRST)
    return write


def look(log: MemoryLog, path: Path) -> ImportResult:
    return import_sessions(log, path)[0]


@pytest.mark.parametrize("step", [53, 100, 1000])
def test_growth_in_any_cut_is_followed(
    log: MemoryLog, path: Path, follow: Callable[[bytes], ImportResult], step: int
) -> None:
    content = FIRST + b"".join(ENTRIES[20:])
    for size in range(len(FIRST), len(content) + step, step):
        follow(content[:size])
    assert original(log) == content
    assert leaf(log, SESSION) == "e29"
    assert verify(log).findings == []
    assert look(log, path).added == 0


def test_new_lines_of_followed_file_are_read_once(
    follow: Callable[[bytes], ImportResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    read, whole = list[bytes](), PiReading.whole

    def noted(reading: PiReading, text: bytes, offset: int) -> object:
        read.append(text)
        return whole(reading, text, offset)

    monkeypatch.setattr(PiReading, "whole", noted)
    # Nobody has to recognize it again.
    monkeypatch.setattr(discovery, "harnesses", lambda: pytest.fail("asked who wrote it"))
    assert follow(FIRST + ENTRIES[20]).added == 1
    assert read == [ENTRIES[20][:-1]]


def test_a_followed_file_is_not_digested_again(
    follow: Callable[[bytes], ImportResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = list[int]()
    digest_to = Source.digest_to

    def noted(source: Source, offset: int, skip: int = 0) -> object:
        start, _ = source._digests.get(skip, (skip, None))
        read.append(offset - start)
        return digest_to(source, offset, skip)

    monkeypatch.setattr(Source, "digest_to", noted)
    assert follow(FIRST + ENTRIES[20]).added == 1
    assert sum(read) == 0


@pytest.mark.parametrize(("old", "new"), [(b"/home", b"/HOME"), (b"text 19", b"TEXT 19")])
def test_a_change_at_either_end_is_found(
    log: MemoryLog, follow: Callable[[bytes], ImportResult], old: bytes, new: bytes
) -> None:
    changed = FIRST.replace(old, new) + ENTRIES[20]
    follow(changed)
    assert original(log) == changed


def test_a_full_look_finds_a_change_between(
    log: MemoryLog, path: Path, follow: Callable[[bytes], ImportResult]
) -> None:
    changed = FIRST.replace(b"text 9", b"TEXT 9") + ENTRIES[20]
    assert follow(changed).rewritten == 0
    assert look(log, path).rewritten == 1
    assert original(log) == changed
    assert follow(changed + ENTRIES[21]).added == 1
    assert original(log) == changed + ENTRIES[21]


def test_the_status_of_a_followed_file_proves_nothing(
    log: MemoryLog, path: Path, follow: Callable[[bytes], ImportResult]
) -> None:
    def is_proven() -> bool:
        state = log.snapshot().__enter__().source(source_path(path))
        return state is not None and state.matches(path.stat())

    assert is_proven()
    follow(FIRST + ENTRIES[20])
    assert not is_proven()
    look(log, path)
    assert is_proven()


def test_a_followed_sidechain_is_found_when_it_comes(log: MemoryLog, tmp_path: Path) -> None:
    path, followed = tmp_path / f"{claude_code.SESSION}.jsonl", FollowedFiles()
    lines = [
        claude_code.said("u", None, "one"),
        claude_code.answer("a", "u", "m", "two"),
        claude_code.said("s", None, "aside", isSidechain=True),
        claude_code.said("v", "a", "three"),
    ]
    content = b"".join(line + b"\n" for line in lines)
    for size in range(len(lines[0]), len(content) + 1, 7):
        path.write_bytes(content[:size])
        import_sessions(log, path, followed=followed)
    path.write_bytes(content)
    import_sessions(log, path, followed=followed)
    other = MemoryLog()
    import_sessions(other, path)
    assert session_names(log) == session_names(other)
    assert len(session_names(log)) > 1
    assert original(log, claude_code.SESSION) == path.read_bytes()


def test_another_file_in_its_place_is_read_whole(
    log: MemoryLog, path: Path, follow: Callable[[bytes], ImportResult]
) -> None:
    changed = FIRST.replace(b"text 9", b"TEXT 9") + ENTRIES[20]
    other = path.with_suffix(".new")
    other.write_bytes(changed)
    other.replace(path)
    assert follow(changed).rewritten == 1
    assert original(log) == changed


def test_a_followed_file_that_shrinks_is_read_whole(
    log: MemoryLog, follow: Callable[[bytes], ImportResult]
) -> None:
    follow(FIRST + ENTRIES[20])
    assert follow(FIRST).added == 0
    assert session_names(log) == [SESSION]
    assert original(log) == FIRST


def test_a_new_line_may_have_a_programs_id(log: MemoryLog, path: Path) -> None:
    path.write_bytes(FIRST)
    look(log, path)
    log.append(SESSION, [message("e21", "A program's own.")])
    path.write_bytes(FIRST + ENTRIES[20])
    look(log, path)
    content = FIRST + b"".join(ENTRIES[20:])
    path.write_bytes(content)
    assert look(log, path).rewritten == 1
    assert original(log) == content
    assert verify(log).findings == []
