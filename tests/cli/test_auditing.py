from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cli.auditing import Audited, Wanted, audit_of, audited, bound, cores
from cli.views.model import audit_view
from eventstore import open_store
from eventstore.errors import CorruptionError, NotFoundError
from projections.audit.prices import Price
from projections.audit.session import audit
from tests.support.stores import damage, make_store


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A store of three sessions, of a few messages and one compaction each."""
    make_store(tmp_path / "store", 3, messages=6)
    return str(tmp_path / "store")


SESSIONS = ["session-00000", "session-00001", "session-00002"]


def of_all(store: str, wanted: Wanted, *, jobs: int) -> list[Audited]:
    return list(audited(store, SESSIONS, wanted, jobs=jobs))


@pytest.mark.parametrize("jobs", [1, 2, 16])
def test_sessions_are_audited_in_the_order_given_however_many_work(store: str, jobs: int) -> None:
    names = [SESSIONS[2], SESSIONS[0], SESSIONS[1]]
    assert [each.session for each in audited(store, names, Wanted(), jobs=jobs)] == names


@pytest.mark.parametrize("wanted", [Wanted(), Wanted(is_json=True), Wanted(bounds=(bound("recall=1"),))])
def test_other_processes_find_what_this_one_finds(store: str, wanted: Wanted) -> None:
    assert of_all(store, wanted, jobs=2) == of_all(store, wanted, jobs=1)


def test_what_is_wanted_is_a_row_or_else_the_audit_as_json(store: str) -> None:
    with open_store(store) as log:
        expected = audit(log, SESSIONS[0])
    (as_row, *_), (as_json, *_) = (of_all(store, Wanted(is_json=each), jobs=1) for each in (False, True))
    assert (as_row.row, as_row.encoded) == (audit_view(expected).row, None)
    assert as_json.row is None
    assert as_json.encoded is not None
    assert json.loads(as_json.encoded)["contextTokens"] == expected.context_tokens


def test_what_is_under_a_bound_is_a_problem(store: str) -> None:
    # Of the files that were read, the summary names none.
    first = of_all(store, Wanted(bounds=(bound("recall.paths-read=0.5"),)), jobs=1)[0]
    assert len(first.problems) == 1
    told = ("'session-00000'", "compaction 1", "c1 #4", "recall.paths-read", "0.5")
    assert [each in first.problems[0] for each in told] == [True] * 5


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_damaged_session_is_told_with_its_name_and_the_others_are_audited(store: str, jobs: int) -> None:
    damage(store, 2, 3)
    found = of_all(store, Wanted(), jobs=jobs)
    assert [each.row is not None for each in found] == [True, False, True]
    (problem,) = found[1].problems
    assert ("'session-00001'" in problem, "event 3" in problem) == (True, True)


def test_an_audit_that_fails_for_damaged_bytes_says_which(store: str) -> None:
    damage(store, 1, 5)
    with open_store(store) as log, pytest.raises(CorruptionError) as info:
        audit_of(log, SESSIONS[0], Wanted())
    assert (info.value.session, info.value.seq) == (SESSIONS[0], 5)


def test_an_audit_that_fails_though_nothing_is_damaged_is_a_fault_to_be_seen(store: str) -> None:
    class Faulty:
        name, date = "faulty", ""

        def price(self, *_: object, **__: object) -> Price | None:
            raise ZeroDivisionError

    with open_store(store) as log, pytest.raises(ZeroDivisionError):
        audit_of(log, SESSIONS[0], Wanted(prices=Faulty()))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_session_that_is_not_there_any_more_is_told(store: str, jobs: int) -> None:
    (gone, _) = audited(store, ["gone", SESSIONS[0]], Wanted(), jobs=jobs)
    assert (len(gone.problems), "'gone'" in gone.problems[0]) == (1, True)


def test_one_session_by_name_that_is_not_there_is_an_error(store: str) -> None:
    with open_store(store) as log, pytest.raises(NotFoundError):
        audit_of(log, "gone", Wanted())


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    (first, _) = audited(str(tmp_path / "none"), SESSIONS[:2], Wanted(), jobs=2)
    assert str(tmp_path / "none") in first.problems[0]
    assert not (tmp_path / "none").exists()


def test_auditing_appends_nothing(store: str) -> None:
    def state() -> list[bytes]:
        with open_store(store) as log, log.snapshot() as snapshot:
            return [head.digest for head in snapshot.heads()]

    before = state()
    of_all(store, Wanted(counter="o200k"), jobs=1)
    assert state() == before


def test_the_cores_are_those_that_this_process_may_use() -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1)
