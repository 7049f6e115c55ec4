"""Find the places of records: parents that come late or never, records that stand for others, moves."""

from __future__ import annotations

import random
import time
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from eventstore import EventLog
from eventstore.append import placed_event
from eventstore.errors import NotFoundError
from eventstore.event import Absent, Flag, KeptMessages, NewEvent, Place
from eventstore.files.importing import import_sessions
from eventstore.memory import MemoryLog
from eventstore.verify import verify
from projections.context.build import build_context, context_json, harness_json
from tests.support import pi_files
from tests.support.claude_code import SESSION, bring, said, some_session, system
from tests.support.events import NOW, events

ROOTED = Place(absent=Absent.ROOT)
CHAINED = Place(absent=Absent.PREVIOUS)
START = said("start", None, "begun")
"""Tells a session's file from a subagent's."""
BODY = b'{"type":"message","message":{"role":"toolResult","content":[]}}'


def record(
    own: str, parent: str | None, *, place: Place = ROOTED, kind: str = "message", time: int | None = 1
) -> NewEvent:
    return NewEvent(id=own, kind=kind, body=BODY, format="pi/3", parent=parent, time=time, place=place)


def placed(*records: NewEvent, log: EventLog | None = None) -> dict[str, str | None]:
    """The parents of records that were appended together."""
    log = log or MemoryLog()
    log.append("s", records)
    return {each.id: each.parent for each in events(log, "s") if each.is_entry}


def leaf(log: EventLog) -> str:
    with log.snapshot() as snapshot:
        return events(log, "s")[snapshot.head("s").leaf - 1].id


def test_a_parent_may_follow_its_child() -> None:
    assert placed(record("b", "a"), record("a", None)) == {"b": "a", "a": None}


def test_whatever_waits_below_a_record_follows_it() -> None:
    found = placed(record("c", "b"), record("d", "c"), record("b", "a"), record("a", None))
    assert found == {"c": "b", "d": "c", "b": "a", "a": None}


def test_a_parent_may_come_with_a_later_append(log: EventLog) -> None:
    assert placed(record("b", "a"), log=log) == {"b": None}
    assert placed(record("a", None), record("c", "b"), log=log) == {"b": "a", "a": None, "c": "b"}
    assert not events(log, "s")[0].flags & Flag.ORPHAN


def test_two_parents_may_come_late(log: EventLog) -> None:
    placed(record("c", "b"), log=log)
    placed(record("b", "a"), log=log)
    assert placed(record("a", None), log=log) == {"c": "b", "b": "a", "a": None}


def test_one_record_of_a_circle_is_a_root() -> None:
    log = MemoryLog()
    assert placed(record("a", "b"), record("b", "a"), record("c", "b"), log=log) == {
        "a": None,
        "b": "a",
        "c": "b",
    }
    assert [each.id for each in events(log, "s") if each.flags & Flag.ORPHAN] == ["a"]


def test_what_follows_a_circle_stands_behind_it(log: EventLog, tmp_path: Path) -> None:
    lines = [pi_files.header(), pi_files.said("x", "a", "b"), pi_files.said("x", "b", "a")]
    # A line without its end is a record, and gets another one when it has an end.
    for content in (b"".join(lines[:2])[:-1], b"".join(lines)):
        (tmp_path / "s.jsonl").write_bytes(content)
        session = import_sessions(log, tmp_path / "s.jsonl")[0].id
    assert [(each.id, each.parent) for each in events(log, session) if each.is_entry] == [
        ("a", None),
        ("b", "a"),
    ]
    assert verify(log).findings == []


def test_who_waits_for_a_circle_follows_it() -> None:
    found = placed(record("x", "a"), record("a", "b"), record("b", "a"))
    assert found == {"x": "a", "a": None, "b": "a"}


def test_long_runs_of_waiting_records_take_linear_time() -> None:
    """Each of the second half waits for the last of a long run that waits; its own child came before it."""
    run = [record(f"r{number}", f"r{number - 1}") for number in range(1, 3_000)]
    pairs = [each for n in range(3_000) for each in (record(f"y{n}", f"x{n}"), record(f"x{n}", "r2999"))]
    began = time.process_time()
    placed(*run, *pairs, record("r0", None))
    late = time.process_time() - began
    began = time.process_time()
    placed(record("r0", None), *run, *pairs)
    assert late < 5 * (time.process_time() - began)


@pytest.mark.parametrize(("place", "parent"), [(ROOTED, None), (CHAINED, "a")])
def test_a_missing_parent_is_as_harnesses_do(place: Place, parent: str | None) -> None:
    log = MemoryLog()
    assert placed(record("a", None), record("b", "gone", place=place), log=log)["b"] == parent
    assert events(log, "s")[1].flags & Flag.ORPHAN


def test_an_own_record_needs_its_parent(log: EventLog) -> None:
    own = NewEvent(id="a", kind="message", body=b"{}", format="refold/1", parent="b")
    with pytest.raises(NotFoundError):
        log.append("s", [own, NewEvent(id="b", kind="message", body=b"{}", format="refold/1", parent=None)])


def test_a_record_may_continue_from_the_newest() -> None:
    follows = Place(absent=Absent.ROOT, continues=True)
    assert placed(record("a", None, place=follows), record("b", None, place=follows))["b"] == "a"


def test_a_second_record_of_an_id_replaces_it() -> None:
    second = record("a~2", None, place=Place(absent=Absent.PREVIOUS, named="a"))
    assert placed(record("a", None), second, record("b", "a"))["b"] == "a~2"


def test_a_rewrite_without_id_replaces_its_parent() -> None:
    beside = Place(absent=Absent.PREVIOUS, continues=True, stands_in=True)
    found = placed(record("a", None), record("r", None, place=beside, kind="rewrite"), record("b", "a"))
    assert found == {"a": None, "r": "a", "b": "r"}


def kept(**fields: Any) -> Place:
    names = {"ids": None, "first": "b", "last": "c", "before": False}
    return Place(absent=Absent.PREVIOUS, is_boundary=True, kept=KeptMessages(**{**names, **fields}))


TALK = [record("a", None), record("b", "a"), record("c", "b")]
SUMMARY = record("s", "x", kind="compaction", place=CHAINED)


@pytest.mark.parametrize("which", [{}, {"ids": ("b", "c")}], ids=["a run", "a list"])
def test_what_continues_a_kept_message_follows_its_summary(which: dict[str, Any]) -> None:
    log = MemoryLog()
    boundary = record("x", "c", place=kept(**which), kind="custom")
    found = placed(*TALK, boundary, SUMMARY, record("d", "c"), record("e", "b"), record("f", "a"), log=log)
    assert (found["s"], found["d"], found["e"], found["f"]) == ("x", "s", "s", "a")
    assert events(log, "s")[4].target_seq == 2


def test_messages_before_a_summary_stay_their_childrens_parents() -> None:
    boundary = record("x", "c", place=kept(before=True), kind="custom")
    assert placed(*TALK, boundary, SUMMARY, record("d", "c"))["d"] == "c"


def test_a_broken_run_keeps_nothing() -> None:
    log = MemoryLog()
    boundary = record("x", "c", place=kept(first="gone"), kind="custom")
    assert placed(*TALK, boundary, SUMMARY, record("d", "c"), log=log)["d"] == "c"
    assert events(log, "s")[4].target_seq == 0


def test_a_note_moves_to_its_leaf(log: EventLog) -> None:
    note = record("n", None, kind="note", place=Place(absent=Absent.PREVIOUS, moves_to="a"))
    placed(*TALK, note, log=log)
    assert leaf(log) == "a"
    assert placed(record("d", None, place=Place(absent=Absent.PREVIOUS, continues=True)), log=log)["d"] == "a"


def test_a_session_stands_below_its_latest_record(log: EventLog) -> None:
    # The order of the file is not that of the records: "b" came last, "d" is the latest.
    placed(
        record("a", None),
        record("d", "c", time=9),
        record("c", "a", time=3),
        record("b", "a", time=2),
        log=log,
    )
    assert leaf(log) == "d"


def test_what_was_appended_here_stays_the_leaf(log: EventLog) -> None:
    placed(record("b", "a"), log=log)
    own = NewEvent(id="own", kind="message", body=b'{"type":"message"}', format="refold/1")
    log.append("s", [own])
    log.append("s", [record("a", None)])
    assert leaf(log) == "own"
    assert [each.parent for each in events(log, "s") if each.is_entry] == ["a", "b", None]


@given(st.integers(0, 10_000), st.integers(1, 4))
def test_a_file_is_read_alike_in_any_cuts(seed: int, cuts: int) -> None:
    chance = random.Random(seed)
    lines = [each + b"\n" for each in (START, *some_session(chance, 12))]
    ends = sorted(chance.randint(1, len(lines)) for _ in range(cuts))
    once, grown = MemoryLog(), MemoryLog()
    with TemporaryDirectory() as folder:
        path = Path(folder, f"{SESSION}.jsonl")
        for log, until in (*((grown, end) for end in ends), (grown, len(lines)), (once, len(lines))):
            path.write_bytes(b"".join(lines[:until]))
            import_sessions(log, path)
    assert verify(grown).findings == []
    assert context_json(grown, SESSION) == context_json(once, SESSION)


def _alike(log: EventLog, session: str) -> tuple[Any, ...]:
    """Return what a log has of a session, apart from its name and where it lies in the store."""
    with log.snapshot() as snapshot:
        head = snapshot.head(session)
    found = [replace(each, session="", position=0) for each in events(log, session)]
    return replace(head, name="", number=0, position=0), found, context_json(log, session)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rng=st.randoms(use_true_random=False), cuts=st.lists(st.integers(1, 16), max_size=4))
def test_appends_in_any_cuts_are_one(log: EventLog, rng: random.Random, cuts: list[int]) -> None:
    read, once, grown = MemoryLog(), MemoryLog(clock=lambda: NOW), str(uuid4())
    with TemporaryDirectory() as folder:
        path = Path(folder, f"{SESSION}.jsonl")
        path.write_bytes(b"\n".join([START, *some_session(rng, 16)]))
        import_sessions(read, path)
    found = events(read, SESSION)
    whole = [
        replace(placed_event(each, lambda seq: found[seq - 1].id), body=each.body)
        for each in found
        if not each.is_own
    ]
    once.append("once", whole)
    for start, stop in pairwise([0, *sorted(cuts), len(whole)]):
        if whole[start:stop]:
            log.append(grown, whole[start:stop])
    assert _alike(log, grown) == _alike(once, "once")
    assert verify(log).findings == []


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (0, 3, 1, 2, 4)], ids=["as made", "late summary"])
def test_what_follows_a_late_summary_is_shown(order: tuple[int, ...], tmp_path: Path) -> None:
    lines = [
        said("u1", None, "one"),
        system("b", None, "compact_boundary", logicalParentUuid="u1"),
        said("s", "b", "sum", isCompactSummary=True),
        said("u2", "s", "two"),
        said("u3", "u2", "three"),
    ]
    log = MemoryLog()
    bring(log, tmp_path / "s.jsonl", *(lines[at] for at in order))
    shown = harness_json(build_context(log, SESSION))
    assert [word in shown for word in (b"one", b"sum", b"two", b"three")] == [False, True, True, True]
    assert shown == context_json(log, SESSION)
