"""Stores that were cut off while nobody had them open: an error or all that was there, and never a signal."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventstore import open_store
from eventstore.lmdb.store import LmdbLog
from tests.support.events import event, message
from tests.support.processes import output_of

CUT_EVERYWHERE = """
import sys
from pathlib import Path
import lmdb.verify
from eventstore import open_store
from eventstore.errors import StoreError
from eventstore.verify import verify
from tests.support.crowd import at_once, tell
from tests.support.events import event
whole, folder, step = Path(sys.argv[1]).read_bytes(), Path(sys.argv[2]), int(sys.argv[3])
with open_store(Path(sys.argv[1]).parent) as log, log.snapshot() as snapshot:
    events = len(list(snapshot.feed()))
def use(_):
    try:
        log = open_store(folder)
    except StoreError as error:
        assert "\\n" not in str(error)
        tell("refused")
        return
    with log:
        found = verify(log)
        assert (found.findings, found.events) == ([], events), found
        for number in range(8):
            log.append("s", [event(f"after{number}", data="x" * 9000)])
            log.keep([(b"key", b"x" * 9000)])
        assert verify(log).findings == []
        tell("whole")
folder.mkdir()
for size in range(1, len(whole), step):
    for file in folder.iterdir():
        file.unlink()
    (folder / "data.mdb").write_bytes(whole[:size])
    at_once(1, use)
"""


def write_plain(log: LmdbLog) -> None:
    log.append("s", [message(f"e{number}", "text " * 100 * (number % 9)) for number in range(40)])
    log.append("t", [message("a")])


def write_over(log: LmdbLog) -> None:
    """So that pages are free, some of them the last of the file."""
    for number in range(12):
        log.append("s", [event(f"e{number}", data="x" * 2000)])
        log.keep([(b"key", b"x" * 9000 * (number % 5))])
    log.keep([(b"key", b"")])


@pytest.mark.parametrize("write", [write_plain, write_over])
def test_a_store_cut_off_anywhere_is_refused_or_whole_and_never_ends_in_a_signal(
    tmp_path: Path, write
) -> None:
    with open_store(tmp_path / "store") as log:
        write(log)
    results = output_of(CUT_EVERYWHERE, tmp_path / "store" / "data.mdb", tmp_path / "cut", "1024").split()
    assert len(results) > 50
    assert "refused" in results
    # The last pages may be free: a store that lost only those is whole; a shorter one is not.
    assert results == sorted(results)
