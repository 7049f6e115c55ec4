"""A store that one process opens several times: its logs share what is open, and the last one closes it."""

from __future__ import annotations

import gc
import os
import threading
from pathlib import Path

import lmdb
import pytest

from eventstore import open_store
from eventstore.errors import StoreError, StoreOptionsError
from eventstore.frame import decode
from eventstore.lmdb.environment import Durability
from eventstore.lmdb.store import LmdbLog
from tests.support.events import message, version
from tests.support.processes import output_of

OPEN_IN_A_CHILD = """
import sys
from eventstore import open_store
from eventstore.errors import StoreError
from tests.support.crowd import at_once, tell
from tests.support.events import message, version
one, other = open_store(sys.argv[1]), open_store(sys.argv[1])
one.append("s", [message("a")])
def use(_):
    try:
        open_store(sys.argv[1])
    except StoreError:
        tell("refused")
    one.close()
    with open_store(sys.argv[1]) as mine:
        tell(mine.append("s", [message("b")]).version)
        try:
            other.append("s", [message("c")])
        except StoreError:
            tell("refused")
at_once(1, use)
tell(other.append("s", [message("d")]).version)
tell(version(one, "s"))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "store")
    return tmp_path


def is_let_go(store: Path) -> bool:
    """Return True if this process has the store open no more: LMDB itself opens no file twice."""
    try:
        lmdb.open(str(store), lib_version=0, max_dbs=9).close()
    except lmdb.Error:
        return False
    return True


@pytest.mark.parametrize("name", ["store", "./store", "link", "link/../store"])
def test_a_store_is_shared_under_any_name(folder: Path, name: str) -> None:
    with open_store(folder / "store") as log, open_store(name) as other:
        assert log.append("s", [message("a")]).version == 1
        assert other.append("s", [message("b")]).version == 2
        assert (version(log, "s"), version(other, "s")) == (2, 2)
        assert (other.path, log.path) == (name, str(folder / "store"))


@pytest.mark.parametrize("first", [0, 1])
def test_the_last_that_is_closed_closes_the_store(folder: Path, first: int) -> None:
    logs = [open_store("store"), open_store("store")]
    logs[first].append("s", [message("a")])
    for _ in range(2):
        logs[first].close()
        assert not is_let_go(folder / "store")
        with pytest.raises(StoreError):
            logs[first].append("s", [message("b")])
        with pytest.raises(StoreError), logs[first].snapshot():
            pass
    assert logs[1 - first].append("s", [message("b")]).version == 2
    logs[1 - first].close()
    assert is_let_go(folder / "store")


@pytest.mark.slow
def test_a_log_that_is_forgotten_keeps_nothing_open(folder: Path) -> None:
    kept = open_store("store")
    open_store("store")
    gc.collect()
    kept.close()
    assert is_let_go(folder / "store")


def test_a_store_that_only_a_snapshot_keeps_open_may_be_opened(folder: Path) -> None:
    log = open_store("store")
    log.append("s", [message("a")])
    with log.snapshot() as snapshot:
        log.close()
        again = open_store("store")
        assert again.append("s", [message("b")]).version == 2
        assert decode(snapshot.frame("s", 1), "s").id == "a"
    assert version(again, "s") == 2
    again.close()
    assert is_let_go(folder / "store")


@pytest.mark.usefixtures("folder")
def test_each_log_has_its_own_clock() -> None:
    with open_store("store", clock=lambda: 1) as one, open_store("store", clock=lambda: 2) as other:
        one.append("s", [message("a")])
        other.append("s", [message("b")])
        with one.snapshot() as snapshot:
            assert [decode(frame, "s").recorded for frame in snapshot.frames("s")] == [1, 2]


def test_other_options_are_refused_and_nothing_is_changed(folder: Path) -> None:
    with LmdbLog("store", map_size=1 << 24) as log:
        for options in ({"durability": "batch"}, {"map_size": 1 << 25}):
            with pytest.raises(StoreOptionsError) as refused:
                LmdbLog("link", **{"map_size": 1 << 24, **options})  # type: ignore[arg-type]
            (name,) = options
            assert (refused.value.path, refused.value.option) == ("link", name)
            assert refused.value.wanted == options[name]
        assert log.append("s", [message("a")]).version == 1
    assert is_let_go(folder / "store")
    with open_store("store", durability="batch") as batched:
        assert version(batched, "s") == 1


@pytest.mark.parametrize("durability", ["each", "batch"])
def test_threads_open_use_and_close_one_store(folder: Path, durability: Durability) -> None:
    gate = threading.Barrier(8)
    failed: list[BaseException] = []

    def work(thread: int) -> None:
        gate.wait()
        try:
            for number in range(20):
                with open_store("store", durability=durability) as log:
                    log.append("s", [message(f"{thread}.{number}")])
                    assert version(log, "s") > 0
        except BaseException as error:  # noqa: BLE001  the test tells
            failed.append(error)

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    with open_store("store", durability=durability) as log:
        assert version(log, "s") == 160
    assert is_let_go(folder / "store")


def test_a_link_that_was_turned_elsewhere_takes_no_append(folder: Path) -> None:
    with open_store("store") as log, open_store("link") as linked:
        open_store("other").close()
        (folder / "link").unlink()
        (folder / "link").symlink_to("other")
        with pytest.raises(StoreError):
            linked.append("s", [message("a")])
        assert log.append("s", [message("a")]).version == 1


@pytest.mark.usefixtures("folder")
def test_a_store_whose_lock_file_is_gone_is_not_shared() -> None:
    with open_store("store") as log:
        log.append("s", [message("a")])
        Path("store", "lock.mdb").unlink()
        with pytest.raises(StoreError):
            open_store("store")
    with open_store("store") as log:
        assert version(log, "s") == 1


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system knows no fork")
def test_nothing_is_shared_with_a_child(tmp_path: Path) -> None:
    lines = output_of(OPEN_IN_A_CHILD, tmp_path / "store").splitlines()
    assert lines == ["refused", "2", "refused", "3", "3"]
