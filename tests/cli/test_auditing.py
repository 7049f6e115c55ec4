"""Audits of many sessions, and the bounds that they are checked against."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cli.auditing import (
    METRICS,
    AuditOptions,
    AuditResult,
    Bound,
    audit_session,
    audit_sessions,
    breaches,
    metric_share,
    parse_bound,
    show_audits,
)
from cli.views.model import audit_view
from eventstore import open_store
from eventstore.errors import CorruptionError, NotFoundError, StoreError
from projections.audit.losses import RECALL_KINDS
from projections.audit.losses import recall as recall_of
from projections.audit.prices import Price
from projections.audit.session import audit as audit_of
from projections.context.cursor import resolve_cursor
from projections.mentions.message_facts import SessionFacts
from projections.replacement import replacement_of
from tests.support.measured import (
    audit,
    branch_summary,
    compaction,
    future_use,
    gone,
    instructions,
    metrics,
    recall,
    rewrite,
)
from tests.support.stores import damage, make_store
from tests.support.talk import Story, user


def broken(replaced: Any, *bounds: str) -> list[str]:
    return list(breaches(audit_view(audit(replaced)), [parse_bound(text) for text in bounds]))


def test_a_share_under_its_bound_is_reported_with_session_event_metric_value_and_bound() -> None:
    (told,) = broken(compaction(7, future_use=future_use(3, 4)), "future-use=0.8")
    named = ("'s'", "compaction 1", "c7 #7", "future-use", "0.75", "0.8")
    assert [each in told for each in named] == [True] * 6


@pytest.mark.parametrize("least", ["0.75", "0.5", "0"])
def test_a_share_that_is_not_under_its_bound_passes(least: str) -> None:
    assert broken(compaction(7, future_use=future_use(3, 4)), f"future-use={least}") == []


def test_where_there_was_nothing_to_find_every_bound_is_met() -> None:
    assert broken(compaction(7), *(f"{metric}=1" for metric in METRICS)) == []


@pytest.mark.parametrize("make", [compaction, branch_summary, rewrite])
def test_bounds_hold_for_replacements_of_every_kind(make: Any) -> None:
    assert len(broken(make(7, future_use=future_use(0, 4)), "future-use=0.8")) == 1


@pytest.mark.parametrize("make", [compaction, rewrite])
def test_what_was_undone_is_under_no_bound(make: Any) -> None:
    assert broken(make(7, undone=True, future_use=future_use(0, 4)), "future-use=0.8") == []


def test_every_bound_that_is_broken_is_reported() -> None:
    replaced = compaction(7, future_use=future_use(0, 4), recall=recall(symbols=(1, 4)))
    told = [line.split(": ")[1] for line in broken(replaced, "future-use=0.8", "recall=0.3", "recall=0.2")]
    assert [line.split()[0] for line in told] == ["future-use", "recall"]
    assert [re.findall(r"[\d.]+", line) for line in told] == [["0", "0.8"], ["0.25", "0.3"]]


def test_each_metric_is_a_share_of_its_own() -> None:
    measured = metrics(
        future_use=future_use(1, 10),
        instructions=instructions(5, *[gone("Never do it.")] * 4),
        recall=recall(paths_read=(3, 10), urls=(5, 10)),
    )
    shares = {metric: metric_share(measured, metric) for metric in METRICS}
    assert {metric: share for metric, share in shares.items() if share is not None} == {
        "future-use": 0.1,
        "instructions": 0.2,
        "recall": 0.4,
        "recall.paths-read": 0.3,
        "recall.urls": 0.5,
    }


def test_the_kinds_are_those_that_recall_is_measured_of(tmp_path: Path) -> None:
    with open_store(tmp_path / "store") as log:
        story = Story(log)
        story.says(user("hello"))
        with log.snapshot() as snapshot:
            cursor = resolve_cursor(snapshot, "s")
            measured = recall_of(replacement_of(story["e1"], snapshot, cursor), SessionFacts())
    assert tuple(kind.kind for kind in measured.kinds) == RECALL_KINDS


def test_a_bound_is_a_metric_and_a_share() -> None:
    assert parse_bound("recall.paths-read=0.25") == Bound("recall.paths-read", 0.25)


@pytest.mark.parametrize("text", ["recal=0.8", "recall.paths=0.8", "0.8", "", "recall .symbols=1"])
def test_another_metric_is_refused_with_those_that_there_are(text: str) -> None:
    with pytest.raises(ValueError, match="future-use, recall, instructions, re"):
        parse_bound(text)


@pytest.mark.parametrize("share", ["", "80", "80%", "-0.1", "1.01", "nan", "inf", "much"])
def test_what_is_no_share_is_refused(share: str) -> None:
    with pytest.raises(ValueError, match=r"recall=0\.8"):
        parse_bound(f"recall={share}")


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A store of three sessions, of a few messages and one compaction each."""
    make_store(tmp_path / "store", 3, messages=6)
    return str(tmp_path / "store")


SESSIONS = ["session-00000", "session-00001", "session-00002"]


def of_all(store: str, wanted: AuditOptions, *, jobs: int) -> list[AuditResult]:
    return list(audit_sessions(store, SESSIONS, wanted, jobs=jobs))


@pytest.mark.parametrize("jobs", [1, 2, 16])
def test_sessions_are_audited_in_the_order_given_however_many_work(store: str, jobs: int) -> None:
    names = [SESSIONS[2], SESSIONS[0], SESSIONS[1]]
    assert [each.session for each in audit_sessions(store, names, AuditOptions(), jobs=jobs)] == names


@pytest.mark.parametrize(
    "wanted", [AuditOptions(), AuditOptions(is_json=True), AuditOptions(bounds=(parse_bound("recall=1"),))]
)
def test_other_processes_find_what_this_one_finds(store: str, wanted: AuditOptions) -> None:
    assert of_all(store, wanted, jobs=2) == of_all(store, wanted, jobs=1)


def test_what_is_wanted_is_a_row_or_else_the_audit_as_json(store: str) -> None:
    with open_store(store) as log:
        expected = audit_of(log, SESSIONS[0])
    (as_row, *_), (as_json, *_) = (
        of_all(store, AuditOptions(is_json=each), jobs=1) for each in (False, True)
    )
    assert (as_row.row, as_row.encoded) == (audit_view(expected).row, None)
    assert as_json.row is None
    assert as_json.encoded is not None
    assert json.loads(as_json.encoded)["contextTokens"] == expected.context_tokens


def test_what_is_under_a_bound_is_a_problem(store: str) -> None:
    # Of the files that were read, the summary names none.
    first = of_all(store, AuditOptions(bounds=(parse_bound("recall.paths-read=0.5"),)), jobs=1)[0]
    assert len(first.problems) == 1
    told = ("'session-00000'", "compaction 1", "c1 #4", "recall.paths-read", "0.5")
    assert [each in first.problems[0] for each in told] == [True] * 5


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_damaged_session_is_reported_with_its_name_and_the_others_are_audited(
    store: str, jobs: int
) -> None:
    damage(store, 2, 3)
    found = of_all(store, AuditOptions(), jobs=jobs)
    assert [each.row is not None for each in found] == [True, False, True]
    (problem,) = found[1].problems
    assert ("'session-00001'" in problem, "event 3" in problem) == (True, True)


def test_an_audit_that_fails_for_damaged_bytes_says_which(store: str) -> None:
    damage(store, 1, 5)
    with open_store(store) as log, pytest.raises(CorruptionError) as info:
        audit_session(log, SESSIONS[0], AuditOptions())
    assert (info.value.session, info.value.seq) == (SESSIONS[0], 5)


def test_an_audit_that_fails_though_nothing_is_damaged_is_a_fault_to_be_seen(store: str) -> None:
    class Faulty:
        name, date = "faulty", ""

        def price(self, *_: object, **__: object) -> Price | None:
            raise ZeroDivisionError

    with open_store(store) as log, pytest.raises(ZeroDivisionError):
        audit_session(log, SESSIONS[0], AuditOptions(prices=Faulty()))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_session_that_is_not_there_any_more_is_reported(store: str, jobs: int) -> None:
    (gone, _) = audit_sessions(store, ["gone", SESSIONS[0]], AuditOptions(), jobs=jobs)
    assert (len(gone.problems), "'gone'" in gone.problems[0]) == (1, True)


def test_one_session_by_name_that_is_not_there_is_an_error(store: str) -> None:
    with open_store(store) as log, pytest.raises(NotFoundError):
        audit_session(log, "gone", AuditOptions())


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_store_that_is_gone_is_one_error_and_not_made(tmp_path: Path, jobs: int) -> None:
    with pytest.raises(StoreError) as caught:
        list(audit_sessions(str(tmp_path / "none"), SESSIONS[:2], AuditOptions(), jobs=jobs))
    assert caught.value.path == str(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_auditing_appends_nothing(store: str) -> None:
    def state() -> list[bytes]:
        with open_store(store) as log, log.snapshot() as snapshot:
            return [head.digest for head in snapshot.heads()]

    before = state()
    of_all(store, AuditOptions(counter="o200k"), jobs=1)
    assert state() == before


STRICT = AuditOptions(bounds=(parse_bound("recall.paths-read=1"),))


@pytest.fixture
def sessions(tmp_path: Path) -> list[str]:
    return make_store(tmp_path / "store", 3, messages=6)


@pytest.mark.parametrize("wanted", [AuditOptions(), AuditOptions(is_json=True)])
def test_sessions_that_nothing_is_wrong_with_are_shown_and_that_is_all(
    tmp_path: Path, sessions: list[str], wanted: AuditOptions, capfd: pytest.CaptureFixture[str]
) -> None:
    assert show_audits(str(tmp_path / "store"), sessions, wanted, jobs=1)
    printed = capfd.readouterr()
    assert all(session in printed.out for session in sessions)
    assert printed.err == ""


def test_what_is_under_a_bound_is_reported_and_shown_all_the_same(
    tmp_path: Path, sessions: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert not show_audits(str(tmp_path / "store"), sessions, STRICT, jobs=1)
    printed = capfd.readouterr()
    assert all(session in printed.out for session in sessions)
    assert printed.err.count("recall.paths-read") == len(sessions)


def test_a_session_that_cannot_be_audited_is_reported_and_left_out(
    tmp_path: Path, sessions: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    damage(tmp_path / "store", 2, 3)
    assert not show_audits(str(tmp_path / "store"), sessions, AuditOptions(is_json=True), jobs=1)
    printed = capfd.readouterr()
    shown = [each["session"] for each in json.loads(printed.out)["sessions"]]
    assert shown == [sessions[0], sessions[2]]
    assert (printed.err.count("\n"), repr(sessions[1]) in printed.err) == (1, True)
