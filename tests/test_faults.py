"""The attacks of bench.faults find a store that does not flush, and their counts are on the page."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec
import pytest

from bench.faults import Attack, Outcome, power, tried
from bench.faults.__main__ import COUNTS, PAGE, Count, Counts, added, with_table
from bench.faults.turns import turn


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_a_writer_without_flushes_loses_appends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = power._steps
    monkeypatch.setattr(
        power, "_steps", lambda trace: (each for each in steps(trace) if each.kind != "flush")
    )
    monkeypatch.setattr(power, "STATES", 5)
    assert any(each.problem for each in power.power_losses(Random(1), tmp_path))


def test_counts_of_runs_add_up() -> None:
    once = added(Counts(), {"disk full": Count(3, 20, 0)}, "2026-01-01, seed 1")
    twice = added(once, {"disk full": Count(4, 30, 1)}, "2026-01-02, seed 2")
    assert twice == Counts(["2026-01-01, seed 1", "2026-01-02, seed 2"], {"disk full": Count(7, 50, 1)})


def test_the_page_has_the_kept_counts() -> None:
    page = PAGE.read_text()
    assert with_table(page, msgspec.json.decode(COUNTS.read_bytes(), type=Counts)) == page


def _crashes(_dice: Random, _folder: Path) -> Iterator[Outcome]:
    yield Outcome(of="first")
    os.kill(os.getpid(), signal.SIGUSR1)


def _hangs(_dice: Random, _folder: Path) -> Iterator[Outcome]:
    yield Outcome(of="first")
    time.sleep(600)
    yield Outcome(of="never")


def _fails(_dice: Random, _folder: Path) -> Iterator[Outcome]:
    yield tried("odd", lambda: int("x"))


@pytest.mark.parametrize(
    ("attack", "problem"),
    [(_crashes, "signal 10"), (_hangs, "more than 0.5 seconds"), (_fails, "ValueError")],
)
def test_a_crash_or_hang_is_broken(attack: Attack, problem: str) -> None:
    *_, last = turn(attack, "seed", 60, bound=0.5)
    assert problem in last.problem


def test_a_turn_is_repeated_by_its_seed() -> None:
    def rolls(dice: Random, _folder: Path) -> Iterator[Outcome]:
        yield Outcome(of=str(dice.random()))

    assert [*turn(rolls, "1.2", 0)] == [*turn(rolls, "1.2", 0)]
