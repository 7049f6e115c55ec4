"""The two files of a store on disk: made in one step, private, and watched while the store is open."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import lmdb

from eventstore.errors import StoreError

if sys.platform != "win32":
    import fcntl

DATA_FILE: Final = "data.mdb"
LOCK_FILE: Final = "lock.mdb"
UNFINISHED_PREFIX: Final = ".new-store-"
"""Prefix of the name of a data file that is not in place yet."""
PRIVATE_FILE: Final = 0o600
"""Sessions are nobody's business but their owner's."""
PRIVATE_FOLDER: Final = 0o700
_ROOM_TO_BEGIN: Final = 1 << 16
"""Bytes of disk that a new store, or an old one without its lock file, takes to open."""
_OF_THE_DISK: Final = (errno.EIO, errno.ENOSPC, errno.EDQUOT)


Identity = tuple[int, int]
"""The device and the inode of a file."""


class StoreFiles:
    """The files of an open store, known by device and inode.

    A path is not enough: where `lock.mdb` is removed, the next process makes another, and two writers no longer
    exclude each other; where the folder is moved, appends go where nobody looks.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        folder = path if path.startswith(os.sep) else str(Path(path).absolute())
        self._data, self._lock = f"{folder}/{DATA_FILE}", f"{folder}/{LOCK_FILE}"
        self._opened = _identity(self._data), _identity(self._lock)

    @property
    def identity(self) -> Identity | None:
        """That of the data file, None if it was not there."""
        return self._opened[0]

    def are_in_place(self) -> bool:
        """Return True if both files are those that were there at first."""
        return (_identity(self._data), _identity(self._lock)) == self._opened

    def check(self) -> None:
        """Raise StoreError if either file is not the one that was there at first."""
        found = _identity(self._data), _identity(self._lock)
        for name, now, before in zip((DATA_FILE, LOCK_FILE), found, self._opened, strict=True):
            if now != before:
                raise self._moved(name)

    @contextmanager
    def held(self, env: lmdb.Environment, transaction: lmdb.Transaction[Any]) -> Iterator[None]:
        """Check that the store is still the one that was opened, and keep it so while the block commits.

        Raises StoreError where it is not: the transaction may not be committed.
        """
        try:
            handle = os.open(self._data, os.O_RDONLY)
        except (FileNotFoundError, NotADirectoryError):
            raise self._moved(DATA_FILE) from None
        except OSError as error:
            raise StoreError(
                self._path, f"cannot be written ({error.strerror})", "mend what it says, then append again"
            ) from error
        try:
            # Whoever has to make a new lock file waits until the block has ended: see `begin_lock_file`.
            lock(handle, is_shared=True)
            if _pair(os.fstat(handle)) != self._opened[0]:
                raise self._moved(DATA_FILE)
            if _identity(self._lock) != self._opened[1]:
                raise self._moved(LOCK_FILE)
            # The lock file counts the transactions: a file that was copied into the data file is at another count.
            if transaction.id() != env.info()["last_txnid"] + 1:
                raise self._moved(DATA_FILE)
            yield
        finally:
            os.close(handle)

    def _moved(self, name: str) -> StoreError:
        return StoreError(
            self._path,
            f"its {name} was moved, removed or replaced while the store was open",
            "end every program that has the store open, open it again, then append again",
        )


def size_of_file(path: Path) -> int | None:
    """Return the size of a file, None if there is none. Raises OSError."""
    try:
        return path.stat().st_size
    except OSError:
        return path.stat().st_size if path.exists() else None


def data_identity(folder: str) -> Identity | None:
    """Return the identity of a store's data file, None if there is none."""
    return _identity(f"{folder}/{DATA_FILE}")


def _identity(path: str) -> Identity | None:
    try:
        return _pair(os.stat(path))  # noqa: PTH116  every commit does it
    except OSError:
        return None


def _pair(found: os.stat_result) -> Identity:
    return found.st_dev, found.st_ino


def make_store(folder: Path, fill: Callable[[str], None]) -> None:
    """Put a data file that `fill` writes into a folder, which is made too. Raises OSError.

    It is put in place whole, and only where none has come meanwhile: a power loss leaves all of it or nothing,
    and of several processes one makes the store.
    """
    new_folders = [each for each in (folder.absolute(), *folder.absolute().parents) if not each.exists()]
    folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    _check_room(folder)
    handle, made = tempfile.mkstemp(prefix=UNFINISHED_PREFIX, dir=folder)
    os.close(handle)
    try:
        fill(made)
        _put_in_place(made, folder / DATA_FILE)
    except (OSError, lmdb.Error):
        # Another process that was first may clear this one's file away at any moment, see `begin_lock_file`.
        if Path(made).exists() or not (folder / DATA_FILE).exists():
            raise
    finally:
        Path(made).unlink(missing_ok=True)
    for each in new_folders:
        flush_folder(each.parent)


def _put_in_place(made: str, data: Path) -> None:
    if data.exists() and not data.stat().st_size:
        # An older refold has left it where it lost its power.
        Path(made).replace(data)
        return
    # Another process may be first, and may have cleared away this one's file besides.
    with suppress(FileExistsError, FileNotFoundError):
        link_new(Path(made), data)


def link_new(made: Path, target: Path) -> None:
    """Give a file another name, which may not be taken. Raises FileExistsError if it is, and OSError."""
    try:
        target.hardlink_to(made)
    except (FileExistsError, FileNotFoundError):
        raise
    except OSError:
        # A file system that knows no links.
        if target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        made.rename(target)


def begin_lock_file(data: Path) -> None:
    """Make an empty lock file where there is none, and wait for the commit of whoever has lost his. Raises OSError.

    From then on that writer sees that his lock file is gone, and commits no more. LMDB takes over what the data
    file says when it finds the lock file empty.
    """
    lock_file = data.with_name(LOCK_FILE)
    if size_of_file(lock_file):
        return
    _check_room(data.parent)
    os.close(os.open(lock_file, os.O_CREAT | os.O_RDWR, data.stat().st_mode & 0o666))
    with data.open("rb") as file:
        lock(file.fileno())
    for left in data.parent.glob(f"{UNFINISHED_PREFIX}*"):
        left.unlink(missing_ok=True)
    flush_folder(data.parent)
    flush_folder(data.parent.absolute().parent)


def lock(handle: int, *, is_shared: bool = False, waits: bool = True) -> bool:
    """Take a lock that ends with the handle; return False where there is none to be had.

    That is where the system or the file system knows none, or where another has it and this one does not wait.
    """
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | (0 if waits else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _check_room(folder: Path) -> None:
    """Refuse to make files on a full disk: LMDB writes its lock file through memory, where that is a signal."""
    if sys.platform == "win32":
        return
    disk = os.statvfs(folder)
    if disk.f_blocks and disk.f_bavail * disk.f_frsize < _ROOM_TO_BEGIN:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def flush_folder(folder: Path) -> None:
    """Put the names in a folder on the disk, where its system knows how to. Raises OSError of a disk that fails."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno in _OF_THE_DISK:
            raise
    finally:
        os.close(handle)
