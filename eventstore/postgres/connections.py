"""Connect to PostgreSQL, and explain its errors."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import psycopg
import psycopg_pool

from eventstore.errors import StoreError

Connection: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"

MAX_CONNECTIONS: Final = 64
"""Connections that one log opens at most; other threads wait for a free one."""
_WAIT: Final = 30.0
"""Seconds until a connection has to be free, or the server to answer."""

UNREACHABLE: Final = (psycopg.OperationalError, psycopg.InterfaceError)
"""Errors of a connection or of the server, rather than of a statement."""

_PASSWORD: Final = re.compile(r"(?<=:)[^:/@]*(?=@)|(?<=[?&]password=)[^&]*")


def without_password(url: str) -> str:
    """Return a store's address as it may be shown."""
    return _PASSWORD.sub("…", url)


def explained(place: str, error: psycopg.Error) -> StoreError:
    """Return the error that says what is wrong with a store, and what to do."""
    problem = " ".join((error.diag.message_primary or str(error) or type(error).__name__).split())
    if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
        return StoreError(place, "is read-only", "write to the primary server")
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return StoreError(place, f"this role may not do that ({problem})", "use a role that may")
    if isinstance(error, psycopg.errors.DiskFull):
        return StoreError(place, f"is full ({problem})", "free space on the server's disk")
    return StoreError(
        place, f"cannot be used ({problem})", "check the server and the address, then try again"
    )


@contextmanager
def connected(url: str, place: str) -> Iterator[Connection]:
    """Connect for a block. Raises StoreError, which a pool would only after it has tried for a while."""
    try:
        with psycopg.connect(url, autocommit=True, connect_timeout=int(_WAIT)) as connection:
            yield connection
    except psycopg.Error as error:
        raise explained(place, error) from error


class Connections:
    """A pool of connections to one store, which threads share. Raises StoreError."""

    def __init__(self, url: str, place: str) -> None:
        self.place = place
        self._process = os.getpid()
        self.is_closed = False
        self._pool: psycopg_pool.ConnectionPool[Connection] = psycopg_pool.ConnectionPool(
            url,
            kwargs={"autocommit": True},
            min_size=0,
            max_size=MAX_CONNECTIONS,
            timeout=_WAIT,
            num_workers=1,
            open=True,
        )

    def take(self) -> Connection:
        """Return a connection for exclusive use until `give_back`."""
        if self.is_closed:
            raise StoreError(self.place, "the store is closed", "open it again")
        if self._process != os.getpid():
            raise StoreError(
                self.place, "the store was opened before a fork", "close it, then open it in this process"
            )
        try:
            return self._pool.getconn()
        except psycopg_pool.PoolTimeout as error:
            problem = f"no connection was free or could be made in {_WAIT:.0f} seconds"
            raise StoreError(self.place, problem, "check the server, and close open snapshots") from error

    def give_back(self, connection: Connection) -> None:
        """Return a connection; what it has not committed is rolled back."""
        try:
            connection.rollback()
        except psycopg.Error:
            connection.close()
        self._pool.putconn(connection)

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
        if not self.is_closed:
            self.is_closed = True
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


def rows(connection: Connection, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return all rows of a query, with values in binary form."""
    return connection.execute(query.encode(), values, binary=True).fetchall()
