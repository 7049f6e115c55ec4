"""The registry of formats: how each harness writes its sessions, one line a harness.

Adding a harness: a folder here with its `Format` (`eventstore.formats.base`), a line in `_FORMATS`, the names of its
records at the end of `eventstore.frame.FORMATS`; and its rules (`projections.rules`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final, Protocol

from eventstore.event import EventFacts
from eventstore.formats import claude_code, oh_my_pi, pi, refold
from eventstore.formats.base import Format, Tools, View
from eventstore.frame import body_of
from eventstore.log import Snapshot
from eventstore.records import TextReplacement
from eventstore.views import Message, Payload

# A harness that writes files like another's, with marks of its own, stands before it.
_FORMATS: Final[tuple[Format, ...]] = (refold.FORMAT, oh_my_pi.FORMAT, pi.FORMAT, claude_code.FORMAT)


@cache
def format_of(version: str) -> Format:
    """Return the format that has records of this name, as "pi/3". Raises KeyError for a name that none has."""
    for each in _FORMATS:
        if version in each.versions:
            return each
    raise KeyError(version)


def harness(name: str) -> Format:
    """Return the format of a harness by its name, as "pi". Raises KeyError for one that refold does not know."""
    for each in _FORMATS:
        if each.name == name:
            return each
    raise KeyError(name)


def harnesses() -> tuple[Format, ...]:
    """Return the formats of all harnesses, refold's own records left out."""
    return tuple(each for each in _FORMATS if each is not refold.FORMAT)


def tools_of(version: str) -> Tools:
    """Return the tools of the harness that has records of this name."""
    return format_of(version).tools


def prompt_kinds() -> frozenset[str]:
    """Return the kinds of records that may hold a prompt."""
    return frozenset[str]().union(*(each.prompt_kinds for each in _FORMATS))


class Recorded(Protocol):
    """An event, decoded or not, as far as its view needs it."""

    @property
    def session(self) -> str: ...

    @property
    def parent_seq(self) -> int: ...

    @property
    def format(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def body(self) -> bytes: ...


def view_of(event: Recorded, snapshot: Snapshot | None = None) -> View:
    """Return what the record of an event says, in refold's words.

    Some say all of it only together with their parent's, which is read from `snapshot`: compactions of some harnesses.
    """
    its = format_of(event.format)
    if snapshot is None or event.kind not in its.kinds_of_two:
        return its.view(event.format, event.kind, event.body)
    return its.view(event.format, event.kind, event.body, _record_above(event, snapshot))


def _record_above(event: Recorded, snapshot: Snapshot) -> bytes | None:
    return bytes(body_of(snapshot.frame(event.session, event.parent_seq))) if event.parent_seq else None


def view_of_event(event: Recorded) -> Message | None:
    """Return the message that an event holds or stands for; None where it tells the model nothing."""
    messages = view_of(event).messages
    return messages[0] if messages else None


def rewrites_of(event: Recorded) -> Sequence[TextReplacement]:
    """Return what an entry of the kind `rewrite` shows otherwise of earlier ones, oldest first."""
    return format_of(event.format).rewrites(event.format, event.body)


def facts_of(event: Recorded, snapshot: Snapshot) -> EventFacts:
    """Return what the log keeps of an event's record beside its bytes, read out of the record again."""
    its = format_of(event.format)
    parent = _record_above(event, snapshot) if event.kind in its.kinds_of_two else None
    return its.facts(event.format, event.kind, event.body, parent)


def view_of_message(message: bytes, format: str) -> Message:
    """Return the view of a message as it stands in a context: its JSON in the shape of a format, as "pi/3"."""
    return format_of(format).message(message)


def payloads_of_message(message: bytes, format: str) -> list[Payload]:
    """Return what the view of a message in a context leaves out, by block; nothing where its content is a text."""
    return format_of(format).payloads(message)


def result_block_of_message(message: bytes, format: str) -> bytes:
    """Return the JSON of the one `tool_result` block of the Messages API that a message is; b"" if it is none."""
    return format_of(format).result_block(message)
