"""Create the two files of a store atomically and privately, and watch them while it is open."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import lmdb

from eventstore.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

DATA_FILE: Final = "data.mdb"
LOCK_FILE: Final = "lock.mdb"
UNFINISHED_PREFIX: Final = ".new-store-"
"""Prefix of a data file that is not in place yet."""
PRIVATE_FILE: Final = 0o600
"""Only the owner may read sessions."""
PRIVATE_FOLDER: Final = 0o700
_ROOM_TO_BEGIN: Final = 1 << 16
"""Bytes of disk that opening needs for a new store, or one without a lock file."""
_OF_THE_DISK: Final = (errno.EIO, errno.ENOSPC, errno.EDQUOT)


Identity = tuple[int, int]
"""The device and the inode of a file."""


class StoreFiles:
    """The files of an open store, identified by device and inode.

    A path is not enough: if `lock.mdb` is removed, the next process makes another, and two writers no longer
    exclude each other; if the folder is moved, appends go where no other process looks.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        folder = path if path.startswith(os.sep) else os.path.join(os.getcwd(), path)
        self._data, self._lock = f"{folder}/{DATA_FILE}", f"{folder}/{LOCK_FILE}"
        self._opened = _identity(self._data), _identity(self._lock)

    @property
    def identity(self) -> Identity | None:
        """The data file's identity, None if it did not exist."""
        return self._opened[0]

    def are_in_place(self) -> bool:
        """Return True if both files are the original ones."""
        return (_identity(self._data), _identity(self._lock)) == self._opened

    def check(self) -> None:
        """Raise StoreError if either file has been replaced."""
        found = _identity(self._data), _identity(self._lock)
        for name, now, before in zip((DATA_FILE, LOCK_FILE), found, self._opened, strict=True):
            if now != before:
                raise self._moved(name)

    @contextmanager
    def writing(self, *, if_idle: bool = False) -> Iterator[bool]:
        """Tell other processes that this one writes, or waits to, during a write transaction.

        With `if_idle`, yield False instead if another does: LMDB's own lock can only be waited for, and its holder
        may be stopped. Raises OSError.
        """
        handle = os.open(self._data, os.O_RDONLY)
        try:
            # A process that must make a new lock file waits for the end of this: see `begin_lock_file`.
            is_held = lock(handle, is_shared=not if_idle, waits=not if_idle)
            yield is_held or not if_idle
        finally:
            os.close(handle)

    def commit(self, env: lmdb.Environment, transaction: lmdb.Transaction[Any]) -> None:
        """Commit a transaction inside `writing`, if the files are unchanged.

        Raises StoreError if they were replaced; then nothing is committed.
        """
        self.check()
        # The lock file counts transactions: a data file copied over this one has another count.
        if transaction.id() != env.info()["last_txnid"] + 1:
            raise self._moved(DATA_FILE)
        transaction.commit()

    def _moved(self, name: str) -> StoreError:
        return StoreError(
            self._path,
            f"its {name} was moved, removed or replaced while the store was open",
            "end every program that has the store open, open it again, then append again",
        )


def size_of_file(path: str) -> int | None:
    """Return the size of a file, None if there is none. Raises OSError."""
    try:
        return os.stat(path).st_size
    except (FileNotFoundError, NotADirectoryError):
        return None


def data_identity(folder: str) -> Identity | None:
    """Return the identity of a store's data file, None if there is none."""
    return _identity(f"{folder}/{DATA_FILE}")


def _identity(path: str) -> Identity | None:
    try:
        return _pair(os.stat(path))
    except OSError:
        return None


def _pair(found: os.stat_result) -> Identity:
    return found.st_dev, found.st_ino


def make_store(path: str, fill: Callable[[str], None]) -> None:
    """Create a folder and a data file that `fill` writes. Raises OSError.

    The file is put in place atomically, unless another process was first, so that a power loss leaves all of
    it or nothing.
    """
    import tempfile  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    folder = Path(path)
    new_folders = [each for each in (folder.absolute(), *folder.absolute().parents) if not each.exists()]
    folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    _check_room(folder)
    handle, name = tempfile.mkstemp(prefix=UNFINISHED_PREFIX, dir=folder)
    os.close(handle)
    made = Path(name)
    try:
        fill(name)
        _put_in_place(made, folder / DATA_FILE)
    except (OSError, lmdb.Error):
        # Another process that was first may remove this file at any moment, see `begin_lock_file`.
        if made.exists() or not (folder / DATA_FILE).exists():
            raise
    finally:
        made.unlink(missing_ok=True)
    for each in new_folders:
        flush_folder(each.parent)


def _put_in_place(made: Path, data: Path) -> None:
    if data.exists() and not data.stat().st_size:
        # Left by an older refold at a power loss.
        made.replace(data)
        return
    # Another process may be first, and may have removed this process's file.
    with suppress(FileExistsError, FileNotFoundError):
        link_new(made, data)


def link_new(made: Path, target: Path) -> None:
    """Link a file to a new name. Raises FileExistsError if it is in use, and OSError."""
    try:
        target.hardlink_to(made)
    except (FileExistsError, FileNotFoundError):
        raise
    except OSError:
        # The file system does not support links.
        if target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        made.rename(target)


def begin_lock_file(path: str) -> None:
    """Create a missing lock file, and wait for writers that lost theirs. Raises OSError.

    Those writers then see that their lock file is gone, and do not commit. LMDB initializes an empty lock
    file from the data file.
    """
    if size_of_file(os.path.join(path, LOCK_FILE)):
        return
    from pathlib import Path  # noqa: PLC0415

    folder = Path(path)
    data = folder / DATA_FILE
    _check_room(folder)
    os.close(os.open(folder / LOCK_FILE, os.O_CREAT | os.O_RDWR, data.stat().st_mode & 0o666))
    with data.open("rb") as file:
        lock(file.fileno())
    for left in folder.glob(f"{UNFINISHED_PREFIX}*"):
        left.unlink(missing_ok=True)
    flush_folder(folder)
    flush_folder(folder.absolute().parent)


def lock(handle: int, *, is_shared: bool = False, waits: bool = True) -> bool:
    """Take a lock that lasts as long as the handle; return False if it cannot be had.

    The system or file system may not support locks, or another process has it and this one does not wait.
    """
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | (0 if waits else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _check_room(folder: Path) -> None:
    """Refuse a full disk: LMDB writes its lock file through memory, which would raise a signal."""
    disk = os.statvfs(folder)
    if disk.f_blocks and disk.f_bavail * disk.f_frsize < _ROOM_TO_BEGIN:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def flush_folder(folder: Path) -> None:
    """Flush a folder's names to disk, if the system can. Raises OSError if the disk fails."""
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
