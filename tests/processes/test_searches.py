"""Searches by several processes at once, beside an import, and where the store's folder cannot be written."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest

from eventstore import open_store
from projections.search.full_text import INDEX_FILE
from tests.support.disks import disk, mount_for_reading
from tests.support.events import message
from tests.support.processes import output_of

AT_ONCE = """
import sys
from eventstore import open_store
from projections.search import full_text, search
from projections.search.words import Query
from tests.support.crowd import at_once, tell
from tests.support.events import message
full_text._BATCH = 5_000
def work(number):
    with open_store(sys.argv[1]) as log:
        if number == 0:
            for event in range(200):
                log.append("new", [message(f"n{event}", "word")])
            return
        with log.snapshot() as snapshot:
            before = sum(head.version for head in snapshot.heads())
        found = len(search(log, sys.argv[1], Query("word"), limit=10_000))
        assert before <= found <= 400, (before, found)
        tell(found)
at_once(6, work)
with open_store(sys.argv[1]) as log:
    tell(len(search(log, sys.argv[1], Query("word"), limit=10_000)))
"""

SEARCH = """
import sys
from eventstore import open_store
from projections.search import search
from projections.search.words import Query
with open_store(sys.argv[1]) as log:
    print([hit.id for hit in search(log, sys.argv[1], Query("word"), limit=10)])
"""


@pytest.mark.parametrize("number", range(5))
def test_processes_search_a_new_index_at_once_while_another_appends(tmp_path: Path, number: int) -> None:
    del number
    with open_store(tmp_path) as log:
        log.append("s", [message(f"e{n}", f"word {'filler ' * 20}") for n in range(200)])
    assert output_of(AT_ONCE, tmp_path).splitlines()[-1] == "400"


def make(store: Path, filler: int = 0) -> None:
    with open_store(store) as log:
        log.append("s", [message("a", "word")])
        if filler:
            words = " ".join(f"w{n}" for n in range(filler))
            log.append("s", [message("b", words)])


def test_a_store_on_a_disk_that_is_only_read_is_searched(tmp_path: Path) -> None:
    with disk(tmp_path, size="4m") as folder:
        make(folder / "store")
        mount_for_reading(folder)
        assert output_of(SEARCH, folder / "store") == "['a']\n"
        assert not (folder / "store" / INDEX_FILE).exists()


def test_a_store_on_a_full_disk_is_searched(tmp_path: Path) -> None:
    with disk(tmp_path, size="4m") as folder, tempfile.TemporaryDirectory() as other:
        make(folder / "store", 20_000)
        free = shutil.disk_usage(folder).free
        (folder / "filler").write_bytes(bytes(max(free - (1 << 17), 0)))
        assert (
            output_of(f"import tempfile; tempfile.tempdir = {other!r}\n{SEARCH}", folder / "store")
            == "['a']\n"
        )
        (folder / "filler").unlink()
        assert output_of(SEARCH, folder / "store") == "['a']\n"
