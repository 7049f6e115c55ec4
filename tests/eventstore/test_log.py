"""Update a session's head with each event."""

from __future__ import annotations

import msgspec
import pytest

from eventstore import Event, Head
from eventstore.event import Flag
from eventstore.log import HeadFold
from tests.support.frames import encode

EVENT = Event(
    session="s",
    seq=4,
    position=9,
    id="a",
    parent=None,
    written_parent=None,
    parent_seq=0,
    kind="message",
    role="assistant",
    time=50,
    recorded=2000,
    cause="",
    format="pi/3",
    flags=0,
    utf16=0,
    utf8=0,
    run_start=4,
    compaction_seq=0,
    model_seq=0,
    thinking_seq=0,
    target_seq=0,
    message_span=(0, 0),
    digest=bytes(range(32)),
    body=b"",
)
HEAD = Head(
    name="s",
    number=2,
    version=3,
    leaf=2,
    position=8,
    entries=2,
    info_seq=1,
    user_seq=0,
    import_seq=3,
    first_time=40,
    last_time=45,
    source="file",
)


def advance(head: Head, event: Event, *, source: str = "") -> Head:
    fold = HeadFold(head, source)
    fold.add_frame(event.seq, encode(event))
    return fold.head()


def after(**fields: object) -> Head:
    return advance(HEAD, msgspec.structs.replace(EVENT, **fields))


def test_a_head_takes_version_position_and_digest_of_its_newest_event() -> None:
    head = after()
    assert (head.name, head.number) == ("s", 2)
    assert (head.version, head.position, head.digest) == (4, 9, EVENT.digest)


def test_an_entry_becomes_the_leaf_and_is_counted() -> None:
    assert (after().leaf, after().entries) == (4, 3)


def test_an_event_off_the_path_moves_nothing_but_the_version() -> None:
    head = after(flags=Flag.OFF_PATH, kind="decision", time=99, role="user")
    assert (head.version, head.leaf, head.entries, head.user_seq, head.last_time) == (4, 2, 2, 0, 45)


def test_the_newest_title_is_remembered() -> None:
    assert (after().info_seq, after(kind="session_info").info_seq) == (1, 4)


def test_the_newest_import_is_remembered() -> None:
    assert after(kind="import", flags=Flag.OFF_PATH).import_seq == 4


def test_the_first_user_message_is_remembered() -> None:
    first = after(role="user")
    assert first.user_seq == 4
    assert advance(first, msgspec.structs.replace(EVENT, seq=5, role="user")).user_seq == 4


@pytest.mark.parametrize(("time", "span"), [(50, (40, 50)), (42, (40, 45)), (10, (10, 45)), (None, (40, 45))])
def test_the_times_of_entries_span_the_session(time: int | None, span: tuple[int, int]) -> None:
    head = after(time=time)
    assert (head.first_time, head.last_time) == span


def test_the_first_known_time_begins_and_ends_the_span() -> None:
    empty = Head(name="s", number=2)
    assert advance(empty, EVENT).first_time == 50
    assert advance(empty, msgspec.structs.replace(EVENT, time=None)).first_time is None


def test_a_source_is_kept_until_another_is_given() -> None:
    assert after().source == "file"
    assert advance(HEAD, EVENT, source="other").source == "other"
