"""A cursor in a session: a leaf, as of an event."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Final, Literal

import msgspec

from eventstore import paths
from eventstore.errors import no_event
from eventstore.event import Event
from eventstore.log import Snapshot
from eventstore.paths import find_entry


class _Root(Enum):
    ROOT = "root"


ROOT: Final = _Root.ROOT
"""The position before the first entry: an empty context."""

Leaf = str | None | Literal[_Root.ROOT]
"""An entry's id, None for the session's current leaf, or `ROOT`."""


class Cursor(msgspec.Struct, frozen=True, kw_only=True):
    """A position in a session.

    `leaf` is the sequence number of an entry, 0 for the root. `as_of` is the number of the newest event that
    counts. `has_observed`: the session holds records that their harness changed after they were stored.
    """

    session: str
    leaf: int
    as_of: int
    has_observed: bool = False

    def at_leaf(self, leaf: int) -> Cursor:
        """Return the same cursor at another entry, given by its number."""
        return msgspec.structs.replace(self, leaf=leaf)


def resolve_cursor(
    snapshot: Snapshot, session: str, *, leaf: Leaf = None, as_of: int | None = None
) -> Cursor:
    """Return a cursor, by default at the session's current leaf and as of its newest event.

    Raises NotFoundError if the session, the leaf or the event number does not exist, or did not yet exist at
    `as_of`.
    """
    head = snapshot.head(session)
    if as_of is None:
        as_of, newest_leaf = head.version, head.leaf
    elif 0 <= as_of <= head.version:
        newest_leaf = _leaf_as_of(snapshot, session, as_of)
    else:
        raise no_event(session, f"#{as_of}")
    cursor = Cursor(session=session, leaf=newest_leaf, as_of=as_of, has_observed=bool(head.observed))
    if leaf is None:
        return cursor
    if leaf is ROOT:
        return cursor.at_leaf(0)
    return cursor.at_leaf(find_entry(snapshot, session, leaf, as_of=as_of))


def _leaf_as_of(snapshot: Snapshot, session: str, as_of: int) -> int:
    if not as_of:
        return 0
    newest = paths.event(snapshot, session, as_of)
    return as_of if newest.is_entry else newest.parent_seq


def path(snapshot: Snapshot, cursor: Cursor, *, first: int = 1) -> list[Event]:
    """Return the entries from the root to the leaf, without those before number `first`."""
    return [entry.decode() for entry in paths.path(snapshot, cursor.session, cursor.leaf, first=first)]


def newest_first(snapshot: Snapshot, cursor: Cursor) -> Iterator[Event]:
    """Yield the entries from leaf to root, reading each on demand. Raises CorruptionError."""
    return (entry.decode() for entry in paths.upward(snapshot, cursor.session, cursor.leaf))
