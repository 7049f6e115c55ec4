"""What may be appended: names that can be keys, and what counts as the same event sent again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from eventstore.depth import DEEPEST_RECORD, is_deeper
from eventstore.errors import BadInputError, VersionConflictError
from eventstore.event import Event, NewEvent, Parent
from eventstore.frame import FORMATS
from eventstore.kinds import is_entry
from eventstore.log import Expected

LONGEST_SESSION_NAME: Final = 480
"""In UTF-8 bytes; LMDB keys hold 511."""
_LONGEST_NAME: Final = 0xFFFF
_LATEST: Final = 8_640_000_000_000_000
"""The last millisecond that is a date, by ECMAScript, whose dates imported times are."""


def check_events(session: str, events: Sequence[NewEvent]) -> None:
    """Raise BadInputError for a session name, or an event that cannot be stored."""
    if not 0 < _size(session) <= LONGEST_SESSION_NAME:
        raise BadInputError(
            f"session {session[:40]!r}",
            f"a session's name has 1 to {LONGEST_SESSION_NAME} bytes of UTF-8",
            "choose another name",
        )
    for event in events:
        for what, name in (("id", event.id), ("kind", event.kind)):
            if not 0 < _size(name) <= _LONGEST_NAME:
                raise BadInputError(
                    f"session {session!r}, event {event.id[:40]!r}",
                    f"its {what} has to have 1 to {_LONGEST_NAME} bytes of UTF-8",
                    f"give it another {what}",
                )
        if not 0 <= _size(event.cause) <= _LONGEST_NAME:
            raise BadInputError(
                f"session {session!r}, event {event.id!r}",
                f"its cause has to have at most {_LONGEST_NAME} bytes of UTF-8",
                "give it another cause",
            )
        # Those of other formats have been read from files, or are copied from where they were stored before.
        if event.format == FORMATS[0] and is_entry(event.kind) and is_deeper(event.body, DEEPEST_RECORD):
            raise BadInputError(
                f"session {session!r}, event {event.id!r}",
                f"its record is nested deeper than {DEEPEST_RECORD} levels",
                "put what is deeper into it as a text",
            )
        if event.time is not None and abs(event.time) > _LATEST:
            raise BadInputError(
                f"session {session!r}, event {event.id!r}",
                f"its time, {event.time}, is no date in epoch milliseconds",
                "give it its time, or None",
            )
        if event.format not in FORMATS:
            raise BadInputError(
                f"session {session!r}, event {event.id!r}",
                f"unknown format {event.format!r}",
                f"use one of {', '.join(FORMATS)}",
            )


def _size(name: str) -> int:
    """Bytes of UTF-8, -1 where there is no such encoding (a lone surrogate)."""
    try:
        return len(name.encode())
    except UnicodeEncodeError:
        return -1


def check_expected(session: str, expected: Expected, version: int) -> None:
    """Raise VersionConflictError unless a session at `version` (0: not there) is as expected."""
    if expected != "any" and version != (0 if expected == "new" else expected):
        raise VersionConflictError(session, expected, version)


def is_same(new: NewEvent, stored: Event | NewEvent) -> bool:
    """Return True if an event is one that is there already: what its writer left open does not set them apart."""
    return (
        new.body == stored.body
        and new.kind == stored.kind
        and (new.is_clocked or new.time == stored.time)
        and new.format == stored.format
        and new.cause == stored.cause
        and (new.parent is Parent.LEAF or not is_entry(new.kind) or new.parent == stored.parent)
    )
