"""A copy of a store while it is in use: compacted, then checked."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import msgspec

from eventstore.errors import StoreError
from eventstore.lmdb_files import flush_folder
from eventstore.lmdb_log import LmdbLog
from eventstore.verify import Progress, Verification, verify


class Backup(msgspec.Struct, frozen=True, kw_only=True):
    """A finished backup: where it is, its size in bytes, and what its verification covered."""

    path: str
    bytes: int
    verification: Verification


def backup(log: LmdbLog, path: str | os.PathLike[str], *, progress: Progress = lambda *_: None) -> Backup:
    """Copy a store into a new folder: one consistent state, free pages left out, verified before it is put there.

    Readers and writers of the store go on meanwhile. Raises StoreError where the folder exists, cannot be
    written, or the copy is not sound; then nothing is left there.
    """
    target = Path(path)
    if target.exists():
        raise StoreError(str(target), "exists already", "name a new folder for the backup")
    try:
        beside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            found = _copy(log, beside, progress)
            _check_sound(target, found)
            size = (beside / "data.mdb").stat().st_size
            beside.replace(target)
            flush_folder(target.absolute().parent)
        except BaseException as error:
            shutil.rmtree(beside, ignore_errors=True)
            if isinstance(error, StoreError) and error.path == str(beside):
                raise StoreError(str(target), error.problem, error.remedy) from error
            raise
    except OSError as error:
        raise StoreError(
            str(target), f"cannot be written ({error.strerror})", "name another place"
        ) from error
    return Backup(path=str(target), bytes=size, verification=found)


def _copy(log: LmdbLog, folder: Path, progress: Progress) -> Verification:
    """Copy a store into an empty folder, onto the disk, and verify what is there."""
    log.copy_to(folder)
    with open(folder / "data.mdb", "rb+") as file:
        os.fsync(file.fileno())
    with LmdbLog(folder, create=False) as copy:
        found = verify(copy, progress=progress)
    (folder / "lock.mdb").unlink(missing_ok=True)
    return found


def _check_sound(target: Path, found: Verification) -> None:
    for finding in found.findings:
        raise StoreError(
            str(target),
            f"the copy is not sound ({finding.session} #{finding.seq}: {finding.problem})",
            "run 'refold verify' on the store",
        )
