"""Recognize the sessions of programs that refold asked for a summary or a reading."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from eventstore.errors import RefoldError
from eventstore.files.discovery import SessionFile
from eventstore.files.importing import import_sessions
from eventstore.harnesses.source import BEGINNING_BYTES
from eventstore.log import Snapshot
from eventstore.memory import MemoryLog
from projections.overview import working_folder

FOLDER: Final = "refold-ask-"
"""The beginning of the name of a program's empty folder; 8 random characters follow."""
_IN_FOLDER: Final = re.compile(rf"{FOLDER}[a-z0-9_-]{{8}}-*\Z")
"""The end of that folder's path, also as harnesses write it in names of their own folders."""


def is_asked(snapshot: Snapshot, session: str) -> bool:
    """Return True for a session that works in a folder which refold made for it."""
    return _IN_FOLDER.search(working_folder(snapshot, session)) is not None


def is_asked_file(file: SessionFile) -> bool:
    """Return True for a file of such a session, by the name of its folder or by what it records."""
    path = Path(file.path)
    if _IN_FOLDER.search(str(path.parent)) is not None:
        return True
    try:
        with path.open("rb") as opened:
            if FOLDER.encode() not in opened.read(BEGINNING_BYTES):
                return False
        # Somebody may only write about such a folder.
        log = MemoryLog()
        sessions = [each.id for each in import_sessions(log, path)]
        with log.snapshot() as snapshot:
            return all(is_asked(snapshot, each) for each in sessions)
    except (OSError, RefoldError):
        return False
