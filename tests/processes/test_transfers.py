"""Transfers between stores that are killed at any moment, and several at the same time."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from eventstore import is_store, open_store
from eventstore.files.discovery import session_files
from eventstore.files.syncing import import_files
from eventstore.transfer import transfer
from eventstore.verify import verify
from tests.cli.running import Refold
from tests.support.events import message
from tests.support.gates import Gate
from tests.support.homes import chains, large_home


@pytest.fixture
def here(tmp_path: Path) -> Refold:
    """The command on a store of so many sessions that a copy takes more batches than there are before the kills."""
    files = session_files({}, [str(large_home(tmp_path / "home", 32, megabytes=24))])
    with open_store(tmp_path / "here") as log:
        assert all(each.error is None for each in import_files(log, files, jobs=1))
    return Refold(tmp_path / "here")


KILLS = 6


def held(path: str | Path) -> dict[str, tuple[int, bytes]]:
    """Return versions and digests of the sessions of a store, which must be sound."""
    with open_store(path) as log, log.snapshot() as snapshot:
        assert verify(log).findings == []
        return {head.name: (head.version, head.digest) for head in snapshot.heads()}


@pytest.mark.parametrize("direction", ["push", "pull", "push to postgres"])
def test_killed_at_any_moments_and_run_again_it_makes_an_equal_store(
    here: Refold, direction: str, request: pytest.FixtureRequest
) -> None:
    there: str | Path = here.store.parent / "there"
    run, other = (Refold(here.store.parent / "there"), here.store) if direction == "pull" else (here, there)
    if direction == "push to postgres":
        there = other = request.getfixturevalue("postgres").new_store()
    command = direction.partition(" ")[0]
    rng = random.Random(direction)
    states: list[dict[str, tuple[int, bytes]]] = []
    for number in range(KILLS):
        with Gate("eventstore.transfer:_copy_batch") as gate:
            process = run.started(command, other, gate=gate, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            # The first is killed while it starts, the others while they copy: the last batch that they begin waits.
            gate.pass_through(number and rng.randint(2, 5))
            time.sleep(rng.random() * (0.05 if number else 0.15))
            process.send_signal(signal.SIGKILL)
            process.communicate()
        states.append(held(there) if is_store(there) else {})
    run(command, other)
    whole = held(here.store)
    assert len({sum(version for version, _ in state.values()) for state in states}) >= 3
    for state, after in zip(states, [*states[1:], whole], strict=True):
        assert all(after[session][0] >= version for session, (version, _) in state.items())
    assert held(there) == whole
    done = run(command, other, "--json").json
    assert {each["added"] for each in done["sessions"]} == {0}


def test_several_programs_copy_to_one_store_that_others_append_to(here: Refold) -> None:
    there = here.store.parent / "there"
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    copies = [here.started("push", there, **streams) for _ in range(3)]
    with open_store(there) as log:
        appended = 0
        while not appended or any(copy.poll() is None for copy in copies):
            appended += 1
            Refold(there)("append", "own", stdin='{"type":"custom","customType":"x"}')
        assert [copy.communicate()[1] for copy in copies] == [b""] * 3
        assert [copy.returncode for copy in copies] == [0] * 3
        with log.snapshot() as snapshot:
            assert snapshot.head("own").version == appended
        found = chains(log)
        del found["own"]
    with open_store(here.store) as log:
        assert found == chains(log)


def test_a_store_is_copied_while_others_append_to_it(here: Refold) -> None:
    there = here.store.parent / "there"
    with open_store(here.store) as log, open_store(there) as target:
        process = here.started("push", there, stdout=subprocess.PIPE)
        appended = 0
        while not appended or process.poll() is None:
            appended += 1
            log.append("session-00000", [message(f"more-{appended}")])
        process.communicate()
        assert process.returncode == 0
        transfer(log, target)
        assert chains(target) == chains(log)
