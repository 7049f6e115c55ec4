from __future__ import annotations

import struct
from pathlib import Path
from zlib import crc32

import lmdb
import pytest

from eventstore import open_store
from eventstore.errors import CorruptionError
from eventstore.verify import verify
from tests.support import sentences
from tests.support.events import message
from tests.support.tampering import tables


def put(path: Path, table: bytes, key: bytes, value: bytes) -> None:
    """Write a row below the store's back."""
    with lmdb.open(str(path), max_dbs=9, map_size=1 << 30, lib_version=0) as env:
        db = env.open_db(table, create=False)
        with env.begin(write=True) as transaction:
            transaction.put(key, value, db=db)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with open_store(tmp_path / "store") as log:
        log.append("s", [message("a")])
    return tmp_path / "store"


def test_an_event_is_never_written_over_a_row_that_stands_there(path: Path) -> None:
    put(path, b"events", struct.pack(">IQ", 1, 2), b"stray")
    with open_store(path) as log, pytest.raises(CorruptionError) as refused:
        log.append("s", [message("b")])
    assert (refused.value.session, refused.value.seq) == ("s", 2)


def test_verify_finds_a_row_behind_the_newest_event(path: Path) -> None:
    put(path, b"events", struct.pack(">IQ", 1, 2), b"stray")
    with open_store(path) as log:
        assert [(finding.session, finding.seq) for finding in verify(log).findings] == [("s", 0)]


def test_verify_finds_an_id_of_no_event(path: Path) -> None:
    put(path, b"ids", struct.pack(">I", 1) + b"b", struct.pack(">Q", 1))
    with open_store(path) as log:
        (finding,) = verify(log).findings
    assert (finding.session, finding.seq, sentences.numbers(finding.problem)) == ("s", 0, [2, 1])


def test_verify_finds_an_event_that_no_session_holds(path: Path) -> None:
    with tables(path) as changing:
        ((key, nothing),) = changing.items("holders")
        changing.delete("holders", key)
        changing.put("holders", bytes(4) + key[4:], nothing)
    with open_store(path) as log:
        assert [(finding.session, finding.seq) for finding in verify(log).findings] == [("s", 1)]


def test_ids_of_one_checksum_are_told_apart(path: Path) -> None:
    alike = "plumless", "buckeroo"
    assert len({crc32(name.encode()) for name in alike}) == 1
    with open_store(path) as log:
        log.append("s", [message(name) for name in alike])
        log.append("t", [message(alike[0])])
        with log.snapshot() as snapshot:
            assert [snapshot.sessions_with(name) for name in alike] == [["s", "t"], ["s"]]
            assert [snapshot.sessions_with(name, only="t") for name in alike] == [["t"], []]
        assert verify(log).findings == []
