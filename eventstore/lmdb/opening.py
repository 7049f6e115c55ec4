"""Open a store; check its version and size."""

from __future__ import annotations

import os
from typing import Any, Final

import lmdb
import msgspec

from eventstore.errors import StoreError
from eventstore.lmdb.data_files import (
    DATA_FILE,
    LOCK_FILE,
    PRIVATE_FILE,
    UNFINISHED_PREFIX,
    StoreFiles,
    begin_lock_file,
    make_store,
    size_of_file,
)
from eventstore.log import StoreSize

STORE_VERSION: Final = 4
"""Changes with the layout and with frames.

Versions 1 to 3 were never released, and are refused.
"""
ENGINE: Final = 0
"""py-lmdb's number for its 0.9 engine; its engines cannot read each other's files."""
MAP_SIZE: Final = 1 << 36
"""Bytes of addresses: 64 GiB, which cost nothing until written."""
_READERS: Final = 510
_META_KEY: Final = b"refold"
_META_PAGES: Final = 2
_NEW_MAP: Final = 1 << 20
"""Maximum bytes of a new store while its tables are created."""
_OPENINGS: Final = 3
"""Number of attempts if files change during opening: a layered file system copies on write."""
_WALKS: Final = 3
"""Number of walks through a file's pages before findings count."""
_OF_ANOTHER_KIND: Final = (lmdb.InvalidError, lmdb.VersionMismatchError)
_DAMAGED: Final = (lmdb.CorruptedError, lmdb.PageNotFoundError)


_REMEDIES: Final = (
    (_DAMAGED, "run 'refold verify', then restore a backup"),
    (lmdb.PanicError, "close the store, repair its disk, then open it again"),
    (lmdb.MemoryError, "give this process more memory addresses"),
    (
        lmdb.LockError,
        "a process with the same number in another container has it open: let both share process ids",
    ),
    (lmdb.TxnFullError, "append fewer events at a time"),
    (lmdb.MapResizedError, "another process has just enlarged it: try again"),
)
_OTHER_DATABASE: Final = "is an LMDB database, but not a refold store, or is damaged"
_RESTORE: Final = "restore it from a backup"
_NONE_OR_DAMAGED: Final = "name another folder, or restore a backup"
_FROM_OLDER: Final = (
    "run 'refold sync' into a new store; export what else it holds by the refold that wrote it"
)
_REMEDY: Final = "check its permissions and the free space on its disk"


class StoreMeta(msgspec.Struct, frozen=True, kw_only=True):
    """A store's description: its layout version."""

    version: int


class Databases(msgspec.Struct, frozen=True):
    """The named tables of a store."""

    meta: Any
    sessions: Any
    events: Any
    ids: Any
    positions: Any
    blobs: Any
    derived: Any
    sources: Any
    holders: Any


def size_of(env: lmdb.Environment, dbs: Databases, transaction: lmdb.Transaction[Any]) -> StoreSize:
    """Return the size of an open store."""
    tables = [transaction.stat(), *map(transaction.stat, msgspec.structs.astuple(dbs))]
    info = env.info()
    used = sum(table[pages] for table in tables for pages in ("branch_pages", "leaf_pages", "overflow_pages"))
    page = tables[0]["psize"]
    return StoreSize(
        file_bytes=(info["last_pgno"] + 1) * page,
        free_bytes=(info["last_pgno"] + 1 - used - _META_PAGES) * page,
    )


def open_environment(
    path: str, *, create: bool, map_size: int, read_only: bool
) -> tuple[lmdb.Environment, StoreFiles, Databases]:
    """Return the environment, its files and its tables.

    Read-only files are opened for reading; with `read_only`, so are those that another process writes. Slots of
    dead readers are cleared. Raises StoreError.
    """
    data = os.path.join(path, DATA_FILE)
    try:
        if not _exists(path, data, create=create):
            make_store(path, _make)
        return _open_files(path, data, map_size, read_only=read_only)
    except lmdb.Error as error:
        raise _not_opened(path, data, error) from error
    except OSError as error:
        raise StoreError(
            path,
            f"cannot be opened ({error.strerror})",
            "check its permissions and the free space on its disk",
        ) from error


def _not_opened(path: str, data: str, error: lmdb.Error) -> StoreError:
    """Return why LMDB could not open a store.

    Damaged first pages may ask for more addresses than there are.
    """
    is_of_size = isinstance(error, lmdb.MemoryError | lmdb.MapResizedError)
    if is_of_size and os.path.isfile(data) and (problems := page_problems(data)):
        return StoreError(path, f"is damaged ({problems[0]})", _RESTORE)
    return translated(path, "opened", error)


def open_for_walk(folder: str) -> lmdb.Environment:
    """Open a store read-only, without checks. Raises lmdb.Error and OSError.

    Readers register in the lock file if this process may write it.
    """
    may_lock = os.access(os.path.join(folder, LOCK_FILE), os.W_OK)
    # With a smaller map, a store that grows between opening and reading would refuse the transaction.
    map_size = max(MAP_SIZE, os.path.getsize(os.path.join(folder, DATA_FILE)))
    return lmdb.open(
        folder, readonly=True, map_size=map_size, lock=may_lock, max_readers=_READERS, lib_version=ENGINE
    )


def _open_files(
    path: str, data: str, map_size: int, *, read_only: bool
) -> tuple[lmdb.Environment, StoreFiles, Databases]:
    """Open the files at the path, and make sure that they are not replaced meanwhile."""
    for _ in range(_OPENINGS):
        may_write, may_lock = _rights(path, data)
        if may_lock:
            begin_lock_file(path)
        files = StoreFiles(path)
        with files.writing(if_idle=read_only) as may_begin:
            env = lmdb.open(
                path,
                map_size=max(map_size, os.path.getsize(data)),
                mode=PRIVATE_FILE,
                max_dbs=len(Databases.__struct_fields__),
                max_readers=_READERS,
                lib_version=ENGINE,
                readahead=False,
                readonly=not (may_write and may_lock and may_begin),
                lock=may_lock,
            )
            try:
                if files.are_in_place():
                    _check_whole(env, path, data)
                    env.reader_check()
                    return env, files, _open_tables(env, files, path)
            except BaseException:
                env.close()
                raise
        env.close()
    raise StoreError(path, "is being moved or replaced", "try again afterwards")


def may_write(folder: str) -> bool:
    """Return True if this process may write the files of a store."""
    return all(_rights(folder, os.path.join(folder, DATA_FILE)))


def _rights(folder: str, data: str) -> tuple[bool, bool]:
    """Return True if this process may write the data file and register in the lock file."""
    lock = os.path.join(folder, LOCK_FILE)
    may_write = os.access(data, os.W_OK)
    # A lock file that a mere reader made would lock the store's owner out.
    may_lock = os.access(lock, os.W_OK) if os.path.exists(lock) else may_write and os.access(folder, os.W_OK)
    return may_write, may_lock


def translated(path: str, done: str, error: lmdb.Error) -> StoreError:
    """Translate an LMDB error for a store that was to be "opened", "read" or "written"."""
    if "already open" in str(error):
        return StoreError(
            path, "is already open in this process", "close what was opened before a fork, then open it again"
        )
    if isinstance(error, _OF_ANOTHER_KIND) and done == "opened":
        return StoreError(path, f"is not a refold store, or is damaged ({error})", _NONE_OR_DAMAGED)
    if isinstance(error, _DAMAGED) and done == "opened":
        return StoreError(path, f"is damaged ({error})", _RESTORE)
    if isinstance(error, lmdb.ReadersFullError):
        return StoreError(path, f"has {_READERS} readers, the maximum", "wait until some have finished")
    remedy = next((text for kinds, text in _REMEDIES if isinstance(error, kinds)), _REMEDY)
    # When a store is opened, the name of the failed LMDB function is no help.
    problem = getattr(error, "reason", error) if done == "opened" else error
    nothing = "; none of this append was stored" if done == "written" else ""
    return StoreError(path, f"cannot be {done} ({problem})", remedy + nothing)


def _exists(folder: str, data: str, *, create: bool) -> bool:
    """Return True if a store exists, False if one is to be created; else raise StoreError."""
    size = size_of_file(data)
    if size:
        return True
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise StoreError(folder, "is a file, not a store's folder", "name another folder")
    if not create and size is not None:
        raise StoreError(
            folder,
            f"its {DATA_FILE} is empty",
            "restore it from a backup, or import a session if there was none yet",
        )
    if not create:
        raise StoreError(folder, "no store exists here", "check the path, or import a session first")
    ours = (DATA_FILE, LOCK_FILE)
    if os.path.isdir(folder) and any(
        name not in ours and not name.startswith(UNFINISHED_PREFIX) for name in os.listdir(folder)
    ):
        raise StoreError(folder, "is a folder with other contents", "choose an empty or new folder")
    return False


def _check_whole(env: lmdb.Environment, path: str, data: str) -> None:
    """Refuse a file that ends before its last page: reading on would crash the process."""
    pages = env.info()["last_pgno"] + 1
    expected, actual = pages * env.stat()["psize"], os.path.getsize(data)
    if actual >= expected:
        return
    # The last pages may be free ones that were never written; only a walk through the file tells. The
    # transaction keeps other processes from writing over what is walked.
    with env.begin():
        problems = page_problems(data)
    if problems:
        raise StoreError(path, f"is truncated: {actual} bytes of {expected}", _RESTORE)


def page_problems(data: str) -> list[str]:
    """Walk the pages of a file in use; return a line for each problem."""
    from lmdb.verify import VerifyError, verify  # noqa: PLC0415

    problems: list[str] = []
    # A file that grows during this check looks truncated, and a page being written looks damaged.
    for _ in range(_WALKS):
        try:
            problems = verify(data)  # type: ignore[no-untyped-call]
        except VerifyError as error:
            problems = [str(error)]
        if not problems:
            break
    return problems


def _open_tables(env: lmdb.Environment, files: StoreFiles, path: str) -> Databases:
    names = [name.encode() for name in Databases.__struct_fields__]
    try:
        if env.flags()["readonly"]:
            # LMDB keeps a handle of a read transaction only if it began that transaction for it.
            meta = env.open_db(names[0], create=False)
            with env.begin() as transaction:
                _check_version(transaction.get(_META_KEY, db=meta), path)
            return Databases(*(env.open_db(name, create=False) for name in names))
        with env.begin(write=True) as transaction:
            meta = env.open_db(names[0], txn=transaction, create=False)
            _check_version(transaction.get(_META_KEY, db=meta), path)
            dbs = Databases(*(env.open_db(name, txn=transaction, create=False) for name in names))
            files.commit(env, transaction)
            return dbs
    except (lmdb.NotFoundError, lmdb.IncompatibleError) as error:
        raise StoreError(path, _OTHER_DATABASE, _NONE_OR_DAMAGED) from error


def _check_version(found: bytes | None, path: str) -> None:
    """Raise StoreError for a store of another layout."""
    if found is None:
        raise StoreError(path, _OTHER_DATABASE, _NONE_OR_DAMAGED)
    try:
        version = msgspec.msgpack.decode(found, type=StoreMeta).version
    except msgspec.DecodeError as error:
        raise StoreError(path, f"has no readable version ({error})", "upgrade refold") from error
    if version != STORE_VERSION:
        remedy = "upgrade refold" if version > STORE_VERSION else _FROM_OLDER
        raise StoreError(
            path, f"is of store version {version}; this refold reads version {STORE_VERSION}", remedy
        )


def _make(file: str) -> None:
    """Create an empty store's data file, and flush it."""
    with (
        lmdb.open(
            file,
            subdir=False,
            lock=False,
            mode=PRIVATE_FILE,
            map_size=_NEW_MAP,
            max_dbs=len(Databases.__struct_fields__),
            lib_version=ENGINE,
        ) as env,
        env.begin(write=True) as transaction,
    ):
        for name in Databases.__struct_fields__:
            # Duplicates of one size lie in their pages without the nodes of keys.
            db = env.open_db(name.encode(), txn=transaction)
            if name == "meta":
                transaction.put(_META_KEY, msgspec.msgpack.encode(StoreMeta(version=STORE_VERSION)), db=db)
