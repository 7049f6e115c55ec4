"""Copy a store while it is in use; compact and verify the copy."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from eventstore.errors import StoreError
from eventstore.lmdb.data_files import (
    DATA_FILE,
    LOCK_FILE,
    PRIVATE_FILE,
    PRIVATE_FOLDER,
    flush_folder,
    link_new,
    lock,
)
from eventstore.lmdb.store import LmdbLog
from eventstore.log import Progress, StoredLog
from eventstore.verify import Verification, encode_heads, verify

_UNFINISHED: Final = ".refold-backup-"
"""Prefix of the folder in which a backup is made."""


class Backup(msgspec.Struct, frozen=True, kw_only=True):
    """A finished backup: its path, the file of its heads, its size in bytes, its verification."""

    path: str
    heads: str
    bytes: int
    verification: Verification


def backup(log: StoredLog, path: str | os.PathLike[str], *, progress: Progress = lambda *_: None) -> Backup:
    """Copy a consistent state of a store into a new folder, without free pages, and verify it.

    The heads of its sessions are saved beside it, in a file with the folder's name and `.heads`. Readers and
    writers may continue meanwhile. Raises StoreError if the folder or that file exists or cannot be written,
    or if the copy is damaged; then nothing is left there.

    The pages of the store's file are not checked: call `eventstore.lmdb.pages.require_sound_pages` before you
    open a store that may be damaged, because reading a damaged page can end the process.
    """
    target = Path(path)
    heads = target.with_name(f"{target.name}.heads")
    try:
        for each in (target, heads):
            if os.path.lexists(each):
                raise _taken(each)
        if any((folder / DATA_FILE).exists() for folder in target.absolute().parents):
            raise StoreError(
                str(target), "is inside a store, with which it would be lost", "name another place"
            )
        with _unfinished(target.parent) as beside:
            copy = beside / "copy"
            try:
                found = _copy(log, copy, beside / "heads", progress)
            except StoreError as error:
                if error.path == str(copy):
                    raise StoreError(str(target), error.problem, error.remedy) from error
                raise
            _check_sound(target, found)
            size = (copy / DATA_FILE).stat().st_size
            _put_in_place(copy, target, beside / "heads", heads)
        flush_folder(target.absolute().parent)
    except OSError as error:
        raise StoreError(
            str(target), f"cannot be written ({error.strerror})", "name another place"
        ) from error
    return Backup(path=str(target), heads=str(heads), bytes=size, verification=found)


def _put_in_place(copy: Path, target: Path, saved: Path, heads: Path) -> None:
    """Put the heads and then the copy in place, or neither. Raises StoreError, OSError."""
    try:
        link_new(saved, heads)
    except FileExistsError as error:
        raise _taken(heads) from error
    try:
        copy.replace(target)
    except BaseException:
        if copy.exists():
            heads.unlink(missing_ok=True)
        raise


def _taken(path: Path) -> StoreError:
    return StoreError(str(path), "exists already", "name a new folder for the backup")


@contextmanager
def _unfinished(parent: Path) -> Iterator[Path]:
    """Make a hidden folder for the block; remove those that killed backups left behind."""
    for left in parent.glob(f"{_UNFINISHED}*"):
        with _locked(left, waits=False) as is_mine:
            if is_mine:
                shutil.rmtree(left, ignore_errors=True)
    while True:
        beside = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=parent))
        with _locked(beside, waits=True):
            # Another backup may have removed the folder as a leftover before it was locked.
            if not beside.exists():
                continue
            try:
                yield beside
            finally:
                shutil.rmtree(beside, ignore_errors=True)
            return


@contextmanager
def _locked(folder: Path, *, waits: bool) -> Iterator[bool]:
    """Tell the block if this process has the folder's lock, which ends with the process."""
    try:
        handle = os.open(folder, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        # The folder is gone or another user's, or the system cannot open folders.
        yield False
        return
    try:
        yield lock(handle, waits=waits)
    finally:
        os.close(handle)


def _copy(log: StoredLog, folder: Path, heads: Path, progress: Progress) -> Verification:
    """Copy a store into a new folder and its heads into a file, flush both, verify the copy."""
    folder.mkdir(PRIVATE_FOLDER)
    log.copy_to(folder)
    (folder / DATA_FILE).chmod(PRIVATE_FILE)
    _flush(folder / DATA_FILE)
    with LmdbLog(folder, create=False) as copy:
        found = verify(copy, progress=progress)
        with copy.snapshot() as snapshot:
            heads.touch(PRIVATE_FILE)
            heads.write_bytes(encode_heads(snapshot.heads(), "backup"))
    _flush(heads)
    (folder / LOCK_FILE).unlink(missing_ok=True)
    flush_folder(folder)
    return found


def _flush(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _check_sound(target: Path, found: Verification) -> None:
    for finding in found.findings:
        raise StoreError(
            str(target),
            f"the copy is damaged ({finding.session} #{finding.seq}: {finding.problem})",
            "run 'refold verify' on the store",
        )
