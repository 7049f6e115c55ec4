"""The log in memory beyond what every log promises."""

from __future__ import annotations

from eventstore.memory import MemoryLog
from tests.support.events import events, message, version


def test_a_log_in_memory_begins_empty() -> None:
    with MemoryLog().snapshot() as snapshot:
        assert list(snapshot.heads()) == []


def test_two_logs_in_memory_share_nothing() -> None:
    one, two = MemoryLog(), MemoryLog()
    one.append("s", [message("a")])
    two.append("s", [message("a"), message("b")])
    assert (version(one, "s"), version(two, "s")) == (1, 2)


def test_a_log_in_memory_takes_the_time_from_its_clock() -> None:
    times = iter([10, 20])
    log = MemoryLog(clock=lambda: next(times))
    log.append("s", [message("a"), message("b")])
    log.append("s", [message("c")])
    assert [event.recorded for event in events(log, "s")] == [10, 10, 20]


def test_a_log_in_memory_works_on_after_it_was_closed() -> None:
    log = MemoryLog()
    log.close()
    assert log.append("s", [message("a")]).version == 1
