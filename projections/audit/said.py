"""List what a person said on a path, and what of it stands in the context at its end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from eventstore.event import Event
from eventstore.log import Snapshot
from projections.audit.measure import MetricStruct
from projections.audit.rule_readings import rule_readings
from projections.context.build import context_at
from projections.context.cursor import Cursor, path
from projections.context.parts import Part, view_of_part
from projections.message_text import message_text
from projections.person_text import person_text


class SaidRule(MetricStruct, frozen=True):
    """A rule that a model found in a message; `stands`: the context has its words literally."""

    text: str
    stands: bool


class SaidMessage(MetricStruct, frozen=True):
    """A message that a person wrote, or what they said when they refused a call.

    `stands` means that the context has its text literally, white space aside: in the message itself or in another.
    `rules` are those that a model found in it, None if no model read it.
    """

    event: str
    seq: int
    text: str
    stands: bool
    rules: list[SaidRule] | None


def said_messages(snapshot: Snapshot, cursor: Cursor) -> list[SaidMessage]:
    """Return what the person said on the path to a cursor, in order."""
    readings = rule_readings(snapshot, cursor.session)
    context = _Texts(context_at(snapshot, cursor).parts)
    return [
        _said(entry, text, readings.get(entry.id), context)
        for entry in path(snapshot, cursor)
        if (text := person_text(entry))
    ]


def _said(entry: Event, text: str, rules: Sequence[str] | None, context: _Texts) -> SaidMessage:
    return SaidMessage(
        event=entry.id,
        seq=entry.seq,
        text=text,
        stands=context.has(text),
        rules=None if rules is None else [SaidRule(text=rule, stands=context.has(rule)) for rule in rules],
    )


class _Texts:
    """The texts of a context, with white space folded."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self._texts = [_folded(message_text(view_of_part(part))) for part in parts]

    def has(self, text: str) -> bool:
        """Return True if a message has a text literally."""
        return any(_folded(text) in each for each in self._texts)


def _folded(text: str) -> str:
    return " ".join(text.split())
