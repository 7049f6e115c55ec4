from __future__ import annotations

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest

from cli.commands.bench import _speed
from tests.cli import long_talk
from tests.cli.running import Refold
from tests.cli.tale import SESSION
from tests.support import codex
from tests.support.gates import Gate
from tests.support.madeup import format as madeup_format
from tests.support.patience import PATIENCE

TIMES = ("rebuildSeconds", "openRebuildSeconds", "importSeconds", "foldSeconds")


def test_a_session_is_measured_beside_its_fold(told: Refold) -> None:
    (found,) = told("bench", "--json").json["sessions"]
    context = told("context", SESSION, "--format", "pi").json
    assert (found["session"], found["messages"]) == (SESSION, len(context["messages"]))
    assert all(found[name] > 0 for name in TIMES)
    assert found["foldRatio"] == pytest.approx(found["foldSeconds"] / found["rebuildSeconds"])
    assert found["importRatio"] == pytest.approx(found["importSeconds"] / found["foldSeconds"])


def test_the_sessions_that_are_named_are_measured_each_once(told: Refold, tmp_path: Path) -> None:
    told("sync", long_talk.write(tmp_path / "talk.jsonl"), "--as", "talk")
    sessions = told("bench", "talk", SESSION, "talk", "--json").json["sessions"]
    assert [each["session"] for each in sessions] == ["talk", SESSION]


@pytest.mark.parametrize("columns", [50, 60, 80, None])
def test_below_the_table_stands_what_its_columns_mean_and_no_others(
    told: Refold, columns: int | None
) -> None:
    told.columns = columns
    shown = re.sub(r"\x1b\[[\d;]*m", "", told("bench").out)
    table, explained = shown.split("\n\n")[:2]
    with_meaning = ("REBUILD", "P99", "STORE OPEN", "JSON FOLD", "SPEED", "IMPORT")
    words = table.partition(SESSION[:8])[0].split()
    there = [name for name in with_meaning if set(name.split()) <= set(words)]
    assert [line[:10].rstrip() for line in explained.splitlines() if line[:1] != " "] == there
    assert "REBUILD" in there


def test_nothing_is_left_of_it_and_the_store_is_as_it_was(told: Refold) -> None:
    before = told("sessions", "--json").out, sorted(told.store.parent.iterdir())
    told("bench")
    assert (told("sessions", "--json").out, sorted(told.store.parent.iterdir())) == before


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_nothing_is_left_of_it_where_it_is_ended(told: Refold, number: signal.Signals) -> None:
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("whoever runs the tests ignores this signal, and so do its children")
    before = sorted(told.store.parent.iterdir())
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Gate("cli.commands.bench:_measured") as gate, told.started("bench", gate=gate, **streams) as running:
        gate.held()
        assert list(told.store.parent.glob("refold-bench-*"))
        running.send_signal(number)
        _out, errors = running.communicate(timeout=PATIENCE)
    assert running.returncode == 128 + number, errors
    assert sorted(told.store.parent.iterdir()) == before


@pytest.mark.parametrize(
    ("ratio", "told"), [(45, "45.0 \xd7 faster"), (1, "1.00 \xd7 faster"), (0.25, "4.00 \xd7 slower")]
)
def test_a_ratio_says_which_of_both_is_faster(ratio: float, told: str) -> None:
    assert _speed(ratio) == told


def test_in_an_empty_store_appends_are_measured(refold: Refold) -> None:
    refold("append", "s")
    found = refold("bench", "--json").json
    assert (found["sessions"], found["append"]["seconds"] > 0) == ([], True)
    assert refold("bench").out


@pytest.mark.usefixtures("madeup")
def test_a_session_of_any_harness_is_measured(refold: Refold, tmp_path: Path) -> None:
    record = {
        "kind": "say",
        "in": "one",
        "id": "a",
        "after": None,
        "message": {"who": "person", "text": "x"},
    }
    (tmp_path / "file").write_bytes(madeup_format.HEADER + json.dumps(record).encode() + b"\n")
    refold("sync", "file")
    (found,) = refold("bench", "one", "--json").json["sessions"]
    assert found["rebuildSeconds"] > 0
    assert refold("bench", "one").code == 0


def test_a_session_of_codex_is_measured(refold: Refold, tmp_path: Path) -> None:
    said = (codex.said("Go."), codex.called("c1"), codex.output("c1"), codex.answered("Done."))
    (tmp_path / codex.name_of()).write_bytes(codex.rollout(*said))
    refold("sync", codex.name_of())
    (found,) = refold("bench", "--json").json["sessions"]
    assert found["messages"] == len(said)
    assert refold("bench").code == 0


def test_a_place_in_a_session_can_be_measured(told: Refold) -> None:
    (found,) = told("bench", SESSION, "--as-of", "3", "--json").json["sessions"]
    context = told("context", SESSION, "--as-of", "3", "--format", "pi").json
    assert found["messages"] == len(context["messages"])
    assert found["rebuildSecondsP99"] >= found["rebuildSeconds"]
    assert "--leaf and --as-of need one SESSION" in told("bench", "--as-of", "3", code=2).errors


@pytest.mark.parametrize(("faster", "code"), [(1 / 20, 0), (20, 1)])
def test_a_regression_ends_with_an_error(told: Refold, tmp_path: Path, faster: float, code: int) -> None:
    before = told("bench", SESSION, "--json").json
    before["sessions"][0]["foldRatio"] *= faster
    (tmp_path / "before.json").write_text(json.dumps(before))
    done = told("bench", SESSION, "--against", "before.json", code=code)
    assert ("as long as in the earlier run" in done.errors) == bool(code)


def test_an_earlier_run_that_is_none_is_refused(told: Refold, tmp_path: Path) -> None:
    (tmp_path / "before.json").write_text("[]")
    done = told("bench", SESSION, "--against", "before.json", code=1)
    assert "is not the JSON of an earlier run" in done.errors
