"""Real session files of pi: in and out byte for byte, the same anywhere, and sound."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventstore import EventLog, open_store
from eventstore.files.exporting import export_original, export_session
from eventstore.files.importing import import_file
from eventstore.lmdb.store import LmdbLog
from eventstore.verify import verify
from tests.support.events import NOW, events

BEFORE_COMPACTION_V1 = "pi-mono-before-compaction.v1.jsonl"
BEFORE_COMPACTION_V3 = "pi-mono-before-compaction.v3.jsonl"
LARGE_V1 = "pi-mono-large-session.v1.jsonl"
FILES = (BEFORE_COMPACTION_V1, BEFORE_COMPACTION_V3, LARGE_V1)
IDS = {
    BEFORE_COMPACTION_V1: ["0de226df", "ac19a090", "b4ccfbf8"],
    LARGE_V1: ["b0e74a60", "4f1ec411", "3b49ba89"],
}


@pytest.fixture(params=FILES)
def path(request: pytest.FixtureRequest, corpus: Path) -> Path:
    return corpus / "pi" / request.param


def tree(log: EventLog, session: str) -> list[tuple[str, str | None]]:
    return [(found.id, found.parent) for found in events(log, session) if found.is_entry]


def test_every_line_but_the_header_is_an_event(store: LmdbLog, path: Path) -> None:
    found = import_file(store, path)
    lines = path.read_bytes().count(b"\n") - 1
    assert (found.events, found.added, found.skipped) == (lines, lines, [])


def test_a_file_comes_back_byte_for_byte(store: LmdbLog, path: Path) -> None:
    session = import_file(store, path).id
    assert b"".join(export_original(store, session)) == path.read_bytes()


def test_a_file_brought_twice_adds_nothing(store: LmdbLog, path: Path) -> None:
    first = import_file(store, path)
    with store.snapshot() as snapshot:
        before = snapshot.head(first.id)
    again = import_file(store, path)
    assert (again.id, again.events, again.added) == (first.id, first.events, 0)
    with store.snapshot() as snapshot:
        assert snapshot.head(first.id) == before


def test_a_file_brought_in_parts_comes_to_the_same(store: LmdbLog, tmp_path: Path, path: Path) -> None:
    content, part = path.read_bytes(), tmp_path / "part.jsonl"
    for size in (len(content) // 3, len(content) // 2, len(content)):
        part.write_bytes(content[:size])
        session = import_file(store, part).id
    assert b"".join(export_original(store, session)) == content
    with open_store(tmp_path / "other") as other:
        import_file(other, path)
        assert tree(other, session) == tree(store, session)


def test_a_file_gives_the_same_chain_in_two_stores(store: LmdbLog, tmp_path: Path, path: Path) -> None:
    session = import_file(store, path).id
    copy = tmp_path / "copied.jsonl"
    copy.write_bytes(path.read_bytes())
    with open_store(tmp_path / "other", clock=lambda: NOW + 1) as other:
        import_file(other, copy)
        one, two = ([found.digest for found in events(log, session)] for log in (store, other))
        assert one == two


def test_a_store_of_a_file_is_sound(store: LmdbLog, path: Path) -> None:
    import_file(store, path)
    assert verify(store).findings == []


def test_an_export_to_pi_brings_the_same_tree_to_another_store(
    store: LmdbLog, tmp_path: Path, path: Path
) -> None:
    session = import_file(store, path).id
    exported = tmp_path / "exported.jsonl"
    exported.write_bytes(b"".join(export_session(store, session, "pi")))
    with open_store(tmp_path / "other") as other:
        assert import_file(other, exported).skipped == []
        assert tree(other, session) == tree(store, session)


@pytest.mark.parametrize("name", IDS)
def test_the_ids_of_version_1_are_those_that_were_fixed(store: LmdbLog, corpus: Path, name: str) -> None:
    session = import_file(store, corpus / "pi" / name).id
    ids = [name for name, _ in tree(store, session)]
    assert [ids[0], ids[1], ids[-1]] == IDS[name]
    assert len(set(ids)) == len(ids)


def test_both_compactions_by_index_are_those_that_pi_resolved(store: LmdbLog, corpus: Path) -> None:
    kept = []
    for name in (BEFORE_COMPACTION_V1, BEFORE_COMPACTION_V3):
        session = import_file(store, corpus / "pi" / name).id
        kept.append([found.target_seq for found in events(store, session) if found.kind == "compaction"])
    assert kept[0] == kept[1]
    assert len(kept[0]) == 2
    assert all(kept[0])


def test_a_file_and_its_migration_are_two_generations(store: LmdbLog, corpus: Path) -> None:
    old = import_file(store, corpus / "pi" / BEFORE_COMPACTION_V1)
    new = import_file(store, corpus / "pi" / BEFORE_COMPACTION_V3)
    assert new.id == f"{old.id}~2"
    for session, name in ((old.id, BEFORE_COMPACTION_V1), (new.id, BEFORE_COMPACTION_V3)):
        assert b"".join(export_original(store, session)) == (corpus / "pi" / name).read_bytes()
        assert import_file(store, corpus / "pi" / name).added == 0
    assert verify(store).findings == []
