"""Replays that are killed midway: the next run does the rest."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path

import pytest

import compaction.replay
from tests.cli.running import Outcome, Refold
from tests.support.gates import Gate
from tests.support.stores import make_store

pytestmark = pytest.mark.usefixtures("one_core")

SESSIONS = 12
OPTIONS = ("--at", "recorded", "--with", "refold", "--with", "drop", "--keep-recent", "200")


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sessions of the trials that this process makes."""
    made: list[str] = []
    real = compaction.replay.try_variant

    def noted(snapshot, cursor, *rest, **options):  # type: ignore[no-untyped-def]
        made.append(cursor.session)
        return real(snapshot, cursor, *rest, **options)

    monkeypatch.setattr(compaction.replay, "try_variant", noted)
    return made


@pytest.fixture
def stores(tmp_path: Path) -> tuple[Refold, Refold]:
    """The command with two equal stores."""
    make_store(tmp_path / "one", SESSIONS, messages=200)
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    return Refold(tmp_path / "one"), Refold(tmp_path / "two")


def replay(refold: Refold, *options: str) -> Outcome:
    return refold("replay", "--all", *OPTIONS, *options)


def kill_after(refold: Refold, sessions: int) -> None:
    """Kill a replay that has reported so many sessions, while it is at work on the next."""
    with (
        Gate("compaction.replay:try_variant") as gate,
        refold.started(
            "replay", "--all", *OPTIONS, gate=gate, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as process,
    ):
        gate.pass_through(2 * sessions + 1)
        gate.held()
        assert process.stderr is not None
        for _ in range(sessions):
            assert b"size left: refold" in process.stderr.readline()
        process.kill()
    assert process.returncode == -signal.SIGKILL


def test_a_run_after_a_kill_does_only_the_rest(stores: tuple[Refold, Refold], tried: list[str]) -> None:
    broken, whole = stores
    kill_after(broken, 3)
    again = replay(broken, "--json")
    assert len(tried) == 2 * (SESSIONS - 3)
    tried.clear()
    unbroken = replay(whole, "--json")
    assert len(tried) == 2 * SESSIONS
    assert (again.raw, again.errors) == (unbroken.raw, unbroken.errors)


def test_a_finished_run_is_not_made_again(stores: tuple[Refold, Refold], tried: list[str]) -> None:
    refold, _ = stores
    first = replay(refold)
    tried.clear()
    again = replay(refold)
    assert (again.out, tried) == (first.out, [])


def test_a_variant_more_is_tried_alone(stores: tuple[Refold, Refold], tried: list[str]) -> None:
    refold, _ = stores
    replay(refold)
    tried.clear()
    replay(refold, "--with", "pi")
    assert len(tried) == SESSIONS
