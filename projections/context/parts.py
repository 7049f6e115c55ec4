"""The parts of a context: its messages, and how each stands to the event that it comes from."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from eventstore.estimates import estimates
from eventstore.event import ROLES
from eventstore.formats import view_of_message
from eventstore.frame import Buffer
from projections.settings import Settings, encoded


class Fate(StrEnum):
    """How an event stands in a context."""

    KEPT = "kept"
    """Its own message, as recorded."""
    REWRITTEN = "rewritten"
    """Its message, with content that a rewrite shows otherwise."""
    SUMMARY = "summary"
    """A summary of what is no longer there."""
    INJECTED = "injected"
    """A message that the harness makes of an entry that is none, or appends to go on after a compaction."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a context and the event it comes from.

    `raw` is the message's JSON in its harness's shape. `utf16` and `utf8` are token estimates of it. `continues`: its
    event goes on after a compaction (`is_continuation`), so that no person said it, however it is shown.
    """

    seq: int
    id: str
    kind: str
    role: str
    fate: Fate
    raw: bytes
    utf16: int
    utf8: int
    continues: bool = False

    def shown_otherwise(self, raw: bytes) -> Part:
        """The same entry's part with what a rewrite makes of its message."""
        role, utf16, utf8 = told_of(raw, self.role)
        return msgspec.structs.replace(self, raw=raw, role=role, fate=Fate.REWRITTEN, utf16=utf16, utf8=utf8)


def told_of(raw: bytes, role: str) -> tuple[str, int, int]:
    """The role of a message that is not the event's own, and its estimates; `role` where its own is unknown."""
    view = view_of_message(raw)
    return (view.role if view.role in ROLES else role, *estimates(view))


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is sent at a leaf (None: the root): messages in order, model, thinking level."""

    session: str
    leaf: str | None
    as_of: int
    rules: str
    parts: tuple[Part, ...]
    settings: Settings

    def pi_json(self) -> bytes:
        """What pi's `buildSessionContext` gives, as JSON: `messages`, `thinkingLevel`, `model`."""
        return pi_json([part.raw for part in self.parts], encoded(self.settings))


def pi_json(messages: list[Buffer], settings: bytes) -> bytes:
    """The JSON of a pi context: messages and the settings' JSON, spliced together as they are. Uses the list up."""
    opened = b'{"messages":['
    closed = b"]," + settings[1:]
    if not messages:
        return opened + closed
    # One join, so that the bytes of the messages are copied once.
    messages[0] = opened + messages[0]
    messages[-1] = bytes(messages[-1]) + closed
    return b",".join(messages)
