"""Find the reader of a harness's files and records.

To add a harness, write a module or folder here with its `Format` (`eventstore.harnesses.base`), one with its rules
(`projections.rules`), both named as the harness, and a line for its records in `eventstore.frame.FORMATS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from eventstore.errors import CorruptionError
from eventstore.event import OWN_FLAGS, Event, EventFacts, Flag, NewEvent, Parent, Place
from eventstore.frame import FORMATS, body_of
from eventstore.harnesses.base import Format
from eventstore.javascript import TooDeepError
from eventstore.log import Snapshot
from eventstore.node import Node

if TYPE_CHECKING:
    from eventstore.paths import LazyEvent

_REFOLD: Final = "refold"


@cache
def format_of(version: str) -> Format:
    """Return the format of records with this name, such as "pi/3". Raises KeyError."""
    its = harness(version.partition("/")[0])
    if version not in its.versions:
        raise KeyError(version)
    return its


@cache
def harness(name: str) -> Format:
    """Return a harness's format by name, such as "pi". Raises KeyError for an unknown one."""
    if name not in all_names():
        raise KeyError(name)
    # Imported on first use: commands load only the formats that they need.
    its: Format = import_module(f"{__name__}.{name.replace('-', '_')}").FORMAT
    return its


def all_names() -> tuple[str, ...]:
    """Return the names of all harnesses, and refold's own, the newest first.

    So one that extends another's files comes before it.
    """
    return tuple(dict.fromkeys(version.partition("/")[0] for version in reversed(FORMATS)))


def harnesses(first: str = "") -> Iterator[Format]:
    """Yield the formats of all harnesses, without refold's own, each loaded on demand."""
    names = sorted(all_names(), key=lambda name: name != first)
    return (harness(name) for name in names if name != _REFOLD)


def node_of(event: Event | LazyEvent, snapshot: Snapshot | None = None) -> Node:
    """Return what an event means.

    That of some harnesses' compactions is also in their parent's record, which is read from `snapshot`. Raises
    CorruptionError for a record that no reader can have read: somebody has put it into the store otherwise.
    """
    above = None if snapshot is None else _record_above(event, snapshot)
    try:
        return format_of(event.format).node(event.format, event.kind, event.body, above)
    except TooDeepError:
        raise
    except msgspec.DecodeError as error:
        raise CorruptionError(event.session, event.seq, f"its record cannot be read ({error})") from error


def _record_above(event: Event | LazyEvent, snapshot: Snapshot) -> bytes | None:
    """Return the record above a compaction, None for others."""
    if event.kind != "compaction" or not event.parent_seq:
        return None
    return bytes(body_of(snapshot.frame(event.session, event.parent_seq)))


def place_of(event: Event | NewEvent) -> Place:
    """Return what an event's record says of its place in the tree."""
    return format_of(event.format).place(event.format, event.id, event.body)


def as_new(event: Event, *, parent: str | Literal[Parent.LEAF] | None, target: str | None) -> NewEvent:
    """Return a stored event as a new one below `parent`; `target` is the id that it refers to."""
    own = OWN_FLAGS if parent is None and event.parent is None else OWN_FLAGS & ~Flag.ORPHAN
    return NewEvent(
        id=event.id,
        kind=event.kind,
        body=event.body,
        format=event.format,
        parent=parent,
        time=event.time,
        cause=event.cause,
        facts=EventFacts(
            role=event.role,
            message=event.message_span,
            utf16=event.utf16,
            utf8=event.utf8,
            target=target,
            flags=event.flags & own,
        ),
        place=place_of(event),
    )
