"""A store in PostgreSQL on this machine beside one in a folder, and beside `eventsourcing` in PostgreSQL."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from eventstore import open_store
from eventstore.log import StoredLog
from eventstore.transfer import transfer
from projections.audit.session import audit
from projections.context.build import build_context
from tests.support.events import message
from tests.support.postgres import new_server, remove
from tests.support.stores import make_store

SESSION = "session-00000"
MESSAGES = 400
TEXT = "x" * 2000
TURNS = 6
ROUNDS = 50
MANY = 1000
WRITERS = 8
EACH = 20
ROUND_TRIP = 0.0005
"""Seconds that a network adds to each query."""

LOGS = pytest.mark.parametrize("role", ["refold", "folder"])
"""`refold` is the store in PostgreSQL."""


@pytest.fixture(scope="module", params=range(TURNS), autouse=True)
def turn(request: pytest.FixtureRequest) -> int:
    """The number of the turn: contenders take turns, because a disk's speed varies within seconds."""
    return int(request.param)


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    """A server that flushes as a folder does."""
    made = new_server(Path("/var/tmp"), fsync="on")  # noqa: S108
    yield made
    remove(made)


@pytest.fixture(scope="module")
def logs(server: Any) -> Iterator[dict[str, StoredLog]]:
    """Both stores, with the same session of 400 messages and a compaction."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        make_store(Path(folder, "store"), 1, messages=MESSAGES)
        with open_store(Path(folder, "store")) as stored, open_store(server.new_store()) as log:
            transfer(stored, log)
            yield {"refold": log, "folder": stored}


@pytest.fixture(scope="module")
def conversations() -> Iterator[Any]:
    """An application of `eventsourcing` on a server of its own, which flushes as well."""
    pytest.importorskip("eventsourcing", reason="eventsourcing is not installed: pip install 'refold[peers]'")
    from bench.peers.aggregate import Conversations  # noqa: PLC0415  an extra

    server = new_server(Path("/var/tmp"), fsync="on")  # noqa: S108
    env = {
        "PERSISTENCE_MODULE": "eventsourcing.postgres",
        "POSTGRES_DBNAME": "postgres",
        "POSTGRES_HOST": str(server.folder),
        "POSTGRES_PORT": "5432",
        "POSTGRES_USER": "refold",
        "POSTGRES_PASSWORD": "none",
    }
    try:
        with closing(Conversations(env=env)) as application:
            yield application
    finally:
        remove(server)


@pytest.fixture(scope="module")
def conversation(conversations: Any) -> Any:
    """The same messages as an aggregate, with a snapshot of its state."""
    from bench.peers.aggregate import Conversation  # noqa: PLC0415  an extra

    held = Conversation()
    for number in range(MESSAGES):
        held.append(json.dumps({"role": "user", "content": f"message {number} " + TEXT}))
        conversations.save(held)
    conversations.take_snapshot(held.id)
    return held


@LOGS
def test_append(measure: Any, logs: dict[str, StoredLog], role: str, turn: int) -> None:
    new = (message(f"{turn}-{number}", TEXT) for number in range(ROUNDS))
    measure(
        "PostgreSQL: append",
        role,
        logs[role].append,
        rounds=ROUNDS,
        setup=lambda: (("appended", [next(new)]), {}),
    )


@LOGS
def test_append_many(measure: Any, logs: dict[str, StoredLog], role: str, turn: int) -> None:
    batches = ([message(f"{turn}-{batch}-{number}", TEXT) for number in range(MANY)] for batch in count())
    measure(
        "PostgreSQL: append a thousand at once",
        role,
        logs[role].append,
        rounds=5,
        setup=lambda: (("appended-at-once", next(batches)), {}),
    )


@LOGS
def test_eight_writers(measure: Any, logs: dict[str, StoredLog], role: str, turn: int) -> None:
    rounds = count()

    def write(writer: int, round_: int) -> None:
        for number in range(EACH):
            logs[role].append(f"writer-{writer}", [message(f"{turn}-{round_}-{number}", TEXT)])

    def write_all() -> None:
        round_ = next(rounds)
        list(pool.map(write, range(WRITERS), [round_] * WRITERS))

    with ThreadPoolExecutor(WRITERS) as pool:
        measure("PostgreSQL: eight writers", role, write_all, rounds=3)


def test_append_to_eventsourcing(measure: Any, conversations: Any) -> None:
    from bench.peers.aggregate import Conversation  # noqa: PLC0415  an extra

    held, text = Conversation(), json.dumps({"role": "user", "content": TEXT})
    conversations.save(held)

    def append() -> None:
        held.append(text)
        conversations.save(held)

    measure("PostgreSQL: append", "eventsourcing", append, rounds=ROUNDS)


@LOGS
def test_context(measure: Any, logs: dict[str, StoredLog], role: str) -> None:
    def context() -> int:
        with logs[role].snapshot() as snapshot:
            return len(build_context(snapshot, SESSION).parts)

    assert measure("PostgreSQL: context", role, context, rounds=ROUNDS) > 100


def test_context_of_eventsourcing(measure: Any, conversations: Any, conversation: Any) -> None:
    def context() -> int:
        return len(conversations.repository.get(conversation.id).messages)

    assert measure("PostgreSQL: context", "eventsourcing", context, rounds=ROUNDS) == MESSAGES


@LOGS
@pytest.mark.parametrize("delay", [0, ROUND_TRIP], ids=["", "over-a-network"])
def test_audit(
    measure: Any, logs: dict[str, StoredLog], role: str, delay: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute = psycopg.Connection.execute

    def later(*arguments: Any, **options: Any) -> Any:
        time.sleep(delay)
        return execute(*arguments, **options)

    def audited() -> Any:
        with logs[role].snapshot() as snapshot:
            return audit(snapshot, SESSION)

    if delay:
        monkeypatch.setattr(psycopg.Connection, "execute", later)
    name = "PostgreSQL: audit over a network" if delay else "PostgreSQL: audit"
    assert measure(name, role, audited, rounds=5)
