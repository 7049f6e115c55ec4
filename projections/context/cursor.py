"""Where one stands in a session: at which leaf, as of which event."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Final, Literal

import msgspec

from eventstore.errors import CorruptionError, NotFoundError, no_event
from eventstore.event import Event, Flag
from eventstore.frame import decode, header_of, names_of
from eventstore.log import Snapshot


class _Root(Enum):
    ROOT = "root"


ROOT: Final = _Root.ROOT
"""The leaf before everything: an empty context."""

Leaf = str | None | Literal[_Root.ROOT]
"""An entry's id, None for where the session stands, or `ROOT`."""


class Standpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A leaf (its sequence number, 0 for the root) and the newest event that counts.

    `has_observed`: the session holds records that their harness changed after they were stored.
    """

    session: str
    leaf: int
    as_of: int
    has_observed: bool = False

    def at(self, leaf: int) -> Standpoint:
        """The same, standing at another entry, by its number."""
        return msgspec.structs.replace(self, leaf=leaf)


def stand(snapshot: Snapshot, session: str, *, leaf: Leaf = None, as_of: int | None = None) -> Standpoint:
    """The standpoint that a person means: by default the session's leaf, as of its newest event.

    Raises NotFoundError for a session, a leaf or a number that is not there, or was not yet.
    """
    head = snapshot.head(session)
    if as_of is None:
        as_of, newest_leaf = head.version, head.leaf
    elif 0 <= as_of <= head.version:
        newest_leaf = _leaf_as_of(snapshot, session, as_of)
    else:
        raise no_event(session, f"#{as_of}")
    at = Standpoint(session=session, leaf=newest_leaf, as_of=as_of, has_observed=bool(head.observed))
    if leaf is None:
        return at
    if leaf is ROOT:
        return at.at(0)
    seq = snapshot.locate(session, leaf)
    if not seq or seq > as_of:
        raise no_event(session, leaf)
    if header_of(snapshot.frame(session, seq)).flags & Flag.OFF_PATH:
        raise NotFoundError("entry", leaf, "this event is no node of the tree: name an entry")
    return at.at(seq)


def _leaf_as_of(snapshot: Snapshot, session: str, as_of: int) -> int:
    if not as_of:
        return 0
    head = header_of(snapshot.frame(session, as_of))
    return head.parent_seq if head.flags & Flag.OFF_PATH else as_of


def path(snapshot: Snapshot, at: Standpoint, *, first: int = 1) -> list[Event]:
    """The entries from the root to the leaf, those before number `first` left out."""
    return [decode(frame, at.session) for frame in snapshot.path(at.session, at.leaf, first=first)]


def newest_first(snapshot: Snapshot, at: Standpoint) -> Iterator[Event]:
    """The entries from the leaf to the root, each read when it is asked for. Raises CorruptionError."""
    seq = at.leaf
    while seq:
        entry = decode(snapshot.frame(at.session, seq), at.session)
        if entry.parent_seq >= seq:
            raise CorruptionError(at.session, seq, "its parent comes behind it")
        yield entry
        seq = entry.parent_seq


def entries_of(snapshot: Snapshot, at: Standpoint, kind: int) -> list[Event]:
    """The entries of one kind, by its code, from the root to the leaf; the others are not decoded."""
    frames = snapshot.path(at.session, at.leaf)
    return [decode(frame, at.session) for frame in frames if frame[1] == kind]


def entry_id(snapshot: Snapshot, session: str, seq: int) -> str | None:
    """The id of an entry by its number, None for 0, the root."""
    if not seq:
        return None
    frame = snapshot.frame(session, seq)
    return names_of(frame, header_of(frame))[0]
