from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.auditing import Wanted, bound, show_audits
from tests.support.stores import damage, make_store

STRICT = Wanted(bounds=(bound("recall.paths-read=1"),))


@pytest.fixture
def sessions(tmp_path: Path) -> list[str]:
    return make_store(tmp_path / "store", 3, messages=6)


@pytest.mark.parametrize("wanted", [Wanted(), Wanted(is_json=True)])
def test_sessions_that_nothing_is_wrong_with_are_shown_and_that_is_all(
    tmp_path: Path, sessions: list[str], wanted: Wanted, capfd: pytest.CaptureFixture[str]
) -> None:
    assert show_audits(str(tmp_path / "store"), sessions, wanted, jobs=1)
    printed = capfd.readouterr()
    assert all(session in printed.out for session in sessions)
    assert printed.err == ""


def test_what_is_under_a_bound_is_told_and_shown_all_the_same(
    tmp_path: Path, sessions: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert not show_audits(str(tmp_path / "store"), sessions, STRICT, jobs=1)
    printed = capfd.readouterr()
    assert all(session in printed.out for session in sessions)
    assert printed.err.count("recall.paths-read") == len(sessions)


def test_a_session_that_cannot_be_audited_is_told_and_left_out(
    tmp_path: Path, sessions: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    damage(tmp_path / "store", 2, 3)
    assert not show_audits(str(tmp_path / "store"), sessions, Wanted(is_json=True), jobs=1)
    printed = capfd.readouterr()
    shown = [each["session"] for each in json.loads(printed.out)["sessions"]]
    assert shown == [sessions[0], sessions[2]]
    assert (printed.err.count("\n"), repr(sessions[1]) in printed.err) == (1, True)
