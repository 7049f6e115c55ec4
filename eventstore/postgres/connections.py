"""Connect to PostgreSQL, and explain its errors."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeAlias

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from eventstore.addresses import without_password
from eventstore.errors import StoreError

Connection: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"
Values: TypeAlias = Sequence[Any] | Mapping[str, Any]

# A lost connection is an error that refold raises; without a handler, it would be printed as well.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

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
"""Maximum seconds to wait for a free connection."""
_PATIENCE: Final = 2.0
"""Seconds in which a connection is made or becomes free, if nothing is wrong."""

_QUOTED: Final = re.compile('".*"', re.DOTALL)

UNREACHABLE: Final = (psycopg.OperationalError, psycopg.InterfaceError)
"""Errors of a connection or of the server, rather than of a statement."""


def explained(place: str, error: psycopg.Error) -> StoreError:
    """Return the error that says what is wrong with a store, and what to do."""
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
        connection = psycopg.connect(limited, autocommit=True)
    except psycopg.Error as error:
        # Messages quote parts of an address that is not read as meant, which may be of the password.
        if "percent-encoded" not in str(error):
            if without_password(url) == url:
                raise
            raise type(error)(_QUOTED.sub('"…"', str(error))) from None
        raise psycopg.ProgrammingError(
            "in an address, a space has to be written %20, and a % as %25"
        ) from None
    # Every query finds its few rows by an index, so planning anew with each query's values gains nothing.
    connection.execute("SET plan_cache_mode = force_generic_plan")
    return connection


@contextmanager
def connected(url: str, place: str) -> Iterator[Connection]:
    """Connect for a block. Raises StoreError."""
    try:
        with connect(url) as connection:
            yield connection
    except psycopg.Error as error:
        raise explained(place, error) from error


class _PooledConnection(psycopg.Connection[tuple[Any, ...]]):
    """Makes the connections of a pool, the first of which is made already."""

    @classmethod
    def connect(cls, conninfo: str = "", *, made: list[Connection], **_: Any) -> Any:  # type: ignore[override]
        with suppress(IndexError):
            return made.pop()
        return connect(conninfo)


class Connections:
    """Up to 64 connections to one store, which threads share.

    Raises StoreError if the server does not answer. The pool makes them in threads of its own, again for those that
    broke and every hour; it closes those that were not needed for ten minutes.
    """

    def __init__(self, url: str, place: str) -> None:
        self.place = place
        self._url = url
        self._process = os.getpid()
        try:
            # The pool would retry an address that is wrong, and not say what is wrong with it.
            made = [connect(url)]
        except psycopg.Error as error:
            raise explained(place, error) from error
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            url,
            connection_class=_PooledConnection,
            kwargs={"made": made},
            min_size=0,
            max_size=MAX_CONNECTIONS,
            # Later tries would follow ever more slowly; `take` causes new ones.
            reconnect_timeout=_PATIENCE,
            open=True,
        )

    def take(self) -> Connection:
        """Return a connection for exclusive use until `give_back`. Raises StoreError."""
        if self._process != os.getpid():
            raise StoreError(
                self.place, "the store was opened before a fork", "close it, then open it in this process"
            )
        until = time.monotonic() + _WAIT
        while time.monotonic() < until:
            try:
                return self._pool.getconn(_PATIENCE)
            except PoolClosed:
                raise StoreError(self.place, "the store is closed", "open it again") from None
            except PoolTimeout:
                if self._pool.get_stats()["pool_size"] < MAX_CONNECTIONS:
                    # The pool does not say why it cannot connect.
                    with connected(self._url, self.place):
                        pass
        problem = f"all {MAX_CONNECTIONS} connections were in use for {_WAIT:.0f} seconds"
        raise StoreError(self.place, problem, "close open snapshots")

    def give_back(self, connection: Connection) -> None:
        """Return a connection; what it has not committed is rolled back.

        If it broke, the idle ones are replaced as well, because all break if the server restarts.
        """
        with suppress(psycopg.Error):
            connection.rollback()
        self._pool.putconn(connection)
        if connection.closed:
            self._pool.drain()

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Lend a connection to a block; errors of PostgreSQL become StoreErrors."""
        connection = self.take()
        try:
            yield connection
        except psycopg.Error as error:
            raise explained(self.place, error) from error
        finally:
            self.give_back(connection)

    def close(self) -> None:
        """Close idle connections; those in use are closed when they are given back."""
        # In a child, the pool has no threads and its connections are the parent's.
        if self._process == os.getpid():
            self._pool.close()


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
