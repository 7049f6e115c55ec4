"""Audits of many sessions, and the conditions that they refuse."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cli.auditing import AuditOptions, AuditResult, audit_session, breaches, show_audits, try_audit
from cli.commands.audit import CONDITIONS
from cli.each_session import each_session
from cli.views.model import audit_view
from eventstore import open_store
from eventstore.errors import CorruptionError, NotFoundError, StoreError, no_event
from projections.audit.conditions import Condition
from projections.audit.session import FailedCompaction
from projections.audit.session import audit as audit_of
from tests.support.measured import audit, branch_summary, compaction, redone, rewrite, size
from tests.support.stores import damage, make_store


def refused(replaced: Any, *conditions: Condition) -> list[str]:
    return list(breaches(audit_view(audit(replaced)), conditions))


def test_a_condition_is_reported_with_session_and_event() -> None:
    (told,) = refused(compaction(7, conditions=["larger"], size=size(10, 11)), Condition.LARGER)
    assert told == "session 's', compaction 1 (c7 #7): the context is larger, recomputed: 10 -> 11 tokens"


def test_a_condition_that_does_not_hold_passes() -> None:
    assert refused(compaction(7, conditions=["no-gain"]), Condition.LARGER) == []


def test_every_condition_that_holds_is_reported() -> None:
    both = compaction(7, conditions=["larger", "fetched-again"], rework=redone("a.py"))
    assert len(refused(both, Condition.LARGER, Condition.FETCHED_AGAIN)) == 2


@pytest.mark.parametrize("make", [compaction, branch_summary, rewrite])
def test_conditions_hold_for_replacements_of_every_kind(make: Any) -> None:
    again = make(7, conditions=["fetched-again"], rework=redone("a.py"))
    assert len(refused(again, Condition.FETCHED_AGAIN)) == 1


@pytest.mark.parametrize("make", [compaction, rewrite])
def test_what_was_undone_is_not_refused(make: Any) -> None:
    assert refused(make(7, undone=True, conditions=["larger"]), Condition.LARGER) == []


def test_a_failed_compaction_is_a_condition() -> None:
    failed = FailedCompaction(id="a", seq=9, time=None, error="overloaded")
    view = audit_view(audit(failed_compactions=[failed]))
    assert list(breaches(view, [Condition.FAILED])) == ["session 's': a compaction failed at #9: overloaded"]


def test_the_command_knows_every_condition() -> None:
    assert set(CONDITIONS) == set(Condition)


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A store of three sessions, of a few messages and one compaction each."""
    make_store(tmp_path / "store", 3, messages=6)
    return str(tmp_path / "store")


SESSIONS = ["session-00000", "session-00001", "session-00002"]


def of_all(store: str, wanted: AuditOptions, sessions: list[str] = SESSIONS) -> list[AuditResult]:
    return list(each_session(store, sessions, partial(try_audit, wanted=wanted)))


@pytest.mark.usefixtures("cores")
def test_sessions_are_audited_in_the_given_order(store: str) -> None:
    names = [SESSIONS[2], SESSIONS[0], SESSIONS[1]]
    assert [each.session for each in of_all(store, AuditOptions(), names)] == names


@pytest.mark.slow
@pytest.mark.parametrize(
    "wanted", [AuditOptions(), AuditOptions(is_json=True), AuditOptions(fail_on=(Condition.LARGER,))]
)
def test_other_processes_find_what_this_one_finds(
    store: str, wanted: AuditOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = of_all(store, wanted)
    monkeypatch.setattr("eventstore.workers.cores", lambda: 2)
    assert of_all(store, wanted) == alone


def test_what_is_wanted_is_a_row_or_else_the_audit_as_json(store: str) -> None:
    with open_store(store) as log:
        expected = audit_of(log, SESSIONS[0])
    (as_row, *_), (as_json, *_) = (of_all(store, AuditOptions(is_json=each)) for each in (False, True))
    assert (as_row.row, as_row.encoded) == (audit_view(expected).row, None)
    assert as_json.row is None
    assert as_json.encoded is not None
    assert json.loads(as_json.encoded)["contextTokens"] == expected.context_tokens


def test_a_condition_that_holds_is_a_problem(store: str) -> None:
    first = of_all(store, AuditOptions(fail_on=(Condition.FILES,)))[0]
    (problem,) = first.problems
    assert problem.startswith("session 'session-00000', compaction 1 (c1 #4): its list lacks")


@pytest.mark.usefixtures("cores")
def test_sessions_beside_a_damaged_one_are_audited(store: str) -> None:
    damage(store, 2, 3)
    found = of_all(store, AuditOptions())
    assert [each.row is not None for each in found] == [True, False, True]
    (problem,) = found[1].problems
    assert ("'session-00001'" in problem, "event 3" in problem) == (True, True)


def test_an_audit_that_fails_for_damaged_bytes_says_which(store: str) -> None:
    damage(store, 1, 5)
    with open_store(store) as log, pytest.raises(CorruptionError) as info:
        audit_session(log, SESSIONS[0], AuditOptions())
    assert (info.value.session, info.value.seq) == (SESSIONS[0], 5)


def test_damage_is_told_where_an_event_is_missing(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def misses(*_: object, **__: object) -> None:
        raise no_event(SESSIONS[0], "#13739883159454867183")

    damage(store, 1, 5)
    monkeypatch.setattr("cli.auditing.stored_audit", misses)
    with open_store(store) as log, pytest.raises(CorruptionError):
        audit_session(log, SESSIONS[0], AuditOptions())


def test_a_failing_audit_without_damage_raises(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("cli.auditing.stored_audit", fails)
    with open_store(store) as log, pytest.raises(ZeroDivisionError):
        audit_session(log, SESSIONS[0], AuditOptions())


@pytest.mark.usefixtures("cores")
def test_a_session_that_went_is_reported(store: str) -> None:
    (gone, _) = of_all(store, AuditOptions(), ["gone", SESSIONS[0]])
    assert (len(gone.problems), "'gone'" in gone.problems[0]) == (1, True)


def test_one_session_by_name_that_is_not_there_is_an_error(store: str) -> None:
    with open_store(store) as log, pytest.raises(NotFoundError):
        audit_session(log, "gone", AuditOptions())


@pytest.mark.slow
@pytest.mark.usefixtures("cores")
def test_a_store_that_went_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        of_all(str(tmp_path / "none"), AuditOptions())
    assert caught.value.path == str(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_auditing_appends_nothing(store: str) -> None:
    def state() -> list[bytes]:
        with open_store(store) as log, log.snapshot() as snapshot:
            return [head.digest for head in snapshot.heads()]

    before = state()
    of_all(store, AuditOptions(counter="o200k"))
    assert state() == before


STRICT = AuditOptions(fail_on=(Condition.FILES,))


@pytest.fixture
def sessions(tmp_path: Path) -> list[str]:
    return make_store(tmp_path / "store", 3, messages=6)


@pytest.mark.parametrize("wanted", [AuditOptions(), AuditOptions(is_json=True)])
def test_sessions_that_nothing_is_wrong_with_are_shown_and_that_is_all(
    tmp_path: Path, sessions: list[str], wanted: AuditOptions, capfd: pytest.CaptureFixture[str]
) -> None:
    assert show_audits(str(tmp_path / "store"), sessions, wanted)
    printed = capfd.readouterr()
    assert all(session in printed.out for session in sessions)
    assert printed.err == ""


def test_what_is_refused_is_shown_all_the_same(
    tmp_path: Path, sessions: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert not show_audits(str(tmp_path / "store"), sessions, STRICT)
    printed = capfd.readouterr()
    assert all(session in printed.out for session in sessions)
    assert printed.err.count("its list lacks") == len(sessions)


def test_a_session_that_cannot_be_audited_is_reported_and_left_out(
    tmp_path: Path, sessions: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    damage(tmp_path / "store", 2, 3)
    assert not show_audits(str(tmp_path / "store"), sessions, AuditOptions(is_json=True))
    printed = capfd.readouterr()
    shown = [each["session"] for each in json.loads(printed.out)["sessions"]]
    assert shown == [sessions[0], sessions[2]]
    assert (printed.err.count("\n"), repr(sessions[1]) in printed.err) == (1, True)
