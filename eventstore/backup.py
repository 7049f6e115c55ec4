"""A copy of a store while it is in use: compacted, then checked."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from eventstore.errors import StoreError
from eventstore.heads import encode_heads
from eventstore.lmdb_files import DATA_FILE, LOCK_FILE, PRIVATE_FILE, PRIVATE_FOLDER, flush_folder
from eventstore.lmdb_log import LmdbLog
from eventstore.verify import Progress, Verification, verify

if sys.platform != "win32":
    import fcntl

_UNFINISHED: Final = ".refold-backup-"
"""How the name of the folder begins that a backup is made in."""


class Backup(msgspec.Struct, frozen=True, kw_only=True):
    """A finished backup: where it and the file of its heads are, its size in bytes, what its verification covered."""

    path: str
    heads: str
    bytes: int
    verification: Verification


def backup(log: LmdbLog, path: str | os.PathLike[str], *, progress: Progress = lambda *_: None) -> Backup:
    """Copy a store into a new folder: one consistent state, free pages left out, verified before it is put there.

    The heads of its sessions are saved beside it, in a file of its name and `.heads`. Readers and writers of the
    store go on meanwhile. Raises StoreError where the folder exists, cannot be written, or the copy is not sound;
    then nothing is left there.
    """
    target = Path(path)
    heads = target.with_name(f"{target.name}.heads")
    try:
        for each in (target, heads):
            if each.exists() and (each is target or each.is_dir()):
                raise StoreError(str(each), "exists already", "name a new folder for the backup")
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
            copy.replace(target)
            (beside / "heads").replace(heads)
        flush_folder(target.absolute().parent)
    except OSError as error:
        raise StoreError(
            str(target), f"cannot be written ({error.strerror})", "name another place"
        ) from error
    return Backup(path=str(target), heads=str(heads), bytes=size, verification=found)


@contextmanager
def _unfinished(parent: Path) -> Iterator[Path]:
    """A hidden folder that is gone after the block; those that killed backups have left there go, too."""
    for left in parent.glob(f"{_UNFINISHED}*"):
        with _lock(left) as is_mine:
            # An empty one may be another process's, which has not taken its lock yet.
            if is_mine and any(left.iterdir()):
                shutil.rmtree(left, ignore_errors=True)
    beside = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=parent))
    try:
        with _lock(beside):
            yield beside
    finally:
        shutil.rmtree(beside, ignore_errors=True)


@contextmanager
def _lock(folder: Path) -> Iterator[bool]:
    """Tell in the block whether nobody else has this folder; a process that dies gives it up."""
    if sys.platform == "win32":
        yield False
        return
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)


def _copy(log: LmdbLog, folder: Path, heads: Path, progress: Progress) -> Verification:
    """Copy a store into a new folder and its heads into a file, onto the disk, and verify what is there."""
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
            f"the copy is not sound ({finding.session} #{finding.seq}: {finding.problem})",
            "run 'refold verify' on the store",
        )
