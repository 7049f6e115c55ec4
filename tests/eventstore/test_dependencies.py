"""Results that a log stores, and the sessions that they depend on."""

from __future__ import annotations

import tracemalloc
import zlib

import msgspec

from eventstore.dependencies import StoredResults
from eventstore.memory import MemoryLog
from tests.support.talk import Story, user

KEY = b"a result"


class Result(msgspec.Struct):
    value: int


def stored(log: MemoryLog, key: bytes, *reads: str, after: bytes = b"") -> None:
    """Store a result that was made from sessions, and from another result."""
    with log.snapshot() as snapshot:
        results = StoredResults(log, snapshot)
        if after:
            assert results.find(after, Result)
        for name in reads:
            results.snapshot.head(name)
        results.add(key, Result(1))
        results.save()


def found(log: MemoryLog, key: bytes) -> Result | None:
    with log.snapshot() as snapshot:
        return StoredResults(log, snapshot).find(key, Result)


def stories() -> tuple[MemoryLog, Story, Story]:
    log = MemoryLog(clock=lambda: 0)
    one, two = Story(log, "one"), Story(log, "two")
    one.says(user("hello"))
    two.says(user("hello"))
    return log, one, two


def test_a_result_holds_until_a_session_that_it_read_grows() -> None:
    log, one, two = stories()
    stored(log, KEY, "one")
    two.says(user("more"))
    assert found(log, KEY) == Result(1)
    one.says(user("more"))
    assert found(log, KEY) is None


def test_a_result_made_from_another_depends_on_its_sessions() -> None:
    log, one, _ = stories()
    stored(log, KEY, "one")
    stored(log, b"another", "two", after=KEY)
    one.says(user("more"))
    assert found(log, b"another") is None


def test_a_result_made_anew_forgets_what_the_old_one_read() -> None:
    log, one, two = stories()
    stored(log, KEY, "one", "two")
    one.says(user("more"))
    with log.snapshot() as snapshot:
        results = StoredResults(log, snapshot)
        assert results.find(KEY, Result) is None
        results.snapshot.head("one")
        results.add(KEY, Result(2))
        results.save()
    two.says(user("more"))
    assert found(log, KEY) == Result(2)


def test_a_value_of_a_gigabyte_is_none() -> None:
    deflate, piece = zlib.compressobj(1), bytes(1 << 20)
    bomb = b"".join(deflate.compress(piece) for _ in range(1 << 10)) + deflate.flush()
    log = stories()[0]
    log.keep([(KEY, bomb)])
    tracemalloc.start()
    try:
        assert found(log, KEY) is None
        assert tracemalloc.get_traced_memory()[1] < 300 << 20
    finally:
        tracemalloc.stop()
