"""Stores that earlier versions wrote: they open, are sound, and say what they always said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest

from eventstore import open_store
from eventstore.frame import VERSION
from eventstore.lmdb.opening import STORE_VERSION
from eventstore.lmdb.store import LmdbLog
from eventstore.log import SourceState
from eventstore.records import FORMAT, RECORDS, record_of
from eventstore.verify import verify
from tests.frozen.reading import events_of, read
from tests.support.events import message
from tests.support.tampering import tables

STORES = sorted(path.parent for path in Path(__file__).parent.glob("store-*/data.mdb"))


@pytest.fixture(params=STORES, ids=lambda path: path.name)
def frozen(request: pytest.FixtureRequest) -> Path:
    """The folder of a frozen store; to be copied, never opened."""
    assert isinstance(request.param, Path)
    return request.param


@pytest.fixture
def copy(frozen: Path, tmp_path: Path):
    shutil.copy(frozen / "data.mdb", tmp_path)
    with open_store(tmp_path, create=False) as log:
        yield log


def test_there_is_a_frozen_store_of_each_version() -> None:
    assert [path.name for path in STORES] == [f"store-{version}" for version in range(1, VERSION + 1)]


def test_a_frozen_store_says_what_it_always_said(frozen: Path, copy: LmdbLog) -> None:
    expected = json.loads((frozen / "expected.json").read_text(encoding="utf-8"))
    found = json.loads(json.dumps(read(copy)))
    assert found.keys() == expected.keys()
    assert found["sessions"].keys() == expected["sessions"].keys()
    for session, values in expected["sessions"].items():
        assert found["sessions"][session] == values
    assert found == expected


def test_a_frozen_store_is_sound(copy: LmdbLog) -> None:
    assert verify(copy).findings == []


def test_a_frozen_store_has_every_kind_of_record_and_all_of_them_are_read(copy: LmdbLog) -> None:
    with copy.snapshot() as snapshot:
        own = [
            event
            for head in snapshot.heads()
            for event in events_of(snapshot, head.name)
            if event.format == FORMAT and event.kind in RECORDS
        ]
    # Notes are younger than these stores.
    assert {event.kind for event in own} | {"note"} == set(RECORDS)
    for event in own:
        assert record_of(event.kind, event.body).kind == event.kind


def test_records_of_kinds_that_nothing_writes_any_more_are_there_as_they_came(copy: LmdbLog) -> None:
    with copy.snapshot() as snapshot:
        found = {event.kind: event for event in events_of(snapshot, "every kind")}
    assert (found["reset_boundary"].is_entry, found["repair"].is_entry) == (True, False)
    assert msgspec.json.decode(found["reset_boundary"].body) == {"type": "reset_boundary"}
    assert msgspec.json.decode(found["repair"].body)["renderer"] == "anthropic"


def test_a_frozen_store_goes_on(copy: LmdbLog) -> None:
    with copy.snapshot() as snapshot:
        versions = {head.name: head.version for head in snapshot.heads()}
    for session, version in versions.items():
        assert copy.append(session, [message("new")], expected=version).version == version + 1
    assert copy.append("a new session", [message("new")]).version == 1
    assert verify(copy).findings == []


def test_a_frozen_store_keeps_the_states_of_files(copy: LmdbLog, tmp_path: Path) -> None:
    state = SourceState(
        path=b"/a", size=5, modified=3, device=1, inode=2, read=4, harness="pi", sessions=("new",)
    )
    copy.append("new", [message("a")], seen=state)
    with copy.snapshot() as snapshot:
        assert list(snapshot.sources()) == [state]
    copy.close()
    with open_store(tmp_path, create=False) as again, again.snapshot() as snapshot:
        assert snapshot.source(b"/a") == state


def test_a_frozen_store_is_marked_as_of_this_version_once_it_is_appended_to(
    frozen: Path, tmp_path: Path
) -> None:
    oldest = int(frozen.name.removeprefix("store-"))
    shutil.copy(frozen / "data.mdb", tmp_path)
    for times in range(3):
        with tables(tmp_path) as looking:
            meta = msgspec.msgpack.decode(looking.get("meta", b"refold"))
            versions = {frame[0] for _, frame in looking.items("events")}
        # One that only reads changes nothing: an older refold goes on reading, too.
        assert meta == {"version": STORE_VERSION if times == 2 else oldest, "oldest_frame": oldest}
        assert versions == ({oldest, VERSION} if times == 2 else {oldest})
        with open_store(tmp_path, create=False) as log:
            assert verify(log).findings == []
            if times == 1:
                log.append("every kind", [message("new")])
