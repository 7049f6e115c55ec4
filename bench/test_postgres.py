"""A store in PostgreSQL on this machine, beside one in a folder: appends, contexts and audits."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from eventstore import open_store
from eventstore.log import StoredLog
from eventstore.transfer import transfer
from projections import build_context
from projections.audit.session import audit
from tests.support.events import message
from tests.support.postgres import new_server, remove
from tests.support.stores import make_store

SESSION = "session-00000"
MESSAGES = 400
TEXT = "x" * 2000


@pytest.fixture(scope="module", params=["lmdb", "postgres"])
def log(request: pytest.FixtureRequest) -> Iterator[StoredLog]:
    """A store with one session of 400 messages and a compaction, on a disk; the server flushes as the folder does."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        make_store(Path(folder, "store"), 1, messages=MESSAGES)
        with open_store(Path(folder, "store")) as stored:
            if request.param == "lmdb":
                yield stored
                return
            server = new_server(Path("/var/tmp"), fsync="on")  # noqa: S108
            try:
                with open_store(server.new_store()) as log:
                    transfer(stored, log)
                    yield log
            finally:
                remove(server)


def test_append(benchmark: BenchmarkFixture, log: StoredLog) -> None:
    def setup() -> tuple[tuple[Any, ...], dict[str, Any]]:
        number = setup.__dict__["n"] = setup.__dict__.get("n", 0) + 1
        return ("appended", [message(f"e{number}", TEXT)]), {}

    benchmark.pedantic(log.append, setup=setup, rounds=200, warmup_rounds=20)


def test_context(benchmark: BenchmarkFixture, log: StoredLog) -> None:
    def context() -> int:
        with log.snapshot() as snapshot:
            return len(build_context(snapshot, SESSION).parts)

    assert benchmark(context) > 100


def test_audit(benchmark: BenchmarkFixture, log: StoredLog) -> None:
    def audited() -> Any:
        with log.snapshot() as snapshot:
            return audit(snapshot, SESSION)

    assert benchmark(audited)


ROUND_TRIP = 0.0005
"""Seconds that a network adds to each query."""


def test_audit_over_a_network(
    benchmark: BenchmarkFixture, log: StoredLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    psycopg = pytest.importorskip("psycopg")
    execute = psycopg.Connection.execute

    def later(*arguments: Any, **options: Any) -> Any:
        time.sleep(ROUND_TRIP)
        return execute(*arguments, **options)

    monkeypatch.setattr(psycopg.Connection, "execute", later)
    test_audit(benchmark, log)


@pytest.fixture(scope="module")
def conversations() -> Iterator[Any]:
    """The same messages as an aggregate of `eventsourcing`, on a server that flushes as well."""
    pytest.importorskip("eventsourcing", reason="eventsourcing is not installed: pip install 'refold[peers]'")
    from bench.peers.aggregate import Conversations  # noqa: PLC0415  an extra

    server = new_server(Path("/var/tmp"), fsync="on")  # noqa: S108
    try:
        env = {
            "PERSISTENCE_MODULE": "eventsourcing.postgres",
            "POSTGRES_DBNAME": "postgres",
            "POSTGRES_HOST": str(server.folder),
            "POSTGRES_PORT": "5432",
            "POSTGRES_USER": "refold",
            "POSTGRES_PASSWORD": "none",
        }
        with closing(Conversations(env=env)) as application:
            yield application
    finally:
        remove(server)


def conversation(application: Any) -> Any:
    from bench.peers.aggregate import Conversation  # noqa: PLC0415  an extra

    made = Conversation()
    application.save(made)
    return made


def test_append_to_eventsourcing(benchmark: BenchmarkFixture, conversations: Any) -> None:
    held, text = conversation(conversations), json.dumps({"role": "user", "content": TEXT})

    def append() -> None:
        held.append(text)
        conversations.save(held)

    benchmark.pedantic(append, rounds=200, warmup_rounds=20)


def test_context_of_eventsourcing(benchmark: BenchmarkFixture, conversations: Any) -> None:
    held = conversation(conversations)
    for number in range(MESSAGES):
        held.append(json.dumps({"role": "user", "content": f"message {number} " + TEXT}))
        conversations.save(held)
    conversations.take_snapshot(held.id)
    assert len(benchmark(lambda: conversations.repository.get(held.id).messages)) == MESSAGES
