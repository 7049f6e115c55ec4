"""A store in PostgreSQL on this machine, beside one in a folder: appends, contexts and audits."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
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


@pytest.fixture(scope="module", params=["lmdb", "postgres"])
def log(request: pytest.FixtureRequest) -> Iterator[StoredLog]:
    """A store with one session of 400 messages and a compaction, on a disk; the server flushes as the folder does."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        make_store(Path(folder, "store"), 1, messages=400)
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
        return ("appended", [message(f"e{number}", "x" * 2000)]), {}

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
