"""Keep a full-text index of a log in SQLite: a projection that may be deleted any time."""

from __future__ import annotations

import os
import sqlite3
import struct
import time
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from eventstore.errors import CorruptionError, StoreError
from eventstore.harnesses import node_of
from eventstore.log import EventLog, Progress, Snapshot
from eventstore.paths import LazyEvent, event
from projections.search.words import divided_names, normalized, text_of_node

INDEX_FILE: Final = "search.sqlite"
_VERSION: Final = 1
"""The version of the tables and of the texts in them; increase it when either changes."""
_BATCH: Final = 8 << 20
"""Maximum characters indexed in one transaction; an event counts at least `_LEAST`."""
_LEAST: Final = 512
"""Characters that an event counts for at least, so that a batch of small ones ends too."""
_PATIENCE: Final = 120
"""Seconds to wait for another process that writes a batch."""
_PAUSE: Final = 0.01
"""Seconds between two attempts to open an index that others lock."""
_PRIVATE: Final = 0o600
_BESIDE: Final = ("", "-wal", "-shm")
_OF_DAMAGE: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_ERRORS: Final = (sqlite3.Error, UnicodeDecodeError)
"""Errors of SQLite: a message that quotes damaged text is none that Python can decode."""
_TABLES: Final = ("texts", "events", "sessions", "state")
_SCHEMA: Final = (
    # Only the index is stored: texts are read from the log. The names in `names` are divided at capitals. The tokenizer
    # `trigram` would find any part of a word, but in real sessions its index is seven times as large and takes ten
    # times as long; words alone, with divided names, find 96% of the events that it finds for "model".
    "CREATE VIRTUAL TABLE texts USING fts5(text, names, content='', tokenize='ascii')",
    "CREATE TABLE events (position INTEGER PRIMARY KEY, session INTEGER, seq INTEGER, time INTEGER)",
    "CREATE TABLE sessions (number INTEGER PRIMARY KEY, name TEXT UNIQUE, seq INTEGER, digest BLOB)",
    "CREATE TABLE state (position INTEGER)",
    "INSERT INTO state VALUES (0)",
    f"PRAGMA user_version = {_VERSION}",
)


@contextmanager
def open_index(
    log: EventLog,
    folder: str | os.PathLike[str] | None,
    progress: Progress = lambda _done, _total: None,
) -> Iterator[FullTextIndex]:
    """Open the index in a store's folder, and update it from the log. Raises StoreError.

    Where the folder cannot be written or has no room, or for None, the index is temporary: SQLite keeps it in
    memory and in temporary files, and deletes it at the end. A damaged index is made again.
    """
    path = _writable(folder)
    try:
        try:
            index = _caught_up(path, log, progress)
        except _ERRORS as error:
            if path and _code(error) in _OF_DAMAGE:
                _remove(path)
            elif path and _code(error) == sqlite3.SQLITE_FULL:
                path = ""
            else:
                raise
            index = _caught_up(path, log, progress)
        with closing(index):
            yield index
    except _ERRORS as error:
        if path and _code(error) in _OF_DAMAGE:
            _remove(path)
        problem = f"the search index cannot be used ({error})"
        raise StoreError(path or "search", problem, _remedy(error, path)) from error


def _caught_up(path: str, log: EventLog, progress: Progress) -> FullTextIndex:
    """Open an index and bring it up to date; try again while others lock it.

    SQLite does not wait by itself when several programs create the file at once, or while the last one that has it
    open closes it.
    """
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            return _caught_up_once(path, log, progress)
        except sqlite3.OperationalError as error:
            if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(_PAUSE)


def _caught_up_once(path: str, log: EventLog, progress: Progress) -> FullTextIndex:
    index = FullTextIndex(path)
    try:
        index.catch_up(log, progress)
    except BaseException:
        index.close()
        raise
    return index


def _remedy(error: Exception, path: str) -> str:
    if "fts5" in str(error):
        return "use a Python whose SQLite has FTS5"
    if _code(error) == sqlite3.SQLITE_FULL:
        return "free some space for temporary files"
    return f"search again; if that fails, remove {path}: it will be made again" if path else "search again"


def _code(error: Exception) -> int:
    """Return SQLite's primary code of an error, 0 if it is Python's own."""
    if isinstance(error, UnicodeDecodeError):
        return sqlite3.SQLITE_CORRUPT
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def remove_index(folder: str | os.PathLike[str]) -> None:
    """Remove the index of the store in a folder; the next search makes it again. Raises OSError."""
    _remove(os.path.join(folder, INDEX_FILE))  # noqa: PTH118  SQLite takes texts


def _remove(path: str) -> None:
    for end in _BESIDE:
        Path(path + end).unlink(missing_ok=True)


def _writable(folder: str | os.PathLike[str] | None) -> str:
    """Return the path of the index's file, private if new; "" if it cannot be written."""
    if folder is None or not os.access(folder, os.W_OK):
        return ""
    path = os.path.join(os.path.abspath(folder), INDEX_FILE)  # noqa: PTH118  SQLite takes texts
    try:
        # SQLite gives its other files the rights of this one.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, _PRIVATE))
    except OSError:
        return ""
    return path


def _contents(found: LazyEvent, snapshot: Snapshot) -> tuple[str, int | None, bytes]:
    """Return text, time and digest of an event."""
    # One that somebody put into the store must not end the search in all others.
    try:
        return text_of_node(node_of(found, snapshot)), found.time, found.digest
    except CorruptionError:
        return found.body.decode("utf-8", "replace"), found.time, found.digest
    except (IndexError, struct.error):
        return "", None, b""


def _text(name: str) -> str:
    """Return a session's name as SQLite takes it: a damaged one may be no text."""
    return name.encode("utf-8", "replace").decode()


class FullTextIndex:
    """An open index; its position in the log is stored in the same transaction as its rows."""

    def __init__(self, path: str) -> None:
        self._db = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
        try:
            # A search can read while another writes.
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._number("PRAGMA user_version")
        except BaseException:
            self._db.close()
            raise

    def close(self) -> None:
        """Close the index."""
        self._db.close()

    def catch_up(self, log: EventLog, progress: Progress) -> None:
        """Index the events that are new since the last time, in batches.

        An index that does not describe the log, because the store was restored or replaced, is made again.
        """
        with self._transaction("BEGIN"):
            # The index is read first: what others index meanwhile is in the log already when it is read.
            position = self._position()
            with log.snapshot() as snapshot:
                total = max((head.position for head in snapshot.heads()), default=0)
                is_sound = self._describes(snapshot, position)
        while not is_sound or position < total:
            if position:
                progress(position, total)
            with self._transaction("BEGIN IMMEDIATE"):
                position = self._position()
                with log.snapshot() as snapshot:
                    if not is_sound and not self._describes(snapshot, position):
                        position = self._clear()
                    is_sound = True
                    position = self._extend(snapshot, position)

    def find(self, expression: str, sessions: Collection[str] | None = None) -> Iterator[tuple[str, int]]:
        """Return the session and number of each matching event, those with the newest time first.

        The index is read before this returns. `sessions` are those to search, None for all.
        """
        sql = (
            "SELECT sessions.name, events.seq FROM texts"
            " JOIN events ON events.position = texts.rowid"
            " JOIN sessions ON sessions.number = events.session"
            " WHERE texts MATCH ?"
        )
        if sessions is not None:
            self._db.execute("CREATE TEMP TABLE IF NOT EXISTS chosen (name TEXT PRIMARY KEY)")
            self._db.execute("DELETE FROM chosen")
            self._db.executemany(
                "INSERT OR IGNORE INTO chosen VALUES (?)", ((_text(name),) for name in sessions)
            )
            sql += " AND sessions.name IN (SELECT name FROM chosen)"
        return self._db.execute(f"{sql} ORDER BY events.time DESC, events.position DESC", (expression,))

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        self._db.execute(begin)
        try:
            yield
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def _number(self, sql: str) -> int:
        (found,) = self._db.execute(sql).fetchone()
        return int(found)

    def _position(self) -> int:
        """Return the last indexed position of the log, 0 for a new or outdated index."""
        is_current = self._number("PRAGMA user_version") == _VERSION
        return self._number("SELECT position FROM state") if is_current else 0

    def _describes(self, snapshot: Snapshot, position: int) -> bool:
        """Return True if the log's events up to a position are exactly those that were indexed.

        The chained digest of the newest indexed event of each session covers those before it.
        """
        if not position:
            return self._number("PRAGMA user_version") == _VERSION
        indexed, heads = 0, {head.name: head for head in snapshot.heads()}
        for name, seq, digest in self._db.execute("SELECT name, seq, digest FROM sessions"):
            head = heads.get(name)
            if head is not None and not head.version:
                # A damaged head says nothing, and its session stays searchable.
                indexed += seq
                continue
            if head is None or seq > head.version:
                return False
            found = head if seq == head.version else event(snapshot, name, seq)
            if found.digest != digest or found.position > position:
                return False
            indexed += seq
        return indexed == position

    def _clear(self) -> int:
        for table in _TABLES:
            self._db.execute(f"DROP TABLE IF EXISTS {table}")
        for each in _SCHEMA:
            self._db.execute(each)
        return 0

    def _extend(self, snapshot: Snapshot, position: int) -> int:
        """Index a batch of events after a position, and return the new one."""
        size, newest = 0, dict[str, tuple[int, bytes]]()
        numbers = dict(self._db.execute("SELECT name, number FROM sessions"))
        for item in snapshot.feed(position):
            found = LazyEvent(item.frame, item.session)
            text, time, digest = _contents(found, snapshot)
            normal = normalized(text)
            name = _text(item.session)
            number = numbers.setdefault(name, len(numbers) + 1)
            row = (item.position, number, item.seq, time)
            self._db.execute("INSERT INTO events VALUES (?, ?, ?, ?)", row)
            self._db.execute(
                "INSERT INTO texts (rowid, text, names) VALUES (?, ?, ?)",
                (item.position, normal, divided_names(normal)),
            )
            newest[name] = item.seq, digest
            position = item.position
            size += max(len(normal), _LEAST)
            if size >= _BATCH:
                break
        self._db.executemany(
            "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?)",
            ((numbers[name], name, seq, digest) for name, (seq, digest) in newest.items()),
        )
        self._db.execute("UPDATE state SET position = ?", (position,))
        return position
