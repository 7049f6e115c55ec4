"""Register the formats: how each harness writes its sessions.

To add a harness, write a folder with its `Format` (`eventstore.formats.base`), a line in `_FORMATS`, its
records' names at the end of `eventstore.frame.FORMATS`, and its rules (`projections.rules`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Final, Protocol

from eventstore.event import EventFacts
from eventstore.formats.base import Format, Tools, View
from eventstore.frame import body_of
from eventstore.log import Snapshot
from eventstore.records import TextReplacement
from eventstore.views import Message, Payload

_REFOLD: Final = "refold"
# A harness that extends another's files comes before it.
_FORMATS: Final = {
    _REFOLD: "eventstore.formats.refold",
    "oh-my-pi": "eventstore.formats.oh_my_pi",
    "pi": "eventstore.formats.pi",
    "claude-code": "eventstore.formats.claude_code",
}
"""Each harness's module, imported on first use: commands load only the formats they need."""


@cache
def format_of(version: str) -> Format:
    """Return the format of records with this name, such as "pi/3". Raises KeyError."""
    its = harness(version.partition("/")[0])
    if version not in its.versions:
        raise KeyError(version)
    return its


def harness(name: str) -> Format:
    """Return a harness's format by name, such as "pi". Raises KeyError for an unknown one."""
    its: Format = import_module(_FORMATS[name]).FORMAT
    return its


def harnesses() -> tuple[Format, ...]:
    """Return the formats of all harnesses, without refold's own."""
    return tuple(harness(name) for name in _FORMATS if name != _REFOLD)


def tools_of(version: str) -> Tools:
    """Return the tools of the harness with records of this name."""
    return format_of(version).tools


def prompt_kinds(name: str) -> frozenset[str]:
    """Return the kinds of records that may hold a prompt: a harness's and refold's own."""
    return harness(_REFOLD).prompt_kinds | harness(name).prompt_kinds


class Recorded(Protocol):
    """An event, decoded or not, with the fields that its view needs."""

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
    """Return the meaning of an event's record.

    Compactions of some harnesses need their parent's record too, which is read from `snapshot`.
    """
    its = format_of(event.format)
    if snapshot is None or event.kind not in its.kinds_of_two:
        return its.view(event.format, event.kind, event.body)
    return its.view(event.format, event.kind, event.body, _record_above(event, snapshot))


def _record_above(event: Recorded, snapshot: Snapshot) -> bytes | None:
    return bytes(body_of(snapshot.frame(event.session, event.parent_seq))) if event.parent_seq else None


def view_of_event(event: Recorded) -> Message | None:
    """Return the message that an event holds or stands for, None if the model gets none."""
    messages = view_of(event).messages
    return messages[0] if messages else None


def rewrites_of(event: Recorded) -> Sequence[TextReplacement]:
    """Return the replacements in a `rewrite` entry, oldest first."""
    return format_of(event.format).rewrites(event.format, event.body)


def facts_of(event: Recorded, snapshot: Snapshot) -> EventFacts:
    """Extract again the facts that the log stores beside an event's record."""
    its = format_of(event.format)
    parent = _record_above(event, snapshot) if event.kind in its.kinds_of_two else None
    return its.facts(event.format, event.kind, event.body, parent)


def view_of_message(message: bytes, format: str) -> Message:
    """Return the view of a message in a context: JSON in the shape of a format such as "pi/3"."""
    return format_of(format).message(message)


def payloads_of_message(message: bytes, format: str) -> list[Payload]:
    """Return the block contents that a message's view omits; none for plain text."""
    return format_of(format).payloads(message)


def api_blocks_of_message(message: bytes, format: str) -> Sequence[bytes]:
    """Return the JSON of each block of a message if they are the Messages API's, () otherwise."""
    return format_of(format).api_blocks(message)
