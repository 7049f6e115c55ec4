"""Opening a folder as a store, if it is one, of a version that this refold knows, and whole."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import lmdb
import msgspec

from eventstore.errors import StoreError
from eventstore.frame import OLDEST, STEPS, VERSION

if TYPE_CHECKING:
    from eventstore.lmdb_keys import Transaction

STORE_VERSION: Final = 2
"""Goes up with the layout, and with frames that an older refold could not read.

Version 1 has frames of version 1 and heads without a checksum; it becomes version 2 with the first append.
"""
_ENGINE: Final = 0
"""py-lmdb's number for its 0.9 engine; its two engines cannot read each other's files."""
MAP_SIZE: Final = 1 << 30 if sys.platform == "win32" else 1 << 36
"""Large and sparse: 64 GiB of addresses cost nothing until they are written, but on Windows they do."""
_READERS: Final = 510
_META_KEY: Final = b"refold"
_META_PAGES: Final = 2
_DATA_FILE: Final = "data.mdb"
_LOCK_FILE: Final = "lock.mdb"
_ROOM_TO_BEGIN: Final = 1 << 16
"""Bytes of disk that a new store, or an old one without its lock file, takes to open."""
_OPENING: Final = Lock()
"""py-lmdb refuses to open a store twice in one process, but not to two threads at the same moment."""
_OF_ANOTHER_KIND: Final = (
    lmdb.InvalidError,
    lmdb.VersionMismatchError,
    lmdb.CorruptedError,
    lmdb.PageNotFoundError,
)


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


def size_of(env: lmdb.Environment, dbs: Databases, transaction: lmdb.Transaction[Any]) -> StoreSize:
    """The size of an open store."""
    tables = [transaction.stat(), *(transaction.stat(db) for db in dbs)]
    info = env.info()
    used = sum(table[pages] for table in tables for pages in ("branch_pages", "leaf_pages", "overflow_pages"))
    page = tables[0]["psize"]
    return StoreSize(
        file_bytes=(info["last_pgno"] + 1) * page,
        free_bytes=(info["last_pgno"] + 1 - used - _META_PAGES) * page,
    )


def open_environment(path: str, *, create: bool, map_size: int) -> tuple[lmdb.Environment, Databases, int]:
    """The environment, its tables and the oldest frame version in it. Raises StoreError.

    Files that may not be written are opened for reading. The slots of readers that died are cleared.
    """
    data = Path(path, _DATA_FILE)
    try:
        exists = _is_there(Path(path), data, create=create)
        if not exists:
            Path(path).mkdir(parents=True, exist_ok=True)
        may_write, may_lock = _rights(data)
        is_writable = not exists or (may_write and may_lock)
        if is_writable and not (exists and data.with_name(_LOCK_FILE).exists()):
            _check_room(path)
        with _OPENING:
            env = lmdb.open(
                path,
                map_size=max(map_size, data.stat().st_size if exists else 0),
                max_dbs=len(Databases._fields),
                max_readers=_READERS,
                lib_version=_ENGINE,
                readahead=False,
                readonly=not is_writable,
                lock=is_writable or may_lock,
            )
    except lmdb.Error as error:
        raise _refusal(path, error) from error
    except OSError as error:
        raise StoreError(
            path, f"cannot be opened ({error.strerror})", "check its permissions and the room on its disk"
        ) from error
    try:
        _check_whole(env, path, data)
        env.reader_check()
        tables = _open_tables(env, path)
    except BaseException:
        env.close()
        raise
    if not exists:
        flush_folder(Path(path))
        flush_folder(Path(path).absolute().parent)
    return env, *tables


def _rights(data: Path) -> tuple[bool, bool]:
    """Whether this process may write the data file, and have its readers and writers stand in the lock file."""
    lock = data.with_name(_LOCK_FILE)
    may_write = os.access(data, os.W_OK)
    # A lock file that only a reader made would shut the store's owner out.
    may_lock = os.access(lock, os.W_OK) if lock.exists() else may_write and os.access(data.parent, os.W_OK)
    return may_write, may_lock


def _check_room(folder: str) -> None:
    """Refuse to make files on a full disk: LMDB writes its lock file through memory, where that is a signal."""
    if sys.platform == "win32":
        return
    disk = os.statvfs(folder)
    if disk.f_blocks and disk.f_bavail * disk.f_frsize < _ROOM_TO_BEGIN:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _refusal(path: str, error: lmdb.Error) -> StoreError:
    """What it means for a store that LMDB cannot open it."""
    if "already open" in str(error):
        return StoreError(
            path, "is already open in this process", "use that log, or close it before opening it again"
        )
    if isinstance(error, _OF_ANOTHER_KIND):
        return StoreError(path, f"is not a refold store ({error})", "name another folder with --store")
    if isinstance(error, lmdb.ReadersFullError):
        return StoreError(path, f"has {_READERS} readers, as many as it can", "wait until some have ended")
    return StoreError(
        path, f"cannot be opened ({error.reason})", "check its permissions and the room on its disk"
    )


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
    # The last pages may be free ones that were never written; only a walk through the file tells. The
    # transaction keeps other processes from writing over what is walked.
    from lmdb.verify import verify  # noqa: PLC0415

    with env.begin():
        findings = verify(str(data))  # type: ignore[no-untyped-call]
    if findings:
        raise StoreError(path, f"is truncated: {actual} bytes of {expected}", "restore it from a backup")


def _open_tables(env: lmdb.Environment, path: str) -> tuple[Databases, int]:
    try:
        if env.flags()["readonly"]:
            dbs = Databases._make(env.open_db(name.encode(), create=False) for name in Databases._fields)
        else:
            # One transaction, so one maker: where several processes come first, the others find the tables.
            with env.begin(write=True) as transaction:
                if not transaction.stat()["entries"]:
                    _make(env, transaction)
                dbs = Databases._make(
                    env.open_db(name.encode(), txn=transaction, create=False) for name in Databases._fields
                )
        with env.begin() as transaction:
            found = transaction.get(_META_KEY, db=dbs.meta)
    except (lmdb.NotFoundError, lmdb.IncompatibleError) as error:
        raise StoreError(
            path, "is an LMDB database, but not a refold store", "name another folder with --store"
        ) from error
    except lmdb.Error as error:
        raise _refusal(path, error) from error
    if found is None:
        raise StoreError(
            path, "is an LMDB database, but not a refold store", "name another folder with --store"
        )
    try:
        meta = msgspec.msgpack.decode(found, type=StoreMeta)
    except msgspec.DecodeError as error:
        raise StoreError(path, f"does not tell its version ({error})", "upgrade refold") from error
    if not 1 <= meta.version <= STORE_VERSION or not _can_read(meta.oldest_frame):
        raise StoreError(
            path,
            f"is of store version {meta.version} with frames of version {meta.oldest_frame};"
            f" this refold reads store versions up to {STORE_VERSION} and frames up to version {VERSION}",
            "upgrade refold",
        )
    return dbs, meta.oldest_frame


def _can_read(frame_version: int) -> bool:
    return frame_version <= VERSION and all(version in STEPS for version in range(frame_version, OLDEST))


def mark_version(transaction: Transaction, dbs: Databases) -> None:
    """Make an older store one of the current version, so that refolds that cannot read it refuse it."""
    meta = msgspec.msgpack.decode(transaction.get(_META_KEY, db=dbs.meta) or b"", type=StoreMeta)
    if meta.version != STORE_VERSION:
        newer = msgspec.structs.replace(meta, version=STORE_VERSION)
        transaction.put(_META_KEY, msgspec.msgpack.encode(newer), db=dbs.meta)


def flush_folder(folder: Path) -> None:
    """Put the names in a folder on the disk, where its system knows how to: a new file is not lost with them."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _make(env: lmdb.Environment, transaction: lmdb.Transaction[bytes]) -> None:
    for name in Databases._fields:
        db = env.open_db(name.encode(), txn=transaction)
        if name == "meta":
            meta = StoreMeta(version=STORE_VERSION, oldest_frame=VERSION)
            transaction.put(_META_KEY, msgspec.msgpack.encode(meta), db=db)
