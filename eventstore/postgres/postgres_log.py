"""Implement the log in a PostgreSQL database."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Final, Self, TypeAlias

import psycopg
from psycopg.conninfo import conninfo_to_dict

from eventstore.addresses import without_password
from eventstore.append import check_events
from eventstore.encoding import encode_head
from eventstore.errors import CorruptionError, EventConflictError, StoreError, VersionConflictError
from eventstore.event import NewEvent, epoch_milliseconds
from eventstore.frame import pointers_of
from eventstore.log import AppendResult, Expected, Head, Snapshot, SourceState, StoreSize
from eventstore.postgres.connections import (
    Connection,
    Connections,
    begin_reading,
    explained,
    not_replicated,
)
from eventstore.postgres.inserting import Known, PostgresAppend, read_known
from eventstore.postgres.reading import PostgresSnapshot
from eventstore.postgres.schema import require_tables
from eventstore.user_folders import user_folder

_TRIES: Final = 3
_REMEMBERED: Final = 1024
"""Sessions of which a log remembers how it left them, so that its next append need not read."""

_What: TypeAlias = tuple[Sequence[NewEvent], Expected, Sequence[bytes], str, SourceState | None]
"""Events, expected version, blobs, source, and the state of its file; see `EventLog.append`."""

# What can be computed again need neither be flushed nor wait for a standby.
_KEEP: Final = """
    WITH quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
    INSERT INTO derived (key, value)
    SELECT key, value FROM quick, unnest(%b::bytea[], %b::bytea[]) AS derived (key, value)
    ON CONFLICT (role, key) DO UPDATE SET value = excluded.value
"""


_REPLACE_EVENT: Final = """
    UPDATE events SET frame = %b, parent_seq = %s, run_start = %s
    WHERE session = (SELECT number FROM sessions WHERE name = %b) AND seq = %s
"""
_REPLACE_HEAD: Final = """
    UPDATE sessions SET head = %b, leaf = %s,
        bytes = (SELECT sum(length(frame)) FROM events WHERE session = number)
    WHERE name = %b
"""
_OWNS_ALL: Final = """
    SELECT bool_and(pg_has_role(relowner, 'USAGE')) FROM pg_class
    WHERE oid IN ('events'::regclass, 'sessions'::regclass, 'blobs'::regclass, 'derived'::regclass)
"""
_REPLACE_PAYLOAD: Final = "UPDATE blobs SET payload = %b WHERE digest = %b"


class PostgresLog:
    """An `EventLog` in a PostgreSQL database. Made by `eventstore.open_store`.

    `clock` returns epoch milliseconds for `recorded`. Threads may share a log; each snapshot and append uses a
    connection of its own, and waits for a free one if 64 are in use. `path` is the address with which another
    process opens the same store, `place` the same without its password.
    """

    def __init__(
        self, url: str, *, create: bool = True, clock: Callable[[], int] = epoch_milliseconds
    ) -> None:
        self.path = url
        self._clock = clock
        self.place = without_password(url)
        self._connections = Connections(url, self.place)
        self._known: dict[str, Known] = {}
        self._position = 0
        try:
            with self._connections.connection() as connection:
                require_tables(connection, self.place, create=create)
        except BaseException:
            self.close()
            raise

    @property
    def folder(self) -> str:
        """A folder in the user's cache, made on first use."""
        parts = {name: part for name, part in conninfo_to_dict(self.path).items() if name != "password"}
        name = sha256(repr(sorted(parts.items())).encode()).hexdigest()[:32]
        folder = Path(user_folder("cache"), name)
        with suppress(OSError):
            folder.mkdir(0o700, parents=True, exist_ok=True)
        return str(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the log. Open snapshots keep working."""
        self._connections.close()

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        connection = begin_reading(self._connections)
        snapshot = PostgresSnapshot(connection, self.place)
        try:
            yield snapshot
        except Exception as error:
            damage = snapshot.damage(error)
            if damage is None or damage is error:
                raise
            raise damage from error
        finally:
            snapshot.close()
            self._connections.give_back(connection)

    def append(
        self,
        session: str,
        events: Sequence[NewEvent],
        *,
        expected: Expected = "any",
        blobs: Iterable[bytes] = (),
        source: str = "",
        seen: SourceState | None = None,
    ) -> AppendResult:
        check_events(session, events)
        what = events, expected, list(blobs), source, seen
        tries = 0
        while True:
            connection = self._connections.take()
            try:
                return self._append(connection, session, what)
            except psycopg.Error as error:
                tries += 1
                # What was written before the connection broke is found there, and not written again.
                if tries == _TRIES or not connection.closed:
                    raise explained(self.place, error, connection) from error
            finally:
                self._connections.give_back(connection)

    def _append(self, connection: Connection, session: str, what: _What) -> AppendResult:
        known = self._known.pop(session, None)
        if known is not None and known.has_all(what[0]):
            # What is remembered may be outdated, and lacks the ids of most events.
            with suppress(VersionConflictError, EventConflictError, psycopg.errors.UniqueViolation):
                if (result := self._write(connection, session, known, what)) is not None:
                    return result
        while True:
            known = read_known(connection, session, what[0])
            try:
                if (result := self._write(connection, session, known, what)) is not None:
                    return result
            except psycopg.errors.UniqueViolation as error:
                taken = "the next event's place is already taken"
                raise CorruptionError(session, known.head.version + 1, taken) from error

    def _write(self, connection: Connection, session: str, known: Known, what: _What) -> AppendResult | None:
        """Write an append and remember the session, or return None if it has changed."""
        known.position = self._position = max(self._position, known.position)
        written = PostgresAppend(connection, session, self._clock(), known).write(*what)
        if not connection.is_replicated:
            raise not_replicated(self.place, "stopped waiting")
        if written is None:
            return None
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        result, self._known[session] = written
        self._position = result.position
        return result

    def keep(self, derived: Iterable[tuple[bytes, bytes]]) -> None:
        # In one order, so that two processes that keep the same results do not wait for each other.
        items = sorted(dict(derived).items())
        if items:
            denied = psycopg.errors.ReadOnlySqlTransaction, psycopg.errors.InsufficientPrivilege
            with self._connections.connection() as connection, suppress(*denied):
                connection.execute(_KEEP, ([key for key, _ in items], [value for _, value in items]))

    def replace(
        self,
        frames: Mapping[tuple[str, int], bytes],
        heads: Sequence[Head],
        blobs: Mapping[bytes, bytes],
        position: int,
    ) -> None:
        try:
            with self._connections.connection() as connection:
                with connection.transaction(), connection.cursor() as cursor:
                    # For another role, the server would leave out the writing anew, with no more than a warning.
                    if cursor.execute(_OWNS_ALL).fetchone() != (True,):
                        raise StoreError(
                            self.place, "only the owner of its tables can purge", "purge as the owner"
                        )
                    found = cursor.execute("SELECT position FROM store FOR UPDATE").fetchone()
                    if found != (position,):
                        raise StoreError(self.place, "something was appended meanwhile", "try again")
                    events = [
                        (frame, *pointers_of(frame)[2:4], name.encode(), seq)
                        for (name, seq), frame in frames.items()
                    ]
                    sessions = [(encode_head(head), head.leaf, head.name.encode()) for head in heads]
                    cursor.executemany(_REPLACE_EVENT, events)
                    cursor.executemany(_REPLACE_HEAD, sessions)
                    cursor.executemany(_REPLACE_PAYLOAD, [(value, key) for key, value in blobs.items()])
                    cursor.execute("TRUNCATE derived")
                # What was replaced stays in its pages until the tables are written anew.
                connection.execute("VACUUM (FULL) events, sessions, blobs, derived")
        except psycopg.Error as error:
            raise explained(self.place, error) from error

    def copy_to(self, folder: str | os.PathLike[str]) -> None:  # noqa: ARG002  it is refused for any
        """Raise StoreError: a database is backed up by its own tools."""
        raise StoreError(
            self.place, "is not a folder, so it cannot be copied", "back it up with pg_dump or pg_basebackup"
        )

    def size(self) -> StoreSize:
        """Return the bytes of the store's tables and indexes; their free space is not known."""
        with self._connections.connection() as connection:
            found = connection.execute(
                "SELECT sum(pg_total_relation_size(to_regclass(name))) FROM unnest(%s::text[]) AS name",
                (["store", "sessions", "events", "blobs", "derived", "sources"],),
            ).fetchone()
        if found is None:
            raise CorruptionError("", 0, "its tables are missing")
        return StoreSize(file_bytes=int(found[0]), free_bytes=0)
