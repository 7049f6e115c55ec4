"""A record costs a few times its size, whole or torn; one above the limit is kept, but is no record."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from eventstore import append
from eventstore.errors import BadInputError
from eventstore.files.exporting import export_original
from eventstore.files.importing import import_file
from eventstore.harnesses import source
from eventstore.memory import MemoryLog
from eventstore.verify import verify
from tests.support import claude_code
from tests.support.events import message
from tests.support.patience import PATIENCE
from tests.support.pi_files import header, said

LARGE = 24 << 20
IMPORT = """
import resource, sys
from eventstore import export_original, import_file, open_store
with open_store(sys.argv[1]) as log:
    # What the interpreter and its libraries need by themselves.
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done = import_file(log, sys.argv[2])
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with open(sys.argv[2], "rb") as file:
        same = all(file.read(len(piece)) == piece for piece in export_original(log, done.id)) and not file.read()
print(done.added, len(done.skipped), same, (after - before) * 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "records", "skipped"),
    [
        pytest.param(said("x" * LARGE, "a", None), 2, 0, id="whole"),
        pytest.param(said("x" * LARGE, "a", None)[:-9] + b"\n", 1, 1, id="torn"),
        pytest.param(
            b'{"type":"message","message":' + b'{"a":1 ' * (LARGE // 7) + b"\n", 1, 1, id="beginnings"
        ),
        pytest.param(b"[" * LARGE + b"\n", 1, 1, id="brackets"),
    ],
)
def test_a_large_line_is_read_in_memory_that_follows_it(
    line: bytes, records: int, skipped: int, tmp_path: Path
) -> None:
    file = tmp_path / "session.jsonl"
    parent = "a" if records == 2 else None
    file.write_bytes(header() + line + said("after it", "b", parent))
    done = subprocess.run(
        [sys.executable, "-c", IMPORT, tmp_path / "store", file],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    added, passed_over, same, memory = done.stdout.split()
    assert (int(added), int(passed_over), same) == (records, skipped, "True")
    assert int(memory) < 8 * LARGE


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit that a test can exceed."""
    for module in (append, source):
        monkeypatch.setattr(module, "MAX_RECORD_BYTES", 5000)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("end", [b"", b"\n"], ids=["torn", "whole"])
@pytest.mark.parametrize("lines", ["pi", "claude-code"])
def test_a_line_above_the_limit_is_skipped(tmp_path: Path, lines: str, end: bytes) -> None:
    path, log = tmp_path / "session.jsonl", MemoryLog()
    first = (
        (header(), said("first", "a", None))
        if lines == "pi"
        else (claude_code.said("a", None, "first") + b"\n",)
    )
    content = b"".join(first) + b'{"type":"' + b"x" * 6000 + b'"}' + end
    path.write_bytes(content)
    done = import_file(log, path)
    assert [each.line for each in done.skipped] == [len(first) + 1]
    assert b"".join(export_original(log, done.id)) == content
    assert verify(log).findings == []


@pytest.mark.usefixtures("small")
def test_an_event_above_the_limit_is_refused() -> None:
    with pytest.raises(BadInputError, match="largest"):
        MemoryLog().append("s", [message("a", "x" * 6000)])


def test_a_line_that_no_harness_writes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_LARGEST_LINE", 200_000)
    path = tmp_path / "session.jsonl"
    path.write_bytes(header() + said("first", "a", None))
    with path.open("ab") as file:
        file.truncate(1 << 30)
    with pytest.raises(
        BadInputError, match=r"session\.jsonl: has a line of more than 200,000 bytes, from byte \d+"
    ):
        import_file(MemoryLog(), path)
