"""Select a session's events in opencode's database, and find where an earlier reading ended."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

import msgspec

from eventstore.harnesses.names import is_name
from eventstore.harnesses.opencode.session_records import Json, fields, fields_of, text

CREATED: Final = "session.created.1"
MESSAGE: Final = "message.updated.1"
PART: Final = "message.part.updated.1"
REMOVED: Final = "message.removed.1"
PART_REMOVED: Final = "message.part.removed.1"
_OF_MESSAGES: Final = (MESSAGE, PART, REMOVED, PART_REMOVED)
_FEW: Final = 24
"""Maximum messages to look for one by one: for more, a look at all events costs less."""
_PLAIN: Final = re.compile(r"[!#-\[\]-~]+", re.ASCII)
"""An id that JSON has as it is."""


class Row(NamedTuple):
    """An event as the database has it."""

    id: str
    seq: int
    type: str
    data: bytes


class EventRows(msgspec.Struct, frozen=True):
    """The events of a session, in a transaction; none if the database has no table of events."""

    database: sqlite3.Connection
    session: str
    has_events: bool = True

    def ends(self) -> tuple[Row | None, Row | None, int]:
        """Return the first and the last event, and their number."""
        if not self.has_events:
            return None, None, 0
        query = "SELECT count(*) FROM event WHERE aggregate_id = ?"
        (count,) = self.database.execute(query, (self.session,)).fetchone()
        return next(self.select(which="LIMIT 1"), None), next(self.select(which="DESC LIMIT 1"), None), count

    def select(self, where: str = "", *values: object, which: str = "") -> Iterator[Row]:
        """Yield events, oldest first; `which` is the end of the query."""
        rows = self.database.execute(
            f"SELECT id, seq, type, data FROM event WHERE aggregate_id = ? {where} ORDER BY seq {which}",  # noqa: S608  ours
            (self.session, *values),
        )
        for name, seq, kind, data in rows:
            if is_name(decoded(name)) and isinstance(seq, int):
                yield Row(decoded(name), seq, decoded(kind), data if isinstance(data, bytes) else b"")

    def known(self, is_known: Callable[[str], bool]) -> int:
        """Return how far an earlier reading came: the number of the first event that is not known.

        It read them in order, so half of those left are passed by at each look.
        """
        low, high = 0, next((row.seq for row in self.select(which="DESC LIMIT 1")), -1) + 1
        while low < high:
            middle = (low + high) // 2
            row = next(self.select("AND seq >= ?", middle, which="LIMIT 1"), None)
            if row is not None and is_known(row.id):
                low = row.seq + 1
            else:
                high = middle
        return low

    def before(self, since: int, new: Iterable[Row]) -> list[Row] | None:
        """Return the events before number `since` about the messages that new ones name.

        None stands for all: so if messages are taken back, which depends on the order of all.
        """
        names = set[str]()
        for row in new:
            if row.type == REMOVED:
                return None
            names |= _named(row)
        if "" in names:
            return None
        found: dict[int, Row] = {}
        left = names
        while left:
            if len(names) > _FEW or not all(map(_PLAIN.fullmatch, left)):
                return None
            where = f"AND seq < ? AND ({' OR '.join(['instr(data, ?)'] * len(left))})"
            rows = list(self.select(where, since, *left))
            # The summary that answers a question names it.
            left = (
                {text(info.get("id")) for info in map(_info, rows) if info.get("summary") is True}
                - names
                - {""}
            )
            names |= left
            found |= {row.seq: row for row in rows if subject(row) in names}
        return [found[seq] for seq in sorted(found)]

    def about_session(self, since: int) -> Row | None:
        """Return the newest event before number `since` that is about no message."""
        marks = ", ".join("?" * len(_OF_MESSAGES))
        return next(
            self.select(f"AND seq < ? AND type NOT IN ({marks})", since, *_OF_MESSAGES, which="DESC LIMIT 1"),
            None,
        )


def decoded(value: object) -> str:
    """Return the text of a column; "" for another value."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def _info(row: Row) -> Json:
    """Return what an event says of a message."""
    return fields(fields_of(row.data).get("info")) if row.type == MESSAGE else {}


def subject(row: Row) -> str:
    """Return the message that an event is about, "" for none."""
    data = fields_of(row.data)
    if row.type == MESSAGE:
        return text(fields(data.get("info")).get("id"))
    return text(fields(data.get("part")).get("messageID") if row.type == PART else data.get("messageID"))


def _named(row: Row) -> set[str]:
    data = fields_of(row.data)
    info, part = fields(data.get("info")), fields(data.get("part"))
    if row.type not in _OF_MESSAGES:
        return set()
    asked = info.get("parentID") if info.get("summary") is True else ""
    return {subject(row)} | {text(asked), text(part.get("tail_start_id"))} - {""}
