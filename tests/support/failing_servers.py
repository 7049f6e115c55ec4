"""Writers that go on while their PostgreSQL server is killed, or fails over to its replica, again and again.

A long run: `python -m tests.support.failing_servers FOLDER --kills 200 --failovers 50 --seed 1`. It stores its state
in the folder after each failure; run it again to go on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import threading
import time
from pathlib import Path
from typing import Self
from urllib.parse import quote

from eventstore import EventLog, open_store
from eventstore.errors import StoreError
from eventstore.verify import verify
from tests.support.events import message
from tests.support.patience import PATIENCE
from tests.support.postgres import Server

WRITERS = 8


class Writers:
    """Threads that each append to a session of their own, and count what was acknowledged."""

    def __init__(self, log: EventLog, acknowledged: dict[str, int]) -> None:
        self._log = log
        self.acknowledged = acknowledged
        self.errors: list[BaseException] = []
        self._is_over = threading.Event()
        self._threads = [
            threading.Thread(target=self._write, args=(f"writer-{number}",)) for number in range(WRITERS)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join(PATIENCE)

    def _write(self, session: str) -> None:
        try:
            while not self._is_over.is_set():
                number = self.acknowledged[session] + 1
                try:
                    # After an error the event may be stored or not: it is sent again.
                    self._log.append(session, [message(f"e{number}", "text " * 50)])
                except StoreError:
                    time.sleep(0.01)
                else:
                    self.acknowledged[session] = number
        except BaseException as error:
            self.errors.append(error)
            raise

    def wait_for_progress(self) -> None:
        """Wait until every writer has had another append acknowledged."""
        before, until = dict(self.acknowledged), time.monotonic() + PATIENCE
        while any(self.acknowledged[name] <= count for name, count in before.items()):
            assert not self.errors, self.errors
            assert time.monotonic() < until, "writers do not go on"
            time.sleep(0.005)


def check(log: EventLog, acknowledged: dict[str, int]) -> None:
    """Assert that what was acknowledged is stored, and that no chain and no position has a gap."""
    with log.snapshot() as snapshot:
        heads = {head.name: head.version for head in snapshot.heads()}
        for name, count in acknowledged.items():
            assert heads.get(name, 0) in (count, count + 1), (name, heads.get(name), count)
            numbers = [snapshot.locate(name, f"e{number}") for number in range(1, count + 1)]
            assert numbers == list(range(1, count + 1)), name
        assert [item.position for item in snapshot.feed()] == list(range(1, sum(heads.values()) + 1))
    assert verify(log).findings == []


def count_stored(log: EventLog, acknowledged: dict[str, int]) -> None:
    """Count what was acknowledged after the state was last written, before the run was stopped."""
    with log.snapshot() as snapshot:
        for head in snapshot.heads():
            assert head.version >= acknowledged[head.name]
            acknowledged[head.name] = head.version


def fail_often(folder: Path, *, kills: int, failovers: int, seed: int) -> dict[str, int]:
    """Kill the primary and fail over so often; return what was acknowledged. Goes on with what the folder holds."""
    state_file = folder / "state.json"
    fresh = {
        "kills": 0,
        "failovers": 0,
        "primary": 0,
        "acknowledged": {f"writer-{n}": 0 for n in range(WRITERS)},
    }
    state = json.loads(state_file.read_text()) if state_file.exists() else fresh
    both = [Server(folder / name, fsync="on", synchronous_standby_names="*") for name in ("one", "two")]
    primary, standby = both[state["primary"]], both[1 - state["primary"]]
    for server in both:
        server.folder.mkdir(exist_ok=True)
    if not primary.data.exists():
        primary.make()
    primary.start()
    standby.follow(primary)
    standby.start()
    hosts = ",".join(quote(str(server.folder), safe="") for server in both)
    url = f"postgresql://refold@/postgres?host={hosts}&target_session_attrs=read-write&connect_timeout={PATIENCE}"
    try:
        with open_store(url) as log:
            count_stored(log, state["acknowledged"])
        with open_store(url) as log, Writers(log, state["acknowledged"]) as writers:
            while state["kills"] < kills or state["failovers"] < failovers:
                writers.wait_for_progress()
                chance = random.Random(f"{seed}-{state['kills']}-{state['failovers']}")
                time.sleep(chance.uniform(0, 0.3))
                is_failover = (
                    state["failovers"] * kills < state["kills"] * failovers or state["kills"] >= kills
                )
                primary.kill()
                if is_failover:
                    standby.promote()
                    primary, standby = standby, primary
                    standby.follow(primary)
                    standby.start()
                    state["primary"] = both.index(primary)
                else:
                    primary.start()
                state["failovers" if is_failover else "kills"] += 1
                state_file.write_text(json.dumps(state))
            writers.wait_for_progress()
        assert not writers.errors, writers.errors
        with open_store(url, create=False) as log:
            check(log, state["acknowledged"])
        state_file.write_text(json.dumps(state))
    finally:
        for server in both:
            server.stop()
    return dict(state["acknowledged"])


def main() -> None:
    """Run for long, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--failovers", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    given.folder.mkdir(exist_ok=True, mode=0o755)
    found = fail_often(given.folder, kills=given.kills, failovers=given.failovers, seed=given.seed)
    told = f"{given.kills} kills, {given.failovers} failovers: {sum(found.values()):,} acknowledged appends, none lost"
    sys.stdout.write(told + "\n")


if __name__ == "__main__":
    main()
