"""Real session files of Claude Code: read whole, given back byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventstore.files.exporting import export_original
from eventstore.files.importing import import_sessions
from eventstore.memory import MemoryLog
from eventstore.verify import verify
from tests.support.events import events

FOLDER = "claude-code"
SNAPSHOTS = [f"0708a5fa-snap{number}.jsonl" for number in (1, 2, 3)]


def files(corpus: Path) -> list[Path]:
    return sorted((corpus / FOLDER).rglob("*.jsonl"))


def test_every_file_comes_back_byte_for_byte_and_once(corpus: Path) -> None:
    for path in files(corpus):
        log = MemoryLog()
        (imported,) = import_sessions(log, path)
        assert (imported.skipped, imported.orphans) == ([], [])
        assert imported.events == len(path.read_bytes().splitlines())
        assert b"".join(export_original(log, imported.id)) == path.read_bytes()
        assert [each.added for each in import_sessions(log, path)] == [0]
        assert verify(log).findings == []


def test_files_of_agents_are_sessions_beside_the_one_that_started_them(corpus: Path) -> None:
    log = MemoryLog()
    names = [each.id for path in files(corpus) for each in import_sessions(log, path)]
    agents = [name for name in names if "/agent-" in name]
    assert len(agents) == len(set(agents)) == 6
    assert {name.partition("/")[0] for name in agents} <= set(names)


@pytest.mark.parametrize("steps", [(0, 1, 2), (0, 2), (1, 2)])
def test_snapshots_one_after_another_are_the_last_alone(corpus: Path, steps: tuple[int, ...]) -> None:
    grown, alone = MemoryLog(), MemoryLog()
    last = corpus / FOLDER / SNAPSHOTS[steps[-1]]
    for step in steps:
        (imported,) = import_sessions(grown, corpus / FOLDER / SNAPSHOTS[step])
        assert (imported.rewritten, imported.diverged, imported.earlier) == (0, False, None)
    (once,) = import_sessions(alone, last)

    def records(log: MemoryLog) -> list[tuple[str, str | None, bytes]]:
        found = [each for each in events(log, once.id) if each.kind != "import"]
        return [(each.id, each.parent if each.is_entry else None, each.body) for each in found]

    assert records(grown) == records(alone)
    assert b"".join(export_original(grown, once.id)) == last.read_bytes()
