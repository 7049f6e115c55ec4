"""Records whose type no format knows are kept and counted, for every harness."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from eventstore.files.exporting import export_original
from eventstore.files.importing import import_sessions
from eventstore.harnesses import harnesses, node_of
from eventstore.harnesses.lines import OTHER_TYPES
from eventstore.imports import newest_import
from eventstore.memory import MemoryLog
from tests.support import claude_code, codex, oh_my_pi_sessions, pi_files
from tests.support.events import events

Json = dict[str, Any]


def of_pi(name: str, type_: Any, parent: str | None) -> bytes:
    record = {"type": type_, "id": name, "parentId": parent, "timestamp": "2025-12-08T22:00:00.000Z"}
    if type_ == "message":
        record["message"] = {"role": "user", "content": "a"}
    return json.dumps(record).encode()


def of_claude_code(name: str, type_: Any, parent: str | None) -> bytes:
    if type_ == "message":
        return claude_code.said(name, parent, "a")
    if type_ == "custom":
        return claude_code.note("mode", mode="normal")
    return claude_code.record(name, parent, type_, data=1)


def of_codex(name: str, type_: Any, parent: str | None) -> bytes:  # noqa: ARG001  a rollout is linear
    if type_ == "message":
        return codex.line("response_item", codex.said("a", id=name))[:-1]
    return codex.line("event_msg" if type_ == "custom" else type_, {"type": "notice", "id": name})[:-1]


class Writing(NamedTuple):
    """The first lines of a harness's file, and a function that writes a record of a type.

    `unknown` is the kind of the events of an unknown type, "" for a kind with its name.
    """

    head: bytes
    record: Callable[[str, Any, str | None], bytes]
    unknown: str = ""


WRITING = {
    "pi": Writing(pi_files.header(), of_pi),
    "oh-my-pi": Writing(oh_my_pi_sessions.file_of([]), of_pi),
    "claude-code": Writing(b"", of_claude_code),
    "codex": Writing(codex.meta(), of_codex, "note"),
}


def test_every_harness_is_here() -> None:
    # The records of opencode are messages: what else an export has is kept between them.
    assert {each.name for each in harnesses()} - {"opencode"} == WRITING.keys()


@pytest.fixture(params=WRITING)
def writing(request: pytest.FixtureRequest) -> Writing:
    return WRITING[request.param]


def lines_of(writing: Writing, *types: Any) -> list[bytes]:
    ids = [f"e{number}" for number in range(len(types))]
    return [
        writing.record(own, type_, parent)
        for own, type_, parent in zip(ids, types, [None, *ids], strict=False)
    ]


def test_they_are_kept_and_counted_by_type(writing: Writing, tmp_path: Path) -> None:
    lines = lines_of(writing, "message", "hologram", "custom", "telepathy", "hologram", "import", "message")
    path, log = tmp_path / "s.jsonl", MemoryLog()
    path.write_bytes(writing.head + b"\n".join(lines) + b"\n")
    for _ in range(2):
        (imported,) = import_sessions(log, path)
        assert imported.unknown == {"hologram": 2, "telepathy": 1, "import": 1}
        assert imported.skipped == []
    named = [each.kind for each in events(log, imported.id) if b"hologram" in each.body]
    assert named[:2] == [writing.unknown or "hologram"] * 2
    assert b"".join(export_original(log, imported.id)) == path.read_bytes()


def test_the_import_in_the_log_says_so(writing: Writing, tmp_path: Path) -> None:
    path, log = tmp_path / "s.jsonl", MemoryLog()
    path.write_bytes(writing.head + b"\n".join(lines_of(writing, "message", "hologram")) + b"\n")
    (imported,) = import_sessions(log, path)
    with log.snapshot() as snapshot:
        newest = newest_import(snapshot, snapshot.head(imported.id))
    assert newest is not None
    assert newest.unknown == {"hologram": 1}
    line = node_of(events(log, imported.id)[-1]).line
    assert "hologram" in line


@pytest.mark.slow
@pytest.mark.parametrize("step", [1, 7, 64])
def test_a_growing_file_counts_each_once(writing: Writing, step: int, tmp_path: Path) -> None:
    lines = lines_of(writing, "message", "hologram", "message", "telepathy", "hologram", "message")
    whole = writing.head + b"\n".join(lines) + b"\n"
    path, log = tmp_path / "s.jsonl", MemoryLog()
    begin = len(writing.head) + len(lines[0]) + 1
    for end in range(begin, len(whole) + step, step):
        path.write_bytes(whole[:end])
        (imported,) = import_sessions(log, path)
    assert imported.unknown == {"hologram": 2, "telepathy": 1}


def test_known_records_are_not_counted(writing: Writing, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(writing.head + b"\n".join(lines_of(writing, "message", "custom", "message")) + b"\n")
    (imported,) = import_sessions(MemoryLog(), path)
    assert imported.unknown == {}


def test_very_many_types_are_counted_together(writing: Writing, tmp_path: Path) -> None:
    types = [f"type-{number}" for number in range(300)]
    path = tmp_path / "s.jsonl"
    odd = ["x" * 300, 7, "\ud800"]
    path.write_bytes(writing.head + b"\n".join(lines_of(writing, "message", *types, *odd)) + b"\n")
    (imported,) = import_sessions(MemoryLog(), path)
    assert sum(imported.unknown.values()) == 303
    assert len(imported.unknown) < 60
    assert imported.unknown["type-0"] == 1
    assert imported.unknown[OTHER_TYPES] > 200
    assert all(len(name) <= 100 for name in imported.unknown)


def test_a_subagents_records_are_counted_in_its_session(tmp_path: Path) -> None:
    side = {"isSidechain": True}
    path = tmp_path / "s.jsonl"
    path.write_bytes(
        b"\n".join(
            [
                claude_code.said("u1", None, "a"),
                claude_code.said("s1", None, "task", **side),
                claude_code.record("s2", "s1", "hologram", **side),
                claude_code.record("x1", "u1", "telepathy"),
            ]
        )
        + b"\n"
    )
    main, agent = import_sessions(MemoryLog(), path)
    assert (main.unknown, agent.unknown) == ({"telepathy": 1}, {"hologram": 1})


@pytest.mark.parametrize("harness", ["pi", "claude-code"])
def test_real_sessions_have_none(harness: str, corpus: Path) -> None:
    files = sorted((corpus / harness).rglob("*.jsonl"))
    assert files
    for path in files:
        assert [each.unknown for each in import_sessions(MemoryLog(), path)] == [{}], path
