"""Write a store's data file anew, so that nothing is left of values that were replaced."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import lmdb
import msgspec

from eventstore.errors import StoreError
from eventstore.lmdb.data_files import DATA_FILE, LOCK_FILE, PRIVATE_FILE, flush_folder
from eventstore.lmdb.keys import Transaction
from eventstore.lmdb.opening import ENGINE, Databases

_UNFINISHED: Final = ".rewritten-data.mdb"
"""The new data file until it is in place; one that a killed process left is written over."""
_BATCH_BYTES: Final = 4 << 20
_ROOM: Final = 64 << 20
"""Bytes beyond twice the old file's that the new one may take while it is made."""


def replace_data(
    folder: str,
    transaction: Transaction,
    dbs: Databases,
    rows: Mapping[str, Mapping[bytes, bytes]],
    position: int,
) -> None:
    """Copy all tables but the cached results, and put the copy in the data file's place.

    The caller holds the lock of writers. Raises StoreError unless `position` is that of the newest event, lmdb.Error,
    OSError.
    """
    newest = transaction.cursor(dbs.positions)
    if (int.from_bytes(newest.key(), "big") if newest.last() else 0) != position:
        raise StoreError(folder, "something was appended meanwhile", "try again")
    data, made = Path(folder, DATA_FILE), Path(folder, _UNFINISHED)
    made.unlink(missing_ok=True)
    try:
        _write(made, transaction, dbs, rows, room=2 * data.stat().st_size)
        made.chmod(data.stat().st_mode & 0o777)
        made.replace(data)
        # Its count of transactions is the old file's.
        Path(folder, LOCK_FILE).unlink(missing_ok=True)
        flush_folder(Path(folder))
    finally:
        made.unlink(missing_ok=True)


def _write(
    made: Path,
    transaction: Transaction,
    dbs: Databases,
    rows: Mapping[str, Mapping[bytes, bytes]],
    *,
    room: int,
) -> None:
    tables = msgspec.structs.astuple(dbs)
    with lmdb.open(
        os.fspath(made),
        subdir=False,
        lock=False,
        mode=PRIVATE_FILE,
        max_dbs=len(tables),
        map_size=room + _ROOM,
        sync=False,
        lib_version=ENGINE,
    ) as env:
        for name, table in zip(Databases.__struct_fields__, tables, strict=True):
            copy = env.open_db(name.encode())
            if name != "derived":
                _copy(env, copy, transaction.cursor(table), rows.get(name, {}))
        env.sync(True)


def _copy(
    env: lmdb.Environment, copy: Any, cursor: lmdb.Cursor[memoryview], other: Mapping[bytes, bytes]
) -> None:
    """Copy a table in transactions of a few megabytes, with other values for some keys."""
    more = cursor.first()
    while more:
        with env.begin(write=True) as transaction, transaction.cursor(copy) as to:
            size = 0
            while more and size < _BATCH_BYTES:
                key = bytes(cursor.key())
                value = other.get(key) or cursor.value()
                to.put(key, value, append=True)
                size += len(value)
                more = cursor.next()
