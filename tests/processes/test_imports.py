"""Imports of one file by several processes at once: one session, as if one had come after the other."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from eventstore import export_original, open_store
from eventstore.files.importing import import_file
from eventstore.verify import verify
from tests.support.events import events
from tests.support.pi_files import SESSION, header, said
from tests.support.processes import output_of

LINES = 6000
"""More than one append of an import holds."""

IMPORT_AT_ONCE = """
import sys
from eventstore import import_file, open_store
from tests.support.crowd import at_once, tell
def work(number):
    with open_store(sys.argv[1]) as log:
        imported = import_file(log, sys.argv[2])
        tell(f"{imported.id} {imported.events} {imported.added}")
at_once(int(sys.argv[3]), work)
"""


def write(path: Path, lines: int) -> None:
    """A session file of this many entries; a longer one begins as a shorter one."""
    entries = [said(f"text {n}", f"e{n}", f"e{n - 1}" if n else None) for n in range(lines)]
    path.write_bytes(header(3) + b"".join(entries))


def check(store: Path, file: Path, told: list[str], lines: int, added: int) -> None:
    results = [line.split() for line in told]
    assert {tuple(result[:2]) for result in results} == {(SESSION, str(lines))}
    assert sum(int(result[2]) for result in results) == added
    with open_store(store, create=False) as log:
        with log.snapshot() as snapshot:
            assert [head.name for head in snapshot.heads()] == [SESSION]
        found = events(log, SESSION)
        assert [event.id for event in found if event.kind == "message"] == [f"e{n}" for n in range(lines)]
        digest = sha256(b"".join(export_original(log, SESSION))).hexdigest()
        assert digest == sha256(file.read_bytes()).hexdigest()
        assert verify(log).findings == []
        assert import_file(log, file).added == 0
        assert len(events(log, SESSION)) == len(found)


def test_processes_that_import_one_file_at_once_make_one_session(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    write(file, LINES)
    told = output_of(IMPORT_AT_ONCE, tmp_path / "store", file, "4").splitlines()
    check(tmp_path / "store", file, told, LINES, LINES)


def test_processes_that_import_a_grown_file_at_once_add_what_is_new_once(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    write(file, 100)
    with open_store(tmp_path / "store") as log:
        import_file(log, file)
    write(file, LINES)
    told = output_of(IMPORT_AT_ONCE, tmp_path / "store", file, "4").splitlines()
    check(tmp_path / "store", file, told, LINES, LINES - 100)
