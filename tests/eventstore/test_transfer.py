"""Transfers between logs: both ends have equal chains afterwards, and a transfer may be repeated or stopped."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import initialize, rule

from eventstore import Event, EventLog, NewEvent, export_original, import_file, open_store
from eventstore import transfer as transferring
from eventstore.errors import CorruptionError, NotFoundError
from eventstore.files.discovery import session_files
from eventstore.files.syncing import import_files
from eventstore.lmdb.store import LmdbLog
from eventstore.log import AppendResult, Head
from eventstore.memory import MemoryLog
from eventstore.transfer import (
    BATCH_EVENTS,
    DivergedError,
    SessionTransfer,
    compare,
    related_sessions,
    transfer,
)
from eventstore.verify import verify
from projections.context.build import build_context
from tests.conformance.test_stored_against_model import LmdbAgainstModel
from tests.support import claude_code
from tests.support.events import NOW, events, message
from tests.support.examples import examples
from tests.support.homes import a_home, chains
from tests.support.pi_files import header, said
from tests.support.stores import damage


def own_of(log: EventLog) -> tuple[list[Head], dict[str, list[Event]]]:
    """The heads and events of a log, without what belongs to the log: numbers and positions."""
    with log.snapshot() as snapshot:
        heads = [msgspec.structs.replace(head, number=0, position=0) for head in snapshot.heads()]
    return heads, {
        head.name: [msgspec.structs.replace(each, position=0) for each in events(log, head.name)]
        for head in heads
    }


def added(results: list[SessionTransfer]) -> dict[str, int]:
    assert [each.error for each in results if each.error] == []
    return {each.session: each.added for each in results if each.added}


class TransfersAtAnyTime(LmdbAgainstModel):
    """Any operations on a store, with transfers between them: by way of memory to another store."""

    @initialize()
    def open(self) -> None:
        super().open()
        self.memory = MemoryLog(clock=lambda: NOW)
        self.other = open_store(Path(self.folder.name, "other"), clock=lambda: NOW)

    @rule()
    def push(self) -> None:
        transfer(self.stored, self.memory)

    @rule()
    def pull(self) -> None:
        transfer(self.memory, self.other)

    def teardown(self) -> None:
        if not hasattr(self, "other"):
            return
        self.push()
        self.pull()
        expected = own_of(self.stored)
        found = [own_of(self.memory), own_of(self.other)]
        repeated = added(transfer(self.stored, self.other))
        findings = verify(self.other).findings
        self.other.close()
        super().teardown()
        assert found == [expected, expected]
        assert (repeated, findings) == ({}, [])


TransfersAtAnyTime.TestCase.settings = settings(
    max_examples=examples(60),
    stateful_step_count=12,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


class TestTransfersAtAnyTime(TransfersAtAnyTime.TestCase):  # type: ignore[misc, name-defined]
    pass


@pytest.fixture
def other(tmp_path: Path) -> Iterator[LmdbLog]:
    with open_store(tmp_path / "other", clock=lambda: NOW) as opened:
        yield opened


@pytest.fixture
def synced(tmp_path: Path, other: LmdbLog) -> LmdbLog:
    """A store with the sessions of three harnesses."""
    files = session_files({}, [str(a_home(tmp_path))])
    assert all(each.error is None for each in import_files(other, files, jobs=1))
    return other


def many(prefix: str, count: int) -> list[NewEvent]:
    return [message(f"{prefix}{number}", f"text {number}") for number in range(count)]


@pytest.mark.slow
def test_contexts_files_and_links_of_imported_sessions_come_along(synced: LmdbLog, log: EventLog) -> None:
    transfer(synced, log)
    assert own_of(log) == own_of(synced)
    assert verify(log).findings == []
    with synced.snapshot() as here, log.snapshot() as there:
        names = [head.name for head in here.heads() if head.import_seq]
        assert len(names) == 18
        for name in names:
            assert b"".join(export_original(there, name)) == b"".join(export_original(here, name))
            assert build_context(there, name).parts == build_context(here, name).parts


def test_what_describes_this_machine_stays_here(synced: LmdbLog, log: EventLog) -> None:
    transfer(synced, log)
    with synced.snapshot() as here, log.snapshot() as there:
        assert list(here.sources())
        assert not list(there.sources())


def test_a_repeated_transfer_adds_nothing(log: EventLog, synced: LmdbLog) -> None:
    first = added(transfer(synced, log))
    assert sum(first.values()) == sum(head.version for head in own_of(synced)[0])
    assert added(transfer(synced, log)) == {}


def test_only_what_is_missing_is_copied(log: EventLog) -> None:
    source = MemoryLog()
    source.append("s", many("a", 5))
    source.append("t", many("a", 2))
    transfer(source, log)
    source.append("s", many("b", 3))
    assert added(compare(source, log)) == {"s": 3}
    assert added(transfer(source, log)) == {"s": 3}
    assert chains(log) == chains(source)


def test_sessions_keep_the_order_of_their_newest_writes(log: EventLog) -> None:
    source = MemoryLog()
    for session in ("c", "a", "b", "c"):
        source.append(session, many(f"{session}{len(events_of(source, session))}-", 2))
    transfer(source, log)
    with log.snapshot() as snapshot:
        heads = sorted(snapshot.heads(), key=lambda head: head.position)
    assert [head.name for head in heads] == ["a", "b", "c"]


def events_of(log: EventLog, session: str) -> list[Event]:
    try:
        return events(log, session)
    except NotFoundError:
        return []


@pytest.fixture
def small_appends(monkeypatch: pytest.MonkeyPatch) -> int:
    """The number of events that a transfer appends at once, small enough for the log in memory."""
    monkeypatch.setattr(transferring, "BATCH_EVENTS", 60)
    return 60


def test_sessions_longer_than_an_append_are_copied_whole(
    log: EventLog, other: LmdbLog, small_appends: int
) -> None:
    count = 2 * small_appends + 3
    other.append("s", many("a", count))
    steps: list[tuple[int, int]] = []
    assert added(transfer(other, log, progress=lambda *step: steps.append(step))) == {"s": count}
    assert steps == [(small_appends, count), (2 * small_appends, count), (count, count)]
    assert chains(log) == chains(other)


class Interrupted(MemoryLog):
    """A log that is gone after so many appends."""

    left = 0

    def append(self, *arguments: object, **options: object) -> AppendResult:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        return super().append(*arguments, **options)  # type: ignore[arg-type]


def test_a_transfer_that_was_stopped_after_any_append_continues(other: LmdbLog, small_appends: int) -> None:
    other.append("s", many("a", 2 * small_appends))
    other.append("t", many("a", 5))
    target = Interrupted(clock=lambda: NOW)
    for _ in range(3):
        assert own_of(target) != own_of(other)
        target.left = 1
        with suppress(KeyboardInterrupt):
            transfer(other, target)
    assert own_of(target) == own_of(other)


@pytest.mark.parametrize("seq", [1, 2, 7, 8])
@pytest.mark.parametrize(("here", "there"), [(8, 8), (8, 20), (20, 8)])
def test_a_session_that_diverged_is_an_error_that_names_the_first_event_that_differs(
    log: EventLog, seq: int, here: int, there: int
) -> None:
    source = MemoryLog()
    common = many("a", seq - 1)
    source.append("s", [*common, *many("b", here - seq + 1)])
    log.append("s", [*common, *many("c", there - seq + 1)])
    source.append("t", many("a", 2))
    for result in compare(source, log), transfer(source, log):
        assert {each.session: each.added for each in result} == {"s": 0, "t": 2}
        error = next(each.error for each in result if each.session == "s")
        assert isinstance(error, DivergedError)
        assert (error.session, error.seq, error.source_id, error.target_id) == ("s", seq, "b0", "c0")
    assert len(events(log, "s")) == there


def test_an_event_with_the_same_id_and_other_content_has_diverged(log: EventLog) -> None:
    source = MemoryLog()
    source.append("s", [message("a", "here")])
    log.append("s", [message("a", "there")])
    (result,) = transfer(source, log)
    assert isinstance(result.error, DivergedError)
    assert (result.error.seq, result.error.source_id, result.error.target_id) == (1, "a", "a")


def test_later_events_of_the_target_stay(log: EventLog) -> None:
    source = MemoryLog()
    source.append("s", many("a", 2))
    transfer(source, log)
    log.append("s", many("b", 3))
    assert transfer(source, log) == [SessionTransfer(session="s", version=2, ahead=3)]
    assert len(events(log, "s")) == 5


@pytest.mark.parametrize("seq", [1, 4, 9])
def test_a_damaged_event_is_not_copied_and_other_sessions_are(
    tmp_path: Path, log: EventLog, seq: int
) -> None:
    with open_store(tmp_path / "damaged") as source:
        source.append("s", many("a", 9))
        source.append("t", many("a", 2))
    damage(tmp_path / "damaged", 1, seq)
    with open_store(tmp_path / "damaged") as source:
        found = {each.session: each for each in transfer(source, log)}
    assert isinstance(found["s"].error, CorruptionError)
    assert (found["s"].added, found["t"].added, found["t"].error) == (0, 2, None)
    assert list(chains(log)) == ["t"]


@pytest.mark.slow
def test_several_transfers_at_the_same_time_copy_each_event_once(other: LmdbLog, store: LmdbLog) -> None:
    for session in ("s", "t", "u"):
        other.append(session, many("a", BATCH_EVENTS + 100))
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(transfer, other, store) for _ in range(4)]:
            assert [each.error for each in done.result()] == [None] * 3
    assert own_of(store) == own_of(other)
    assert verify(store).findings == []


def test_chosen_sessions_are_copied_alone(synced: LmdbLog, log: EventLog) -> None:
    names = {"one-1", "two-2"}
    assert {each.session for each in transfer(synced, log, sessions=names)} == names
    assert set(chains(log)) == names


def test_a_session_that_the_source_lacks_is_an_error(synced: LmdbLog, log: EventLog) -> None:
    with pytest.raises(NotFoundError):
        transfer(synced, log, sessions=["one-1", "nowhere"])
    assert chains(log) == {}


def test_subagents_and_sessions_of_the_same_files_belong_to_a_session(synced: LmdbLog) -> None:
    with synced.snapshot() as snapshot:
        assert related_sessions(snapshot, "parent-p") == {"parent-p", "child-p"}
        assert related_sessions(snapshot, "child-p") == {"child-p"}
        assert related_sessions(snapshot, "one-1") == {"one-1"}


def test_a_session_that_continues_anothers_context_goes_with_it(tmp_path: Path, log: EventLog) -> None:
    source, agent = MemoryLog(), claude_code.SESSION + "/agent-a1"
    fork = claude_code.line(
        type="fork-context-ref", agentId="a1", parentSessionId=claude_code.SESSION, parentLastUuid="u"
    )
    begun = claude_code.said("x", None, "look", isSidechain=True, agentId="a1")
    claude_code.bring(source, tmp_path / "p.jsonl", claude_code.said("u", None, "hi"))
    claude_code.bring(source, tmp_path / "c.jsonl", fork, begun)
    with source.snapshot() as snapshot:
        chosen = related_sessions(snapshot, agent)
    transfer(source, log, sessions=chosen)
    assert [part.id for part in build_context(log, agent).parts] == ["u", "x"]


def test_generations_belong_together(tmp_path: Path, store: LmdbLog) -> None:
    file = tmp_path / "s.jsonl"
    for name in ("a", "b", "c"):
        file.write_bytes(header(session="s") + said("text", name, None))
        import_file(store, file)
    with store.snapshot() as snapshot:
        for name in ("s", "s~2", "s~3"):
            assert related_sessions(snapshot, name) == {"s", "s~2", "s~3"}
