from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from eventstore.errors import StoreError
from tests.cli.running import PROJECT, Refold
from tests.cli.tale import SESSION
from tests.support.patience import PATIENCE
from tests.support.tampering import tables

HOLD_OPEN = """
import sys
from eventstore import open_store
with open_store(sys.argv[1]) as log, log.snapshot():
    print("open", flush=True)
    sys.stdin.read()
"""


def test_a_backup_is_a_store_with_the_same_sessions(told: Refold, tmp_path: Path) -> None:
    told("backup", "copy")
    copy = Refold(tmp_path / "copy")
    assert copy("sessions", "--json").raw == told("sessions", "--json").raw
    assert copy("log", SESSION, "--json").raw == told("log", SESSION, "--json").raw


def test_json_tells_where_it_is_and_what_was_verified(told: Refold, tmp_path: Path) -> None:
    found = told("backup", "copy", "--json").json
    assert found.pop("bytes") == (tmp_path / "copy" / "data.mdb").stat().st_size
    assert found == {"folder": "copy", "heads": "copy.heads", "sessions": 1, "events": 17}


def test_no_backup_goes_into_a_store(told: Refold) -> None:
    done = told("backup", str(told.store / "inside"), code=1)
    assert "is inside a store, with which it would be lost" in done.errors
    assert not (told.store / "inside").exists()


@pytest.mark.slow
def test_a_store_is_backed_up_while_another_process_holds_it_open(told: Refold, tmp_path: Path) -> None:
    holding = subprocess.Popen(
        [
            sys.executable,
            "-c",
            HOLD_OPEN,
            told.store,
        ],
        env=told.environment(PYTHONPATH=str(PROJECT)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holding:
        assert holding.stdout is not None
        assert holding.stdout.readline() == b"open\n"
        told("backup", "copy")
        holding.communicate(timeout=PATIENCE)
    assert holding.returncode == 0
    assert Refold(tmp_path / "copy")("verify", "--json").json["events"] == 17


def test_a_store_that_is_not_sound_is_not_backed_up(told: Refold, tmp_path: Path) -> None:
    with tables(told.store) as stored:
        key, value = stored.items("events")[0]
        stored.put("events", key, value.replace(b"Fix the parser.", b"Fix the sparrow"))
    before = sorted(tmp_path.iterdir())
    assert told.refused(StoreError, "backup", "copy").path == "copy"
    assert sorted(tmp_path.iterdir()) == before
