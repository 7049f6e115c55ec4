"""Store events append-only in LMDB; import and export harnesses' session files."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from eventstore.event import Event, NewEvent, Parent, epoch_milliseconds
from eventstore.files.exporting import export_original, export_session
from eventstore.files.importing import ImportResult, import_file, import_sessions
from eventstore.log import AppendResult, EventLog, Head, Snapshot
from eventstore.writing import SessionWriter

if TYPE_CHECKING:
    from eventstore.lmdb.environment import Durability
    from eventstore.lmdb.store import LmdbLog

__all__ = [
    "AppendResult",
    "Event",
    "EventLog",
    "Head",
    "ImportResult",
    "NewEvent",
    "Parent",
    "SessionWriter",
    "Snapshot",
    "export_original",
    "export_session",
    "import_file",
    "import_sessions",
    "open_store",
]


def open_store(
    path: str | os.PathLike[str],
    *,
    create: bool = True,
    clock: Callable[[], int] = epoch_milliseconds,
    durability: Durability = "each",
) -> LmdbLog:
    """Open the log in a folder, for use in a `with` block; with `create`, make it if needed.

    `clock` returns the epoch milliseconds at which events are recorded. With `durability` "batch", appends of
    several threads share a flush. A store whose files are read-only opens for reading. Raises StoreError,
    which says what is wrong with the folder and what to do.
    """
    from eventstore.lmdb.store import LmdbLog  # noqa: PLC0415  light until used

    return LmdbLog(path, create=create, clock=clock, durability=durability)
