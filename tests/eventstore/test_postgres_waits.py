"""Appends to PostgreSQL wait for standbys, for a while for others, and for no client that does nothing."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("psycopg", reason="needs refold[postgres]")

import psycopg

from eventstore import EventLog, open_store
from eventstore.errors import StoreError
from eventstore.postgres import connections
from eventstore.postgres.postgres_log import PostgresLog
from eventstore.verify import verify
from tests.support.events import message
from tests.support.patience import PATIENCE
from tests.support.postgres import Server, new_folder, new_server, remove

WRITER = """
import itertools, sys
from eventstore import open_store
from tests.support.events import message
with open_store(sys.argv[1]) as log:
    for number in itertools.count():
        log.append(sys.argv[2], [message(f"{sys.argv[2]}-{number}", "text " * 500)], blobs=[b"%d" % (number // 2)])
        print(number, flush=True)
"""
HOLDER = """
import sys, time, psycopg
with psycopg.connect(sys.argv[1]) as connection:
    connection.execute(sys.argv[2])
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def url(postgres: Server) -> str:
    return postgres.new_store()


@pytest.fixture
def unreplicated() -> Iterator[Server]:
    """A server whose standby is not there; commits wait for it only if an address says so."""
    server = new_server(synchronous_standby_names="*", synchronous_commit="local")
    yield server
    remove(server)


@contextmanager
def process(script: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run a script that says in a line when it is ready."""
    with subprocess.Popen(
        [sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline()
        yield run
        run.kill()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits are looked at soon, and end soon."""
    monkeypatch.setattr(connections, "_TELL", (0.2, 0.2))
    monkeypatch.setattr(connections, "_WAIT", 1.0)


def with_options(url: str, **settings: str) -> str:
    """The address with settings of its sessions."""
    return url + "".join(f"%20-c{name}%3D{value}" for name, value in settings.items())


WAITING = {"synchronous_commit": "on"}


def round_trips(log: PostgresLog, folder: Path, use: Callable[[], Any]) -> int:
    """Count how often the server says that it is ready again."""
    with (folder / "trace").open("w") as trace:
        connection = log._connections.take()
        connection.pgconn.trace(trace.fileno())
        log._connections.give_back(connection)
        use()
        connection = log._connections.take()
        connection.pgconn.untrace()
        log._connections.give_back(connection)
    return (folder / "trace").read_text().count("ReadyForQuery")


class TestRoundTrips:
    def test_an_append_takes_one(self, url: str, tmp_path: Path) -> None:
        with open_store(url) as log:
            assert isinstance(log, PostgresLog)
            # psycopg prepares a statement after a few uses, and waits for that once.
            for number in range(8):
                log.append("s", [message(f"a{number}")])

            def count(*ids: str, session: str = "s", **options: Any) -> int:
                new = [message(name) for name in ids]
                return round_trips(log, tmp_path, lambda: log.append(session, new, **options))

            assert count("b") == 1
            assert count("c", "d", "e", blobs=[b"one", b"two"]) == 1
            assert count("f", expected=12) == 1
            new = [message("g", parent="f"), message("h", parent="g"), message("i", parent="g")]
            assert round_trips(log, tmp_path, lambda: log.append("s", new)) == 1
            # A session that this log has not appended to, and an entry that is not its leaf, are read first.
            assert count("a", session="t") == 2
            assert round_trips(log, tmp_path, lambda: log.append("s", [message("j", parent="b")])) == 2

    def test_another_log_s_append_costs_two_more(self, url: str, tmp_path: Path) -> None:
        with open_store(url) as log, open_store(url) as other:
            assert isinstance(log, PostgresLog)
            log.append("s", [message("a")])
            other.append("s", [message("b")])
            assert round_trips(log, tmp_path, lambda: log.append("s", [message("c")])) == 3
            # An append to another session costs none, though it took the place that this log's frame names.
            other.append("t", [message("a")])
            assert round_trips(log, tmp_path, lambda: log.append("s", [message("d")])) == 1
            assert verify(log).findings == []


class TestStandby:
    @pytest.mark.slow
    @pytest.mark.usefixtures("impatient")
    def test_an_append_and_its_repeat_wait_for_it(
        self, unreplicated: Server, caplog: pytest.LogCaptureFixture
    ) -> None:
        url = unreplicated.new_store()
        open_store(url).close()
        with open_store(with_options(url, **WAITING)) as log:
            # The second finds the event that the first has committed on the primary alone.
            for _ in range(2):
                with pytest.raises(StoreError, match=r"synchronous standby.*append the same events again"):
                    log.append("s", [message("a")])
                end_waits(url, "pg_terminate_backend")
        assert caplog.text.count("waits for a synchronous standby") == 2
        with open_store(url) as log:
            assert log.append("s", [message("a")]).added == 0

    @pytest.mark.slow
    def test_what_is_cached_waits_for_none(self, unreplicated: Server) -> None:
        url = unreplicated.new_store()
        open_store(url).close()
        with open_store(with_options(url, **WAITING)) as log:
            log.keep([(b"k", b"v")])
            with log.snapshot() as snapshot:
                assert snapshot.derived(b"k") == b"v"

    @pytest.mark.slow
    def test_a_wait_that_somebody_ends_is_no_success(self, unreplicated: Server) -> None:
        url = unreplicated.new_store()
        open_store(url).close()
        with open_store(with_options(url, **WAITING)) as log, ThreadPoolExecutor(1) as pool:
            for _ in range(2):
                waiting = pool.submit(log.append, "s", [message("a")])
                end_waits(url, "pg_cancel_backend")
                with pytest.raises(StoreError, match="stopped waiting"):
                    waiting.result(PATIENCE)

    @pytest.mark.slow
    def test_what_a_repeat_acknowledges_survives_a_failover(self, unreplicated: Server) -> None:
        standby = Server(new_folder())
        try:
            standby.follow(unreplicated)
            url = unreplicated.new_store()
            with open_store(url) as log:
                log.append("s", [message("a")])
            with open_store(with_options(url, **WAITING)) as log, ThreadPoolExecutor(1) as pool:
                waiting = pool.submit(log.append, "s", [message("a")])
                with pytest.raises(TimeoutError):
                    waiting.result(0.5)
                standby.start()
                assert waiting.result(PATIENCE).added == 0
            unreplicated.kill()
            standby.promote()
            with open_store(
                url.replace(*(quote(str(each.folder), safe="") for each in (unreplicated, standby)))
            ) as log:
                assert log.append("s", [message("a")]).version == 1
        finally:
            remove(standby)


def sql(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def end_waits(url: str, how: str) -> None:
    """End all waits for the standby, once there are some."""
    query = f"SELECT {how}(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"  # noqa: S608
    until = time.monotonic() + PATIENCE
    with psycopg.connect(url, autocommit=True) as connection:
        while not connection.execute(query.encode()).fetchall():
            assert time.monotonic() < until
            time.sleep(0.01)


class TestOthers:
    @pytest.mark.slow
    def test_writers_that_are_stopped_anywhere_block_nobody(self, url: str) -> None:
        with open_store(url) as log, process(WRITER, url, "other") as run:
            for number in range(40):
                time.sleep(0.003 + number % 7 / 1000)
                os.kill(run.pid, signal.SIGSTOP)
                began = time.monotonic()
                log.append("own", [message(f"own-{number}")], blobs=[b"%d" % number])
                log.append("other", [message(f"mine-{number}")])
                assert time.monotonic() - began < 10
                os.kill(run.pid, signal.SIGCONT)
            assert run.poll() is None
        with open_store(url) as log:
            assert verify(log).findings == []

    def test_an_advisory_lock_of_anybody_blocks_nobody(self, url: str) -> None:
        name = f"anybody_{url.rpartition('_')[2]}"
        open_store(url).close()
        sql(url, f"CREATE ROLE {name} LOGIN")
        every = "SELECT pg_advisory_lock(hashtextextended('s', 0)), pg_advisory_lock(x'7265666F6C64'::bigint)"
        with process(HOLDER, url.replace("refold@", f"{name}@"), every), open_store(url) as log:
            log.append("s", [message("a")])
            assert locks_of(url) == 2

    @pytest.mark.slow
    @pytest.mark.usefixtures("impatient")
    def test_whoever_waits_says_for_whom_and_gives_up(
        self, url: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        open_store(url).close()
        with process(HOLDER, url, "UPDATE store SET position = position") as holder:
            os.kill(holder.pid, signal.SIGSTOP)
            with open_store(with_options(url, lock_timeout="1s")) as log:
                said = r"process \d+ of the role refold \(idle in transaction\)"
                with pytest.raises(StoreError, match=f"waited in vain for {said}"):
                    log.append("s", [message("a")])
                assert re.search(f"waits for {said}", caplog.text)
                assert len(caplog.records) == 1
                os.kill(holder.pid, signal.SIGCONT)
                holder.kill()
                holder.wait()
                assert log.append("s", [message("a")]).added == 1

    @pytest.mark.slow
    def test_a_transaction_that_idles_is_ended(self, url: str) -> None:
        ending = with_options(url, idle_in_transaction_session_timeout="300ms")
        with open_store(ending) as log:
            log.append("s", [message("a")])
            with log.snapshot() as snapshot:
                time.sleep(1)
                with pytest.raises(StoreError, match="unused for too long"):
                    snapshot.heads()
            assert log.append("s", [message("b")]).version == 2

    def test_timeouts_are_set_unless_the_address_does(self, url: str) -> None:
        names = ("lock_timeout", "idle_in_transaction_session_timeout", "default_transaction_isolation")
        with connections.connect(with_options(url, lock_timeout="7s")) as connection:
            used = [connection.execute(f"SHOW {name}".encode()).fetchone() for name in names]
        assert used == [("7s",), ("10min",), ("read committed",)]

    def test_appends_agree_under_any_default_isolation(self, url: str) -> None:
        strict = with_options(url, default_transaction_isolation="serializable")
        with open_store(strict) as log, ThreadPoolExecutor(8) as pool:
            both = [
                pool.submit(log.append, session, [message(f"e{number}")], blobs=[b"one", b"two"])
                for number in range(20)
                for session in ("s", "t")
            ]
            assert sum(each.result(PATIENCE).added for each in both) == 40
            check(log)


def locks_of(url: str) -> int:
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").fetchone()
    assert found
    return int(found[0])


def check(log: EventLog) -> None:
    assert verify(log).findings == []
