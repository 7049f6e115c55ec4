"""The formats of bodies, and the session files that refold reads.

Adding a harness: a module that reads its files, one that reads its records, a line in each table here,
its name in `eventstore.frame.FORMATS`.
"""

from __future__ import annotations

from eventstore.event import Event, Facts
from eventstore.formats.pi.entry import entry_of, facts_of, message_of
from eventstore.formats.pi.message import message_view as pi_message_view
from eventstore.formats.pi.message import payloads
from eventstore.views import Message, Payload


def view_of_event(event: Event) -> Message | None:
    """The message that an event holds or stands for, as every fold sees it; None where it tells the model nothing."""
    return message_of(event.kind, entry_of(event.body))


def facts_of_body(format: str, kind: str, body: bytes) -> Facts:
    """What the log keeps of a record beside its bytes, read out of the record again."""
    is_own = not format.startswith("pi/")
    return facts_of(kind, body, entry_of(body), renames_hook_role=format in ("pi/1", "pi/2"), is_own=is_own)


def points_by_place(format: str, kind: str) -> bool:
    """Whether such a record names its target by a place in its file, which the record alone does not resolve."""
    return format == "pi/1" and kind == "compaction"


def view_of_message(message: bytes) -> Message:
    """The view of a message as it stands in a context: its JSON in its harness's shape."""
    return pi_message_view(message)


def payloads_of_message(message: bytes) -> list[Payload]:
    """What the view of a message in a context leaves out, block for block; nothing where its content is a text."""
    return payloads(message)
