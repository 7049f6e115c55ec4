"""Make and migrate the tables of a store in PostgreSQL.

The tables are in the first schema of the connection's search path, so that one database may hold several stores.
"""

from __future__ import annotations

from typing import Final

import psycopg

from eventstore.addresses import without_password
from eventstore.errors import StoreError
from eventstore.postgres.connections import Connection, connected

MIGRATIONS: Final[tuple[str, ...]] = (
    """
    CREATE TABLE store (
        one boolean PRIMARY KEY DEFAULT true CHECK (one),
        version integer NOT NULL,
        position bigint NOT NULL DEFAULT 0,
        sessions integer NOT NULL DEFAULT 0
    );
    CREATE TABLE sessions (
        number integer PRIMARY KEY,
        name bytea NOT NULL UNIQUE,
        leaf bigint NOT NULL,
        bytes bigint NOT NULL,
        head bytea NOT NULL
    );
    CREATE TABLE events (
        session integer NOT NULL,
        seq bigint NOT NULL,
        position bigint NOT NULL UNIQUE,
        parent_seq bigint NOT NULL,
        run_start bigint NOT NULL,
        id bytea NOT NULL,
        frame bytea NOT NULL,
        PRIMARY KEY (session, seq),
        UNIQUE (session, id)
    );
    CREATE TABLE blobs (digest bytea PRIMARY KEY, payload bytea NOT NULL);
    CREATE TABLE derived (key bytea PRIMARY KEY, value bytea NOT NULL);
    CREATE TABLE sources (key bytea PRIMARY KEY, state bytea NOT NULL);
    -- Compression would cost more time than it saves, and slices of frames could not be read by themselves.
    ALTER TABLE events ALTER COLUMN frame SET STORAGE EXTERNAL;
    ALTER TABLE blobs ALTER COLUMN payload SET STORAGE EXTERNAL;
    INSERT INTO store (version) VALUES (1);
    """,
)
"""The scripts that make the tables, one per version: append new ones, never change one."""

_LOCK: Final = 0x7265666F6C64
"""The key of the advisory lock that makes migrations run one at a time."""


def has_tables(url: str) -> bool:
    """Return True if an address has a store. Raises StoreError if the server does not answer."""
    with connected(url, without_password(url)) as connection:
        return _version(connection) > 0


def require_tables(connection: Connection, place: str, *, create: bool) -> None:
    """Bring the tables of a store to the current version; without `create`, they must exist.

    `place` names the store in errors. Raises StoreError if there are none, or if they are newer than this refold.
    """
    version = _version(connection)
    if version < len(MIGRATIONS) and (version or create):
        _migrate(connection, place)
    elif not version:
        raise StoreError(place, "no store exists here", "check the address, or import a session first")
    elif version > len(MIGRATIONS):
        raise StoreError(place, f"was made by a newer refold (version {version})", "update refold")


def _version(connection: Connection) -> int:
    """Return the version of the tables, 0 if there are none."""
    try:
        found = connection.execute("SELECT version FROM store").fetchone()
    except psycopg.errors.UndefinedTable:
        return 0
    return int(found[0]) if found else 0


def _migrate(connection: Connection, place: str) -> None:
    try:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            exists = connection.execute("SELECT to_regclass('store') IS NOT NULL").fetchone()
            version = _version(connection) if exists and exists[0] else 0
            for number, script in enumerate(MIGRATIONS[version:], version + 1):
                connection.execute(script.encode())
                connection.execute("UPDATE store SET version = %s", (number,))
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction) as error:
        raise StoreError(
            place,
            f"this role cannot make or change its tables ({error.diag.message_primary})",
            "open it once as the owner of the schema",
        ) from error
