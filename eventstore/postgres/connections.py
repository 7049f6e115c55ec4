"""Connect to PostgreSQL, and explain its errors."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from math import inf
from threading import Semaphore
from typing import Any, Final, TypeAlias

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus

from eventstore.addresses import without_password
from eventstore.errors import StoreError

Values: TypeAlias = Sequence[Any] | Mapping[str, Any]

# A lost connection is an error that refold raises; without a handler, it would be printed as well.
logging.getLogger("psycopg").addHandler(logging.NullHandler())
_LOGGER: Final = logging.getLogger("refold")

MAX_CONNECTIONS: Final = 64
"""Maximum connections of one log; other threads wait for a free one."""
LIMITS: Final[dict[str, Any]] = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}
"""Parameters for when a server is gone without a word, which an address may set otherwise.

Without them, an append to a server that has lost its power waits for a quarter of an hour.
"""
_WAIT: Final = 30.0
"""Maximum seconds to wait for a free connection, for a lock, and for a standby."""
_UNUSED: Final = 600.0
"""Seconds for which a connection may be idle before another one's return closes it."""

_TELL: Final = (2.0, 10.0)
"""Seconds after which a wait is looked at for the first time, and between later times."""
# Names are of the store's schema alone, whatever others the role may use or another role may make. The rest is set
# only if the address, the role or the database does not; a transaction that idles belongs to an open snapshot.
_SETTINGS: Final = """
    SELECT pg_catalog.set_config(
        'search_path', pg_catalog.concat(coalesce(pg_catalog.quote_ident(current_schema), '""'), ', pg_temp'), false
    );
    SET default_transaction_isolation = 'read committed';
    -- Every query finds its few rows by an index, so planning with its values or compiling it gains nothing.
    SET plan_cache_mode = force_generic_plan;
    SET jit = off;
    SELECT pg_catalog.set_config(name, value, false)
    FROM (VALUES ('lock_timeout', '30s'), ('idle_in_transaction_session_timeout', '10min')) AS wanted (name, value)
    WHERE pg_catalog.current_setting(name) = '0'
"""
_BLOCKED_BY: Final = """
    WITH RECURSIVE chain (pid) AS (
        SELECT %s::integer UNION SELECT unnest(pg_blocking_pids(pid)) FROM chain
    )
    SELECT pid, usename, state, wait_event FROM chain JOIN pg_stat_activity USING (pid)
    WHERE cardinality(pg_blocking_pids(pid)) = 0
"""
"""Finds for whom a server process waits, or itself. Only some roles see what others do."""

_QUOTED: Final = re.compile('".*"', re.DOTALL)

UNREACHABLE: Final = (psycopg.OperationalError, psycopg.InterfaceError)
"""Errors of a connection or of the server, rather than of a statement."""


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that says for what it waits, in one line.

    The line goes to the logger `refold`, whose warnings Python prints. `url` is its address, `waits_for` what its last
    statement waited for. If `is_replicated` is False, that is on the primary alone: its wait for a standby was ended.
    """

    url = waits_for = ""
    is_replicated = True

    def wait(self, gen: Generator[Any, Any, Any], *arguments: Any, **options: Any) -> Any:
        return super().wait(self._watched(gen), *arguments, **options)

    def _watched(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        began, look_at = time.monotonic(), _TELL[0]
        self.waits_for, self.is_replicated = "", True
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                waited = time.monotonic() - began
                # Nothing is ready every tenth of a second while the server does not answer.
                if not ready and waited > look_at and self.url:
                    look_at += _TELL[1]
                    self._look(waited)
                wanted = gen.send(ready)
        except StopIteration as end:
            return end.value

    def notice(self, diagnostic: psycopg.errors.Diagnostic) -> None:
        """Hear a remark of the server, to which an ended wait for a standby is no error."""
        if diagnostic.source_function == "SyncRepWaitForLSN":
            self.is_replicated = False

    def _look(self, waited: float) -> None:
        """Find out for what the server waits. Raises StoreError if for a standby for too long."""
        try:
            with psycopg.connect(self.url, autocommit=True) as other:
                found = other.execute(_BLOCKED_BY, (self.info.backend_pid,)).fetchall()
        except psycopg.Error:
            return
        for pid, role, state, event in found:
            is_own, for_standby = pid == self.info.backend_pid, event == "SyncRep"
            if is_own and not for_standby:
                continue
            does = "waits for a synchronous standby" if for_standby else state or "in a transaction"
            waits_for = "a synchronous standby" if is_own else f"process {pid} of the role {role} ({does})"
            if not self.waits_for:
                _LOGGER.warning("%s: waits for %s", without_password(self.url), waits_for)
            self.waits_for = waits_for
            if is_own and waited > _WAIT:
                self.close()
                raise not_replicated(without_password(self.url), f"waited {waited:.0f} seconds in vain")


def not_replicated(place: str, problem: str) -> StoreError:
    """Return the error of a commit that is on the primary alone."""
    return StoreError(
        place,
        f"a commit {problem} for a synchronous standby: it may be lost with the primary",
        "start the standby, then append the same events again",
    )


def explained(place: str, error: psycopg.Error, connection: Connection | None = None) -> StoreError:
    """Return the error that says what is wrong with a store, and what to do."""
    if isinstance(error, psycopg.errors.LockNotAvailable):
        waits_for = connection.waits_for if connection else ""
        problem = f"waited in vain for {waits_for or 'another transaction'}"
        return StoreError(place, problem, "end that process, or its transaction, then try again")
    if isinstance(error, psycopg.errors.IdleInTransactionSessionTimeout):
        return StoreError(place, "a snapshot was unused for too long", "open a new one")
    problem = " ".join((error.diag.message_primary or str(error) or type(error).__name__).split())
    if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
        return StoreError(place, "is read-only", "write to the primary server")
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return StoreError(place, f"this role lacks a privilege ({problem})", "use a role that has it")
    if isinstance(error, psycopg.errors.DiskFull):
        return StoreError(place, f"is full ({problem})", "free space on the server's disk")
    return StoreError(
        place, f"cannot be used ({problem})", "check the server and the address, then try again"
    )


def connect(url: str) -> Connection:
    """Return a new connection, which notices within half a minute that its server is gone."""
    try:
        limited = make_conninfo(**LIMITS | conninfo_to_dict(url))
        connection = Connection.connect(limited, autocommit=True)
        connection.execute(_SETTINGS.encode())
    except psycopg.Error as error:
        # Messages quote parts of an address that is not read as meant, which may be of the password.
        if "percent-encoded" not in str(error):
            if without_password(url) == url:
                raise
            raise type(error)(_QUOTED.sub('"…"', str(error))) from None
        raise psycopg.ProgrammingError(
            "in an address, a space has to be written %20, and a % as %25"
        ) from None
    connection.url = url
    connection.add_notice_handler(connection.notice)
    return connection


class Connections:
    """Up to 64 connections to one store, which threads share, made as they are needed.

    Raises StoreError if the server does not answer.
    """

    def __init__(self, url: str, place: str) -> None:
        self.place = place
        self._url = url
        self._process = os.getpid()
        self._is_closed = False
        self._free = Semaphore(MAX_CONNECTIONS)
        self._idle: list[tuple[float, Connection]] = []
        """Those that were given back, with the time, the newest last."""

    def take(self) -> Connection:
        """Return a connection for exclusive use until `give_back`. Raises StoreError."""
        if self._process != os.getpid():
            raise StoreError(
                self.place, "the store was opened before a fork", "close it, then open it in this process"
            )
        if self._is_closed:
            raise StoreError(self.place, "the store is closed", "open it again")
        if not self._free.acquire(timeout=_WAIT):
            problem = f"all {MAX_CONNECTIONS} connections were in use for {_WAIT:.0f} seconds"
            raise StoreError(self.place, problem, "close open snapshots")
        try:
            with suppress(IndexError):
                return self._idle.pop()[1]
            return connect(self._url)
        except BaseException as error:
            self._free.release()
            if isinstance(error, psycopg.Error):
                raise explained(self.place, error) from error
            raise

    def give_back(self, connection: Connection) -> None:
        """Return a connection; what it has not committed is rolled back.

        If it broke, the idle ones are closed as well, because all break if the server restarts.
        """
        with suppress(psycopg.Error):
            connection.rollback()
        now = time.monotonic()
        if connection.info.transaction_status == TransactionStatus.IDLE and not self._is_closed:
            self._idle.append((now, connection))
            self._close_idle(until=now - _UNUSED)
        else:
            connection.close()
            self._close_idle(until=now)
        self._free.release()

    def _close_idle(self, until: float) -> None:
        with suppress(IndexError):
            while self._idle[0][0] <= until:
                self._idle.pop(0)[1].close()

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Lend a connection to a block; errors of PostgreSQL become StoreErrors."""
        connection = self.take()
        try:
            yield connection
        except psycopg.Error as error:
            raise explained(self.place, error, connection) from error
        finally:
            self.give_back(connection)

    def close(self) -> None:
        """Close idle connections; those in use are closed when they are given back."""
        self._is_closed = True
        # In a child, the connections are the parent's.
        if self._process == os.getpid():
            self._close_idle(until=inf)


def begin_reading(connections: Connections) -> Connection:
    """Return a connection in a transaction that sees the store as it is now.

    A connection that broke while it was idle, as all do when the server restarts, is replaced.
    """
    while True:
        connection = connections.take()
        try:
            # A transaction sees the state at its first query, which therefore goes with its beginning.
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT 1")
        except UNREACHABLE as error:
            was_broken = connection.closed
            connections.give_back(connection)
            if not was_broken:
                raise explained(connections.place, error) from error
        except BaseException:
            connections.give_back(connection)
            raise
        else:
            return connection


def rows(connection: Connection, query: str, values: Values = ()) -> list[tuple[Any, ...]]:
    """Return all rows of a query, with values in binary form."""
    return connection.execute(query.encode(), values, binary=True).fetchall()
