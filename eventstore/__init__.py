"""Store events append-only in LMDB or PostgreSQL; read and write harnesses' session files.

The names that need formats are imported on first use, so that a program that only reads a store loads none.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from eventstore.addresses import is_postgres, without_password
from eventstore.errors import StoreError
from eventstore.event import Event, NewEvent, Parent, epoch_milliseconds
from eventstore.log import AppendResult, EventLog, Head, Snapshot, StoredLog

if TYPE_CHECKING:
    from eventstore.files.exporting import export_original, export_session
    from eventstore.files.importing import ImportResult, import_file, import_sessions
    from eventstore.lmdb.environment import Durability
    from eventstore.writing import SessionWriter

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
    "StoredLog",
    "export_original",
    "export_session",
    "import_file",
    "import_sessions",
    "is_store",
    "open_store",
]

_MODULES: Final = {
    "ImportResult": "eventstore.files.importing",
    "SessionWriter": "eventstore.writing",
    "export_original": "eventstore.files.exporting",
    "export_session": "eventstore.files.exporting",
    "import_file": "eventstore.files.importing",
    "import_sessions": "eventstore.files.importing",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def open_store(
    path: str | os.PathLike[str],
    *,
    create: bool = True,
    clock: Callable[[], int] = epoch_milliseconds,
    durability: Durability = "each",
    read_only: bool = False,
) -> StoredLog:
    """Open the log in a folder, or in PostgreSQL at an address that begins with `postgresql://`.

    It is for use in a `with` block. With `create`, make it if needed. `clock` returns the epoch milliseconds at
    which events are recorded. With `durability` "batch", appends of several threads share a flush; in PostgreSQL,
    none do. A store that this user may only read opens for reading. With `read_only`, nothing is to be made or
    appended, and opening a folder waits for no process that writes. Raises StoreError, which says what is wrong with
    the store and what to do.
    """
    if is_postgres(path):
        with _extra(path):
            from eventstore.postgres.postgres_log import PostgresLog  # noqa: PLC0415  an extra
        return PostgresLog(str(path), create=create and not read_only, clock=clock)
    from eventstore.lmdb.store import LmdbLog  # noqa: PLC0415  light until used

    return LmdbLog(path, create=create, clock=clock, durability=durability, read_only=read_only)


def is_store(path: str | os.PathLike[str]) -> bool:
    """Return True if a store is in a folder or at an address.

    Raises StoreError if the server or the folder cannot be asked.
    """
    if is_postgres(path):
        with _extra(path):
            from eventstore.postgres.schema import has_tables  # noqa: PLC0415  an extra
        return has_tables(str(path))
    from eventstore.lmdb.data_files import DATA_FILE, size_of_file  # noqa: PLC0415  light until used

    try:
        return size_of_file(os.path.join(path, DATA_FILE)) is not None  # noqa: PTH118  light
    except OSError as error:
        problem = f"cannot be opened ({error.strerror})"
        raise StoreError(os.fspath(path), problem, "check its permissions") from error


@contextmanager
def _extra(url: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise StoreError(
            without_password(str(url)),
            f"needs a package ({error.name or error})",
            "pip install 'refold[postgres]'",
        ) from error
