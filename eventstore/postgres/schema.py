"""Make the tables of a store in PostgreSQL.

The tables are in the first schema of the connection's search path, so that one database may hold several stores.
"""

from __future__ import annotations

from typing import Final

import psycopg

from eventstore.addresses import without_password
from eventstore.errors import StoreError
from eventstore.postgres.connections import Connection, connect, explained

VERSION: Final = 3
"""The version of the tables; those of versions 1 and 2 were never released."""

_TABLES: Final = """
    CREATE TABLE store (
        one boolean PRIMARY KEY DEFAULT true CHECK (one),
        version integer NOT NULL,
        position bigint NOT NULL DEFAULT 0,
        sessions integer NOT NULL DEFAULT 0
    );
    CREATE TABLE sessions (
        number integer PRIMARY KEY,
        name bytea NOT NULL UNIQUE,
        position bigint NOT NULL,
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
    CREATE INDEX ON events USING hash (id);
    CREATE TABLE blobs (digest bytea PRIMARY KEY, payload bytea NOT NULL);
    CREATE TABLE derived (
        role name NOT NULL DEFAULT current_user, key bytea NOT NULL, value bytea NOT NULL, PRIMARY KEY (role, key)
    );
    -- What one role has computed, another would have to believe.
    ALTER TABLE derived ENABLE ROW LEVEL SECURITY;
    ALTER TABLE derived FORCE ROW LEVEL SECURITY;
    CREATE POLICY own ON derived USING (role = current_user);
    CREATE TABLE sources (key bytea PRIMARY KEY, state bytea NOT NULL);
    -- Compression would cost more time than it saves, and slices of frames could not be read by themselves.
    ALTER TABLE events ALTER COLUMN frame SET STORAGE EXTERNAL;
    ALTER TABLE blobs ALTER COLUMN payload SET STORAGE EXTERNAL;
    INSERT INTO store (version) VALUES (3);
"""


def has_tables(url: str) -> bool:
    """Return True if an address has a store. Raises StoreError if the server does not answer."""
    try:
        with connect(url) as connection:
            return _version(connection) > 0
    except psycopg.Error as error:
        raise explained(without_password(url), error) from error


def require_tables(connection: Connection, place: str, *, create: bool) -> None:
    """Make the tables of a store with `create`; without it, they must exist.

    `place` names the store in errors. Raises StoreError if there are none, if they are of another version, or if every
    role may create functions beside them, which others' statements would run.
    """
    if _is_open_to_all(connection):
        problem = "every role may create functions in its schema, which would run with the rights of whoever opens it"
        raise StoreError(
            place, problem, "run REVOKE CREATE ON SCHEMA public FROM PUBLIC, or use another schema"
        )
    version = _version(connection)
    if not version and create:
        _make(connection, place)
        version = _version(connection)
    if not version:
        raise StoreError(place, "no store exists here", "check the address, or import a session first")
    if version != VERSION:
        problem = f"was made by {'a newer' if version > VERSION else 'an older'} refold (version {version})"
        remedy = "update refold" if version > VERSION else "use a new schema or database, and sync into it"
        raise StoreError(place, problem, remedy)


def _is_open_to_all(connection: Connection) -> bool:
    found = connection.execute(
        "SELECT pg_catalog.has_schema_privilege('public', pg_catalog.current_schema(), 'CREATE')"
    ).fetchone()
    return bool(found and found[0])


def _version(connection: Connection) -> int:
    """Return the version of the tables, 0 if there are none."""
    try:
        found = connection.execute("SELECT version FROM store").fetchone()
    except psycopg.errors.UndefinedTable:
        return 0
    return int(found[0]) if found else 0


def _make(connection: Connection, place: str) -> None:
    try:
        # Several statements in one message are one transaction.
        connection.execute(_TABLES.encode())
    except (
        psycopg.errors.UniqueViolation,
        psycopg.errors.DuplicateTable,
        psycopg.errors.DuplicateObject,
    ):
        # Another process has made them at the same time.
        return
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction) as error:
        raise StoreError(
            place,
            f"this role cannot make its tables ({error.diag.message_primary})",
            "open it once as the owner of the schema",
        ) from error
