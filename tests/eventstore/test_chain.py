"""The digest chain: the same events give it anywhere, and any change shows in it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from eventstore import EventLog, NewEvent, Parent, open_store
from eventstore.chain import START, link, payload_digest
from eventstore.memory import MemoryLog
from tests.support.events import compaction, decision, events, message, model_change, undone

PLAIN = {
    "body": b"{}",
    "format": "pi/3",
    "id": "a",
    "parent": None,
    "kind": "message",
    "time": 1000,
    "cause": "",
}

STORY = [
    message("a"),
    model_change("b"),
    message("c", role="assistant", cause="x"),
    decision("d"),
    compaction("e", "c"),
    message("f", parent="a", time=None),
    undone("g", "e"),
]


def digests(log: EventLog, session: str = "s", story: list[NewEvent] = STORY) -> list[bytes]:
    log.append(session, story)
    return [event.digest for event in events(log, session)]


def test_a_link_has_the_digest_that_it_had_when_it_was_fixed() -> None:
    assert link(START, **PLAIN).hex() == "0ef2862885364d40128b5abf114e370ed6769c9f3802c5e66981bad4f2b19e4e"


def test_a_chain_begins_with_nothing() -> None:
    assert bytes(32) == START


@pytest.mark.parametrize(
    "change",
    [
        {"body": b"{ }"},
        {"body": b""},
        {"format": "pi/2"},
        {"id": "b"},
        {"parent": "b"},
        {"kind": "custom"},
        {"time": 1001},
        {"time": None},
        {"cause": "x"},
        {"id": "", "cause": "a"},
    ],
)
def test_a_change_of_anything_changes_the_link(change: dict[str, object]) -> None:
    assert link(START, **{**PLAIN, **change}) != link(START, **PLAIN)


def test_a_link_depends_on_the_one_before() -> None:
    assert link(payload_digest(b""), **PLAIN) != link(START, **PLAIN)


def test_names_do_not_run_into_each_other() -> None:
    one = link(START, **{**PLAIN, "id": "ab", "parent": "c"})
    assert one != link(START, **{**PLAIN, "id": "a", "parent": "bc"})


def test_both_logs_give_the_same_chain(store: EventLog) -> None:
    assert digests(store) == digests(MemoryLog())


def test_stores_with_different_clocks_give_the_same_chain(tmp_path: Path) -> None:
    with open_store(tmp_path / "one", clock=lambda: 1) as one, open_store(tmp_path / "two") as two:
        assert digests(one) == digests(two)


def test_the_chain_does_not_depend_on_the_session_or_what_else_is_in_the_store(log: EventLog) -> None:
    log.append("t", [message("before")])
    assert digests(log, "s") == digests(log, "other name")


def test_the_chain_does_not_depend_on_how_the_events_were_grouped(log: EventLog) -> None:
    for new in STORY:
        log.append("one by one", [new])
    assert [event.digest for event in events(log, "one by one")] == digests(log, "at once")


def test_a_parent_left_to_the_leaf_counts_as_the_one_that_it_became(log: EventLog) -> None:
    named = [
        msgspec.structs.replace(new, parent=old.parent if new.parent is Parent.LEAF else new.parent)
        for new, old in zip(STORY, _stored(log), strict=True)
    ]
    assert digests(log, "named", named) == digests(log, "left to the leaf")


def _stored(log: EventLog) -> list[NewEvent]:
    log.append("first", STORY)
    return events(log, "first")


@pytest.mark.parametrize("at", range(len(STORY)))
def test_a_change_shows_in_every_later_link(log: EventLog, at: int) -> None:
    changed = msgspec.structs.replace(STORY[at], body=STORY[at].body + b" ")
    other = digests(log, "other", [*STORY[:at], changed, *STORY[at + 1 :]])
    shared = [one == two for one, two in zip(digests(log), other, strict=True)]
    assert shared == [True] * at + [False] * (len(STORY) - at)


def test_the_head_holds_the_end_of_the_chain(log: EventLog) -> None:
    log.append("s", STORY)
    with log.snapshot() as snapshot:
        assert snapshot.head("s").digest == events(log, "s")[-1].digest


def test_payloads_are_named_by_sha_256() -> None:
    assert payload_digest(b"").hex().startswith("e3b0c44298fc1c149afbf4c8996fb924")
