"""Stores that earlier versions wrote: they open, are sound, and say what they always said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from eventstore import open_store
from eventstore.lmdb.opening import STORE_VERSION
from eventstore.lmdb.store import LmdbLog
from eventstore.log import SourceState
from eventstore.records import FORMAT, RECORDS, record_of
from eventstore.verify import verify
from tests.frozen.reading import events_of, read
from tests.support.events import message

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


def test_the_layout_has_a_frozen_store() -> None:
    assert [path.name for path in STORES] == [f"store-{STORE_VERSION}"]


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
    assert {event.kind for event in own} == set(RECORDS)
    for event in own:
        assert record_of(event.kind, event.body).kind == event.kind


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
