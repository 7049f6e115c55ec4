"""Opening a folder as a store, if it is one, of a version that this refold knows, and whole."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

import lmdb
import msgspec

from eventstore.errors import StoreError
from eventstore.frame import STEPS, VERSION

STORE_VERSION: Final = 1
_ENGINE: Final = 0
"""py-lmdb's number for its 0.9 engine; its two engines cannot read each other's files."""
MAP_SIZE: Final = 1 << 30 if sys.platform == "win32" else 1 << 36
"""Large and sparse: 64 GiB of addresses cost nothing until they are written, but on Windows they do."""
_READERS: Final = 510
_META_KEY: Final = b"refold"
_META_PAGES: Final = 2
_DATA_FILE: Final = "data.mdb"
_LOCK_FILE: Final = "lock.mdb"


class StoreMeta(msgspec.Struct, frozen=True, kw_only=True):
    """What a store says of itself: its layout's version and the oldest frame version it may hold."""

    version: int
    oldest_frame: int


class Databases(NamedTuple):
    """The named tables of a store."""

    meta: Any
    sessions: Any
    events: Any
    ids: Any
    positions: Any
    blobs: Any
    derived: Any


class StoreSize(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The room that a store takes: bytes of its file, bytes in it that are free to be written again."""

    file_bytes: int
    free_bytes: int


def size_of(env: lmdb.Environment, dbs: Databases) -> StoreSize:
    """The size of an open store."""
    with env.begin() as transaction:
        tables = [transaction.stat(), *(transaction.stat(db) for db in dbs)]
    info = env.info()
    used = sum(table[pages] for table in tables for pages in ("branch_pages", "leaf_pages", "overflow_pages"))
    page = tables[0]["psize"]
    return StoreSize(
        file_bytes=(info["last_pgno"] + 1) * page,
        free_bytes=(info["last_pgno"] + 1 - used - _META_PAGES) * page,
    )


def open_environment(
    path: str, *, create: bool, map_size: int
) -> tuple[lmdb.Environment | None, Databases, int]:
    """The environment, its tables and the oldest frame version in it. Raises StoreError.

    Files that may not be written are opened for reading. The slots of readers that died are cleared.
    """
    data = Path(path, _DATA_FILE)
    try:
        exists = _is_there(Path(path), data, create=create)
        if not exists:
            Path(path).mkdir(parents=True, exist_ok=True)
        is_writable = not exists or os.access(data, os.W_OK)
        env = lmdb.open(
            path,
            map_size=max(map_size, data.stat().st_size if exists else 0),
            max_dbs=len(Databases._fields),
            max_readers=_READERS,
            lib_version=_ENGINE,
            readahead=False,
            readonly=not is_writable,
            # A reader has its place in the lock file; where it cannot be written, nobody else can write, either.
            lock=is_writable or os.access(data.with_name(_LOCK_FILE), os.W_OK),
        )
    except lmdb.Error as error:
        if "already open" in str(error):
            raise StoreError(
                path, "is already open in this process", "use that log, or close it before opening it again"
            ) from error
        raise StoreError(
            path, f"is not a refold store ({error})", "name another folder with --store"
        ) from error
    except OSError as error:
        raise StoreError(
            path, f"cannot be opened ({error.strerror})", "check the path and its permissions"
        ) from error
    try:
        _check_whole(env, path, data)
        env.reader_check()
        return env, *_open_tables(env, path)
    except BaseException:
        env.close()
        raise


def _is_there(folder: Path, data: Path, *, create: bool) -> bool:
    """Whether a store is there to be opened, False where one is to be made. Raises StoreError where neither."""
    if folder.exists() and not folder.is_dir():
        raise StoreError(str(folder), "is a file, not a store's folder", "name another folder with --store")
    if data.exists() and data.stat().st_size:
        return True
    if not create:
        raise StoreError(str(folder), "there is no store here", "import a session first: refold import FILE")
    if folder.is_dir() and any(entry.name not in (_DATA_FILE, _LOCK_FILE) for entry in folder.iterdir()):
        raise StoreError(
            str(folder), "is a folder of something else", "name an empty or a new folder with --store"
        )
    return False


def _check_whole(env: lmdb.Environment, path: str, data: Path) -> None:
    """Refuse a file that ends before its last page: reading on would end the process with a signal."""
    pages = env.info()["last_pgno"] + 1
    expected, actual = pages * env.stat()["psize"], data.stat().st_size
    if actual >= expected:
        return
    # The last pages may be free ones that were never written; only a walk through the file tells.
    from lmdb.verify import verify  # noqa: PLC0415

    if verify(str(data)):  # type: ignore[no-untyped-call]
        raise StoreError(path, f"is truncated: {actual} bytes of {expected}", "restore it from a backup")


def _open_tables(env: lmdb.Environment, path: str) -> tuple[Databases, int]:
    with env.begin() as transaction:
        is_empty = transaction.stat()["entries"] == 0
    if is_empty:
        _make(env)
    try:
        dbs = Databases._make(env.open_db(name.encode(), create=False) for name in Databases._fields)
        with env.begin() as transaction:
            found = transaction.get(_META_KEY, db=dbs.meta)
    except lmdb.Error as error:
        raise StoreError(
            path, "is an LMDB database, but not a refold store", "name another folder with --store"
        ) from error
    if found is None:
        raise StoreError(
            path, "is an LMDB database, but not a refold store", "name another folder with --store"
        )
    try:
        meta = msgspec.msgpack.decode(found, type=StoreMeta)
    except msgspec.DecodeError as error:
        raise StoreError(path, f"does not tell its version ({error})", "upgrade refold") from error
    if meta.version != STORE_VERSION or not _can_read(meta.oldest_frame):
        raise StoreError(
            path,
            f"is of store version {meta.version} with frames of version {meta.oldest_frame};"
            f" this refold reads store version {STORE_VERSION} and frames up to version {VERSION}",
            "upgrade refold",
        )
    return dbs, meta.oldest_frame


def _can_read(frame_version: int) -> bool:
    return frame_version <= VERSION and all(version in STEPS for version in range(frame_version, VERSION))


def _make(env: lmdb.Environment) -> None:
    """Make the tables, unless another process has done so in the meantime: one transaction, one maker."""
    with env.begin(write=True) as transaction:
        if transaction.stat()["entries"]:
            return
        for name in Databases._fields:
            db = env.open_db(name.encode(), txn=transaction)
            if name == "meta":
                meta = StoreMeta(version=STORE_VERSION, oldest_frame=VERSION)
                transaction.put(_META_KEY, msgspec.msgpack.encode(meta), db=db)
