"""Read opencode's database: the events of a session, or the rows of its messages."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from eventstore.errors import BadInputError, NoSessionError
from eventstore.event import Event
from eventstore.harnesses.names import is_name, stored_id
from eventstore.harnesses.opencode.event_rows import CREATED, EventRows, Row, decoded
from eventstore.harnesses.opencode.event_table import EventReader
from eventstore.harnesses.opencode.related_sessions import child_links, origin, parent_links
from eventstore.harnesses.opencode.rows import Rows, joined
from eventstore.harnesses.opencode.session_records import (
    fields,
    fields_of,
    record_of,
    stamp,
    text,
    version_of,
)
from eventstore.harnesses.source import (
    DerivedEvent,
    KnownEvents,
    Piece,
    SessionReader,
    Source,
    SourceContents,
    SourceGrowth,
    SourceRecord,
    SourceRemark,
    SourceSession,
)
from eventstore.records import Resume

MAGIC: Final = b"SQLite format 3\0"
_TABLES: Final = frozenset({"session", "message", "part"})
_SESSION: Final = ("id", "parent_id", "directory", "title", "version", "time_created", "time_updated")
_BUSY_SECONDS: Final = 5.0
_AT_ONCE: Final = 2000 << 12
"""The time between a message and its first event, at most; see `stamp`."""
_NEVER: Final = 1 << 48
_MOVES: Final = b'"to":'


class OpencodeDatabase(SourceContents):
    """A database, whose rows change in place.

    Its tables of accounts and credentials are never read.
    """

    growth = SourceGrowth.ROWS
    passing: frozenset[str] = frozenset()

    def __init__(self, source: Source) -> None:
        """List the sessions.

        Raises NoSessionError for a database that is not opencode's, BadInputError for one that cannot be read.
        """
        self._path, self._name = os.fsdecode(source.path), source.name
        self._before: dict[tuple[object, ...], tuple[list[Row] | None, str]] = {}
        with self.transaction() as database:
            names = {
                name.decode()
                for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type='table'")
            }
            if not names >= _TABLES:
                raise NoSessionError(source.name, "has no sessions of opencode", "name its opencode.db")
            self.has_events = "event" in names
            there = {row[1].decode() for row in database.execute("PRAGMA table_info(session)")}
            columns = ", ".join(name if name in there else f"NULL AS {name}" for name in _SESSION)
            rows = database.execute(f"SELECT {columns} FROM session ORDER BY time_created, id")  # noqa: S608  ours
            self.rows = {name: info for info in map(_info, rows) if is_name(name := text(info.get("id")))}
        self.sessions: Sequence[SourceSession] = [
            SourceSession(name=name, format=version_of(info["version"]), header=_encoded(info))
            for name, info in self.rows.items()
        ]

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Open the database to read one state of it. Raises BadInputError if that fails."""
        uri = f"file:{quote(str(Path(self._path).absolute()))}?mode=ro"
        try:
            with closing(
                sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
            ) as database:
                database.text_factory = bytes
                database.execute("BEGIN")
                yield database
        except sqlite3.Error as error:
            raise BadInputError(
                self._name, f"cannot be read ({error})", "try again; or export the session"
            ) from error

    def before(self, rows: EventRows, since: int, new: Sequence[Row]) -> tuple[list[Row] | None, str]:
        """Return what `EventRows.before` does, and the session's title then."""
        # An import reads twice, and this looks at all events.
        key = (rows.session, since, *(row.id for row in new))
        if key not in self._before:
            about = rows.about_session(since)
            title = text(fields(fields_of(about.data).get("info")).get("title")) if about else ""
            self._before[key] = rows.before(since, new), title
        return self._before[key]

    def read(self, resume: Resume, known: KnownEvents) -> SessionReader:  # noqa: ARG002  the log says what is new
        return _Reader(self, known)


def _info(row: Sequence[Any]) -> dict[str, Any]:
    """Return what the row of a session says, as an export does."""
    found = dict(zip(_SESSION, (_text(each) for each in row), strict=True))
    times = {"created": found.pop("time_created"), "updated": found.pop("time_updated")}
    parent = found.pop("parent_id")
    return {**found, **({"parentID": parent} if parent else {}), "time": times}


def _text(value: object) -> object:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _encoded(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


class _Reader(SessionReader):
    def __init__(self, database: OpencodeDatabase, known: KnownEvents) -> None:
        self._database, self._known = database, known
        self._line = 1
        self._counts: dict[int, int] = {}
        self._resumed: dict[int, int] = {}
        self._places = {session.name: place for place, session in enumerate(database.sessions)}

    @property
    def line(self) -> int:
        return self._line

    def records(self, session: int) -> int:
        return self._counts.get(session, 0)

    def resumed(self, session: int) -> int:
        return self._resumed.get(session, 0)

    def pieces(self) -> Iterator[Piece]:
        for place, session in enumerate(self._database.sessions):
            with self._database.transaction() as database:
                found = list(self._session(database, place, session))
            # A transaction that is open while the log commits would hold up opencode's own.
            yield from found

    def _session(self, database: sqlite3.Connection, place: int, session: SourceSession) -> Iterator[Piece]:
        name, info = session.name, self._database.rows[session.name]
        rows = EventRows(database, name, self._database.has_events)
        first, last, self._counts[place] = rows.ends()
        is_whole = first is not None and first.seq == 0 and first.type == CREATED
        if is_whole and last is not None and self._is_known(place, last.id):
            return
        self._line = 1
        yield from parent_links(info, place, self._known)
        reader = EventReader(session.format)
        yield from self._fork(database, place, info)
        if not is_whole:
            for piece in self._rows(database, session, first):
                if isinstance(piece, SourceRecord):
                    self._counts[place] += 1
                    reader.begin_with(record_of(piece.event.body), piece.event)
                yield piece
        if first is None:
            return
        for row, event in reader.events(
            self._unread(rows, place, reader) if is_whole else list(rows.select())
        ):
            self._line += 1
            if event is None:
                yield SourceRemark(
                    "differs", self._line, f"the data of event {row.id!r} cannot be read", place
                )
            elif not self._is_known(place, event.id):
                yield SourceRecord(event, session=place, line=self._line)
                yield from child_links(name, place, event.id, record_of(event.body).parts, self._places)

    def _unread(self, rows: EventRows, place: int, reader: EventReader) -> list[Row]:
        """Return the events that no earlier reading had; take `reader` behind the others.

        Those before them are all returned, too, if what they mean depends on too many of them.
        """
        since = rows.known(lambda name: self._is_known(place, name))
        new = list(rows.select("AND seq >= ?", since))
        before, title = self._database.before(rows, since, new) if since else (None, "")
        if before is None:
            return list(rows.select())
        for row in before:
            if (event := self._stored(place, row)) is not None:
                reader.go_past(row, event)
        first, last = (
            filter(None, (self._stored(place, row) for row in rows.select("AND seq < ?", since, which=order)))
            for order in ("", "DESC")
        )
        reader.go_on(_tip(last), next((event.id for event in first if event.is_entry), ""), title)
        self._line += since
        self._resumed[place] = self._line + 1
        return new

    def _stored(self, place: int, row: Row) -> Event | None:
        """Return what an earlier reading made of an event, None if it could not read it."""
        return self._known.event(self._known.name(place), stored_id(row.id))

    def _is_known(self, place: int, event_id: str) -> bool:
        return self._known.has(place, stored_id(event_id))

    def _rows(
        self, database: sqlite3.Connection, session: SourceSession, first: Row | None
    ) -> Iterator[Piece]:
        """Yield the messages of a session from before its `first` event."""
        since = stamp(first.id) - _AT_ONCE if first else _NEVER
        parts: dict[bytes, list[bytes]] = {}
        where = "WHERE session_id = ? ORDER BY"
        for name, message, data in database.execute(
            f"SELECT id, message_id, data FROM part {where} id",  # noqa: S608  ours
            (session.name,),
        ):
            ids = _encoded({"id": decoded(name), "sessionID": session.name, "messageID": decoded(message)})
            parts.setdefault(_bytes(message), []).append(_spliced(ids, _bytes(data)))
        bodies = [
            joined(
                _spliced(_encoded({"id": decoded(name), "sessionID": session.name}), _bytes(data)),
                parts.get(_bytes(name), ()),
            )
            for name, data in database.execute(
                f"SELECT id, data FROM message {where} time_created, id",  # noqa: S608  ours
                (session.name,),
            )
            if stamp(decoded(name)) < since
        ]
        info = self._database.rows[session.name]
        rows = Rows(session, self._places)
        yield rows.header(_encoded(info), self._line)
        yield from rows.messages(bodies, self._line)
        self._line += len(bodies)

    def _fork(self, database: sqlite3.Connection, place: int, info: Mapping[str, Any]) -> Iterator[Piece]:
        """Yield the link of a fork to its original, which has a message of the same time.

        A fork's copies have ids of their own, and are made before anything else; its messages up to there are older
        than the session.
        """
        created = info["time"]["created"]
        copied = database.execute(
            "SELECT max(time_created), min(time_created) FROM message WHERE session_id = ? AND time_created < ?",
            (info["id"], created),
        ).fetchone()
        if copied is None or copied[0] is None:
            return
        last, first = copied
        original = database.execute(
            "SELECT one.session_id, other.id FROM message one JOIN message other ON other.session_id = one.session_id"
            " WHERE one.time_created = ? AND other.time_created = ? AND one.session_id != ?"
            " ORDER BY one.session_id DESC, other.id DESC LIMIT 1",
            (first, last, info["id"]),
        ).fetchone()
        if original is not None:
            yield DerivedEvent(origin("fork", decoded(original[0])), session=place)


def _tip(events: Iterable[Event]) -> str | None:
    """Return the entry that events lead to, the newest first; None for none."""
    for event in events:
        if event.is_entry:
            return event.id
        to = fields_of(event.body).get("to") if _MOVES in event.body else None
        if isinstance(to, str):
            return to or None
    return None


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else b""


def _spliced(ids: bytes, data: bytes) -> bytes:
    """Put ids in front of the fields of a row's data, as an export does."""
    data = data.strip()
    if not fields_of(data):
        return ids
    return ids[:-1] + b"," + data[1:].lstrip()
