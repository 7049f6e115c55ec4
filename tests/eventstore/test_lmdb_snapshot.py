from __future__ import annotations

import pytest

from eventstore.errors import NotFoundError
from eventstore.frame import decode
from eventstore.lmdb.store import LmdbLog
from tests.support.events import message


def test_a_snapshot_of_a_snapshot_is_the_same_view(store: LmdbLog) -> None:
    store.append("s", [message("a")])
    with store.snapshot() as outer, outer.snapshot() as inner:
        store.append("s", [message("b")])
        assert (inner.head("s").version, outer.head("s").version) == (1, 1)


def test_a_number_that_a_session_does_not_have_is_not_found_in_another(store: LmdbLog) -> None:
    store.append("s", [message("a")])
    store.append("t", [message("a"), message("b")])
    with store.snapshot() as snapshot, pytest.raises(NotFoundError):
        snapshot.frame("s", 2)


def test_a_path_over_several_runs_is_read_in_order(store: LmdbLog) -> None:
    events = [message("a"), message("b"), message("c", parent="a"), message("d"), message("e", parent="b")]
    store.append("s", events)
    with store.snapshot() as snapshot:
        assert [decode(frame, "s").id for frame in snapshot.path("s", 5)] == ["a", "b", "e"]
