"""The attacks of bench.faults find a store that does not flush, and their counts are on the page."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from random import Random

import pytest

from bench.faults import power
from bench.faults.__main__ import COUNTS, PAGE, added, with_table


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
    once = added({}, {"disk full": (3, 20, 0)}, 1, "2026-01-01")
    twice = added(once, {"disk full": (4, 30, 1)}, 2, "2026-01-02")
    runs = ["2026-01-01, seed 1", "2026-01-02, seed 2"]
    assert twice == {"disk full": {"tries": 7, "acknowledged": 50, "broken": 1, "runs": runs}}


def test_the_page_has_the_kept_counts() -> None:
    page = PAGE.read_text()
    assert with_table(page, json.loads(COUNTS.read_text())) == page
