"""An event before it is stored (`NewEvent`) and after (`Event`); the clock and the ids where none are given."""

from __future__ import annotations

import secrets
import time
from enum import Enum, IntFlag
from typing import Final, Literal

import msgspec

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
"""Roles of messages as pi and oh-my-pi name them; the place is the code on disk: append only."""


class Parent(Enum):
    """Parents that are not named by an id."""

    LEAF = "leaf"
    """Wherever the session stands when the event is appended."""


class Flag(IntFlag):
    """Properties of an event that its frame holds as bits."""

    SETS_MODEL = 1
    """The record names the model in use from here on."""
    SETS_THINKING = 2
    """The record names the thinking level in use from here on."""
    ORPHAN = 4
    """The record names a parent that was not there; the event stands as a root."""
    MIGRATED_ROLE = 8
    """The record's role is one that its harness renames when it opens the file (pi: hookMessage)."""
    OFF_PATH = 16
    """Not a node of the tree; `parent` is where the session stood."""
    OVERLAID = 32
    """A rewrite or an undo lies on the path from the root to here: contexts must look for them."""
    REPLACED_TEXT = 64
    """The record is no valid UTF-8; its harness reads U+FFFD in place of what is not."""

    GIVES_TITLE = 128
    """The record gives the session a title, though its kind is not `session_info`."""


OWN_FLAGS: Final = (
    Flag.SETS_MODEL
    | Flag.SETS_THINKING
    | Flag.ORPHAN
    | Flag.MIGRATED_ROLE
    | Flag.REPLACED_TEXT
    | Flag.GIVES_TITLE
)
"""The flags that come with an event; the others come from where it stands."""


class EventFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts that a format reads out of a record once, when it is stored, so that no fold has to.

    `message` is the span (start, stop) in bytes of the message inside the body that a context shows as it
    stands there, (0, 0) where there is none, or the harness reads it otherwise. `utf16` and `utf8` are
    token estimates: UTF-16 units / 4 by pi's rule and UTF-8 bytes / 4 by oh-my-pi's. `target` is the id of
    the event that this one points at: the first kept entry of a compaction, what a label names, what an
    undo undoes. `needs_source`: the record names its target in a way that only its whole source resolves.
    """

    role: str = ""
    message: tuple[int, int] = (0, 0)
    utf16: int = 0
    utf8: int = 0
    target: str | None = None
    needs_source: bool = False
    flags: Flag = Flag(0)


class NewEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event to append. `time` is when it happened, in epoch milliseconds; None where nobody knows.

    `parent` is an id of the session, None for a root, or `Parent.LEAF`. For a kind that is off-path it
    is ignored. `format` names how `body` is to be read (`eventstore.formats`). `is_clocked`: the time is that of the
    clock where the event was made; sent again under its id, it may have another time and is the same event.
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


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """A stored event: immutable, owning its bytes.

    `parent` and `parent_seq` name the same event (None and 0 for a root; for an off-path event, where
    the session stood). The `*_seq` fields are sequence numbers in the session, 0 for none:
    `compaction_seq` the newest effective compaction at or above it on its own path, `model_seq` and
    `thinking_seq` the newest entries there that name model and thinking level, `target_seq` the event
    pointed at. `run_start` begins the run of consecutive numbers in which each is the child of the one
    before. `digest` is the session's chained digest up to here.
    """

    session: str
    seq: int
    position: int
    id: str
    parent: str | None
    parent_seq: int
    kind: str
    role: str
    time: int | None
    recorded: int
    cause: str
    format: str
    flags: Flag
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
        """True if the event is a node of the tree."""
        return Flag.OFF_PATH not in self.flags

    @property
    def message(self) -> bytes:
        """The message's JSON as it came, b"" where the event holds none that a context shows as it is."""
        start, stop = self.message_span
        return self.body[start:stop]


def epoch_milliseconds() -> int:
    """Return the time now."""
    return time.time_ns() // 1_000_000


def random_id() -> str:
    """Return eight random hex digits, as pi's ids are."""
    return secrets.token_hex(4)
