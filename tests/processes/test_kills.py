"""Kill writers at any moment: acknowledged appends are whole, others whole or absent.

A kill shows that appends are atomic. Only cutting the power could show that they are on the disk when they
return, as the flush promises.
"""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import msgspec
import pytest

from eventstore import chain, open_store
from eventstore.frame import decode
from eventstore.lmdb.environment import Durability
from eventstore.verify import verify
from tests.support.events import message
from tests.support.processes import Program, running
from tests.support.victims import TOGETHER, Kill, names

STORES = 16
KILLS = 25
"""In each store, of each durability."""

VICTIMS = "from tests.support.victims import serve; serve()"

APPEND_WHEN_TOLD = """
import sys
from eventstore import open_store
from tests.support.events import message
with open_store(sys.argv[1]) as log:
    for line in sys.stdin:
        print(log.append("survivor", [message(line.strip())]).version, flush=True)
"""


class Witness:
    """Reads what is new in a store after each kill, and holds it against what was acknowledged."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0
        self._digests: dict[str, bytes] = {}
        self._seqs: dict[str, int] = {}
        self._appends: set[str] = set()

    def look(self, acknowledged: list[str]) -> None:
        with open_store(self._path) as log, log.snapshot() as snapshot:
            new = [decode(item.frame, item.session) for item in snapshot.feed(self._position)]
        for event in new:
            self._position += 1
            assert event.position == self._position
            assert event.seq == self._seqs.get(event.session, 0) + 1
            assert event.digest == chain.link(
                self._digests.get(event.session, chain.START),
                body=event.body,
                format=event.format,
                id=event.id,
                parent=event.parent,
                kind=event.kind,
                time=event.time,
                cause=event.cause,
            )
            self._seqs[event.session], self._digests[event.session] = event.seq, event.digest
        ids = [event.id for event in new if event.session != "survivor"]
        found = [first.rpartition("-")[0] for first in ids[::TOGETHER]]
        assert ids == [name for append in found for name in names(append)]
        assert set(acknowledged) <= set(found)
        assert not self._appends & set(found)
        self._appends |= set(found)

    def check_sound(self) -> None:
        with open_store(self._path) as log:
            found = verify(log)
        assert (found.findings, found.events) == ([], self._position)


def have_killed(victims: Program, kill: Kill) -> list[str]:
    """Kill a writer and return the names of the appends that it had acknowledged."""
    acknowledged = json.loads(victims.ask(msgspec.json.encode(kill).decode()))
    assert isinstance(acknowledged, list)
    return acknowledged


def moment(random: Random) -> tuple[int, float]:
    """Choose when to kill: acknowledgements to await, then microseconds."""
    acknowledgements = random.choice([0, 0, 1, 2, 3, 5])
    return acknowledgements, random.uniform(0, 600 if acknowledgements else 2500)


@pytest.mark.parametrize(("durability", "threads"), [("each", 1), ("batch", 3)])
def test_a_writer_killed_at_any_moment_leaves_whole_appends_and_all_that_it_acknowledged(
    tmp_path: Path, durability: Durability, threads: int
) -> None:
    random = Random(durability)
    acknowledged = 0
    with running(VICTIMS) as victims:
        for store in range(STORES):
            path = tmp_path / f"{store}"
            witness = Witness(path)
            for number in range(KILLS):
                kill = Kill(str(path), f"w{number}", durability, threads, *moment(random))
                told = have_killed(victims, kill)
                witness.look(told)
                acknowledged += len(told)
            witness.check_sound()
        assert victims.finish() == []
    assert acknowledged > STORES * KILLS


@pytest.mark.parametrize("durability", ["each", "batch"])
def test_a_writer_goes_on_while_others_are_killed(tmp_path: Path, durability: Durability) -> None:
    random = Random(f"beside {durability}")
    path = tmp_path / "store"
    witness = Witness(path)
    with running(VICTIMS) as victims, running(APPEND_WHEN_TOLD, path) as survivor:
        for number in range(25):
            kill = Kill(str(path), f"w{number}", durability, 2, *moment(random))
            told = have_killed(victims, kill)
            assert survivor.ask(f"e{number}") == f"{number + 1}"
            witness.look(told)
        assert survivor.finish() == victims.finish() == []
    witness.check_sound()


@pytest.mark.parametrize("durability", ["each", "batch"])
def test_a_process_killed_while_it_makes_a_store_leaves_one_that_opens(
    tmp_path: Path, durability: Durability
) -> None:
    random = Random(f"making {durability}")
    with running(VICTIMS) as victims:
        for number in range(40):
            path = tmp_path / f"{number}"
            have_killed(victims, Kill(str(path), "w", durability, 1, 0, random.uniform(0, 2000)))
            with open_store(path) as log:
                log.append("after", [message("a")])
                assert verify(log).findings == []
        assert victims.finish() == []
