"""Define events before and after storing (`NewEvent`, `Event`), and default clock and ids."""

from __future__ import annotations

import os
import time
from enum import Enum, IntEnum
from typing import Final, Literal

import msgspec

from eventstore.records import FORMAT

ROLES: Final = (
    "",
    "user",
    "assistant",
    "toolResult",
    "bashExecution",
    "custom",
    "branchSummary",
    "compactionSummary",
    "hookMessage",
    "developer",
    "pythonExecution",
    "fileMention",
    "other",
)
"""Roles of messages in pi and oh-my-pi; the index is the code on disk: append only."""


class Parent(Enum):
    """Parents that are not given by an id."""

    LEAF = "leaf"
    """The session's leaf at the time of the append."""


# Not an IntFlag: combining two of its members takes half a microsecond.
class Flag(IntEnum):
    """Properties of an event, stored as bits of its frame; their sums are plain integers."""

    SETS_MODEL = 1
    """The record sets the model in use."""
    SETS_THINKING = 2
    """The record sets the thinking level in use."""
    ORPHAN = 4
    """The record names a missing parent; the event is a root."""
    MIGRATED_ROLE = 8
    """The harness renames the record's role when it opens the file (pi: hookMessage)."""
    OFF_PATH = 16
    """The event is not in the tree; `parent` is the session's leaf at that time."""
    OVERLAID = 32
    """A rewrite or undo is on the path from the root to here; contexts must apply it."""
    REPLACED_TEXT = 64
    """The record is not valid UTF-8; its harness reads U+FFFD for invalid bytes."""
    GIVES_TITLE = 128
    """The record sets the session's title, though its kind is not `session_info`."""


OWN_FLAGS: Final = (
    Flag.SETS_MODEL
    | Flag.SETS_THINKING
    | Flag.ORPHAN
    | Flag.MIGRATED_ROLE
    | Flag.REPLACED_TEXT
    | Flag.GIVES_TITLE
)
"""The flags that come with an event; the others depend on its place."""


class EventFacts(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Facts that a format extracts from a record once, when it is stored.

    `message` is the byte span (start, stop) in the body of a message that contexts show unchanged, (0, 0) if
    there is none or the harness reads it differently. `utf16` and `utf8` are token estimates: UTF-16 units /
    4 by pi's rule and UTF-8 bytes / 4 by oh-my-pi's. `target` is the id of the event that this one refers to:
    a compaction's first kept entry, a label's entry, an undo's event. `needs_source` means that only the
    whole source resolves the record's target. `flags` is a sum of `Flag`s.
    """

    role: str = ""
    message: tuple[int, int] = (0, 0)
    utf16: int = 0
    utf8: int = 0
    target: str | None = None
    needs_source: bool = False
    flags: int = 0


MAX_RECORD_BYTES: Final = 256 << 20
"""The largest record, which a store has in memory as a whole."""


class Absent(Enum):
    """The fates of a record whose parent is not there."""

    REFUSED = "refused"
    """It is not stored: refold's own records name entries of their session."""
    ROOT = "root"
    """It begins a tree of its own, until its parent comes."""
    PREVIOUS = "previous"
    """It continues from the newest record of its harness, until its parent comes."""


class KeptMessages(msgspec.Struct, frozen=True):
    """The messages that a compaction keeps, by its boundary.

    Either `ids` lists them, or they are the run from `first` to `last`. `before` means before the summary. `removed`
    are the ids that the boundary takes out again; `ids` is without them.
    """

    ids: tuple[str, ...] | None
    first: str
    last: str
    before: bool
    removed: frozenset[str] = frozenset()


class Place(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A record's say about its place in the tree, apart from the parent that it names.

    `absent` tells what becomes of it if its parent is not there. One that names no parent is a root, or `continues`
    from the newest record of its harness. It may stand for another record from here on: for the one that was `named`
    like it before, or for its own parent (`stands_in`). `is_boundary`: the next compaction is its summary, which is
    below it and keeps `kept`; what continues from one of these continues from the summary. `moves_to` is the id of the
    entry where the session stands from here on, "" for none; with `drops`, it is the one above so many of the newest
    messages of users.
    """

    absent: Absent = Absent.REFUSED
    continues: bool = False
    named: str = ""
    stands_in: bool = False
    is_boundary: bool = False
    kept: KeptMessages | None = None
    moves_to: str = ""
    drops: int = 0


OWN_PLACE: Final = Place()
"""The place of refold's own records."""


class NewEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An event to append. `time` is in epoch milliseconds, None if unknown.

    `parent` is an id as written, None for none, or `Parent.LEAF`; off-path kinds ignore it. `place` is what else the
    record says of its place, None to read it from the body. `format` says how to read `body` (`eventstore.harnesses`).
    `is_clocked` means that the time is the clock's at creation: the same event may be sent again under its id with
    another time.
    """

    id: str
    kind: str
    body: bytes
    format: str
    parent: str | Literal[Parent.LEAF] | None = Parent.LEAF
    time: int | None = None
    is_clocked: bool = False
    cause: str = ""
    facts: EventFacts = EventFacts()
    place: Place | None = None


# Thousands per session and never in a cycle, so keep them out of garbage collection.
class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A stored event: immutable, and a copy of its bytes.

    `parent` and `parent_seq` are the same event (None and 0 for a root); an event off the path has no `parent`, and the
    session's leaf at that time as `parent_seq`. `written_parent` is the id that the record names. The `*_seq` fields
    are sequence numbers in the session, 0 for none: `compaction_seq` is the newest compaction in effect at or above it
    on its path, `model_seq` and `thinking_seq` the newest entries there that set model and thinking level, `target_seq`
    the event referred to. `run_start` begins the run of consecutive numbers in which each event is the child of the one
    before. `digest` is the session's chained digest up to here.
    """

    session: str
    seq: int
    position: int
    id: str
    parent: str | None
    written_parent: str | None
    parent_seq: int
    kind: str
    role: str
    time: int | None
    recorded: int
    cause: str
    format: str
    flags: int
    utf16: int
    utf8: int
    run_start: int
    compaction_seq: int
    model_seq: int
    thinking_seq: int
    target_seq: int
    message_span: tuple[int, int]
    digest: bytes
    body: bytes

    @property
    def is_entry(self) -> bool:
        """True if the event is in the tree."""
        return not self.flags & Flag.OFF_PATH

    @property
    def is_own(self) -> bool:
        """True if refold, or a harness through it, wrote the event; False if it came from a file."""
        return self.format == FORMAT

    @property
    def message(self) -> bytes:
        """The message's JSON as recorded, b"" if contexts show none unchanged."""
        start, stop = self.message_span
        return self.body[start:stop]


def epoch_milliseconds() -> int:
    """Return the current time in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def random_id() -> str:
    """Return eight random hex digits, like pi's ids."""
    return os.urandom(4).hex()
