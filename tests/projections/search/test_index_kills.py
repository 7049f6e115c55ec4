"""Kill searches at any moment of indexing: the next one goes on, and the index equals a fresh one."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

import msgspec
import pytest

from eventstore import EventLog, open_store
from projections.search.full_text import INDEX_FILE, open_index
from tests.projections.search.indexes import dump
from tests.support.events import message
from tests.support.index_victims import Kill
from tests.support.processes import running

VICTIMS = "from tests.support.index_victims import serve; serve()"
EVENTS = 120
BATCH = 3_000
"""Characters of a batch: a few events."""


def check(folder: Path) -> int:
    """Check that a killed index has the words of exactly the events that it claims; return their number."""
    if not (folder / INDEX_FILE).exists() or not (folder / INDEX_FILE).stat().st_size:
        return 0
    with closing(sqlite3.connect(folder / INDEX_FILE)) as db:
        if not db.execute("PRAGMA user_version").fetchone()[0]:
            return 0
        db.execute("INSERT INTO texts (texts) VALUES ('integrity-check')")
        db.rollback()
        (position,) = db.execute("SELECT position FROM state").fetchone()
        rows = [row for (row,) in db.execute("SELECT rowid FROM texts WHERE texts MATCH 'word' ORDER BY 1")]
        assert rows == list(range(1, position + 1))
        return int(position)


def grow(log: EventLog, random: Random, start: int) -> None:
    for number in range(start, start + EVENTS):
        text = f"word findName{number} {'filler ' * random.randrange(100)} é{number}"
        log.append(f"s{number % 5}", [message(f"e{number}", text)])


def play(folder: Path, kills: int, seed: str) -> tuple[int, int]:
    """Kill so many searches of a store that grows; return how many were killed, and how many ended before.

    What a search that ended has made equals a fresh index. Every other time, the next one begins anew.
    """
    random = Random(seed)
    # Longer after each kill and shorter after each end: on a busy machine, some searches end too.
    longest = 5_000.0
    store, index, fresh = folder / "store", folder / "index", folder / "fresh"
    index.mkdir()
    ended = 0
    with running(VICTIMS) as victims, open_store(store) as log:
        grow(log, random, 0)
        for number in range(kills):
            microseconds = random.uniform(0, random.choice((longest / 5, longest)))
            kill = Kill(str(store), str(index), BATCH, microseconds)
            if victims.ask(msgspec.json.encode(kill).decode()) == "0":
                longest *= 1.1
                if number % 5 == 0:
                    check(index)
                continue
            longest /= 2
            ended += 1
            fresh.mkdir()
            with open_index(log, fresh):
                pass
            assert dump(index) == dump(fresh)
            shutil.rmtree(fresh)
            if ended % 2:
                shutil.rmtree(index)
                index.mkdir()
            else:
                grow(log, random, ended * EVENTS)
    return kills - ended, ended


@pytest.mark.slow
def test_a_search_killed_at_some_moments_leaves_an_index_that_the_next_completes(tmp_path: Path) -> None:
    killed = number = 0
    while killed < 10:
        folder = tmp_path / f"{number}"
        folder.mkdir()
        killed, number = killed + play(folder, 20, f"some {number}")[0], number + 1


@pytest.mark.long
def test_a_search_killed_at_a_thousand_moments_leaves_an_index_that_the_next_completes(
    tmp_path: Path,
) -> None:
    killed = ended = number = 0
    while killed < 1_000:
        folder = tmp_path / f"{number}"
        folder.mkdir()
        played = play(folder, 100, folder.name)
        killed, ended, number = killed + played[0], ended + played[1], number + 1
    assert ended > 10
