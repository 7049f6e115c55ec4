"""Changing a store behind its back, through LMDB itself."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lmdb

TABLES = ("meta", "sessions", "events", "ids", "positions", "blobs", "derived", "sources", "holders")

event_key = struct.Struct(">IQ").pack


class Tables:
    """The tables of a store inside one write transaction."""

    def __init__(self, transaction: Any, databases: dict[str, Any]) -> None:
        self._transaction, self._databases = transaction, databases

    def get(self, table: str, key: bytes) -> bytes:
        found = self._transaction.get(key, db=self._databases[table])
        assert found is not None
        return bytes(found)

    def put(self, table: str, key: bytes, value: bytes) -> None:
        assert self._transaction.put(key, value, db=self._databases[table])

    def delete(self, table: str, key: bytes) -> None:
        assert self._transaction.delete(key, db=self._databases[table])

    def items(self, table: str) -> list[tuple[bytes, bytes]]:
        return [(bytes(key), bytes(value)) for key, value in self._transaction.cursor(self._databases[table])]


@contextmanager
def tables(path: str | Path) -> Iterator[Tables]:
    """The tables of a store that nothing in this process has open."""
    env = lmdb.open(str(path), max_dbs=len(TABLES), map_size=1 << 30, lib_version=0)
    try:
        databases = {name: env.open_db(name.encode(), create=False) for name in TABLES}
        with env.begin(write=True) as transaction:
            yield Tables(transaction, databases)
    finally:
        env.close()
