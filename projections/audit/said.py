"""List what a person said on a path, and what of it stands in the context at its end."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from eventstore.log import Snapshot
from projections.audit.measure import MetricStruct
from projections.audit.readings import Quotation, readings
from projections.context.build import context_at
from projections.context.cursor import Cursor, path
from projections.context.parts import Part, view_of_part
from projections.message_text import message_text
from projections.person_text import folded, person_text

_QUOTED: Final = re.compile(r"^[ \t]*[>|][ \t]?", re.MULTILINE)
"""Marks that begin the lines of a quotation: `>` in summaries, `|` of `as_quoted`."""


class SaidMessage(MetricStruct, frozen=True):
    """A message that a person wrote, or what they said when they refused a call.

    `stands` means that the context has its text literally, as `Texts.has` says: in the message itself or in another.
    """

    event: str
    seq: int
    text: str
    stands: bool


class RuleFate(MetricStruct, frozen=True):
    """A rule's state behind one boundary, "" for the open window."""

    boundary: str
    state: str


class ReadRule(MetricStruct, frozen=True):
    """A standing rule that a model read, and its fate at each boundary.

    `said` are the person's words; `stands`: the context has all of them literally.
    """

    rule: str
    said: list[Quotation]
    stands: bool
    fates: list[RuleFate]


def said_messages(snapshot: Snapshot, cursor: Cursor) -> list[SaidMessage]:
    """Return what the person said on the path to a cursor, in order."""
    context = Texts.of(context_at(snapshot, cursor).parts)
    return [
        SaidMessage(event=entry.id, seq=entry.seq, text=text, stands=context.has(text))
        for entry in path(snapshot, cursor)
        if (text := person_text(entry))
    ]


def rules_read(snapshot: Snapshot, cursor: Cursor) -> list[ReadRule]:
    """Return the rules that readings found on the path to a cursor, in their order.

    Readings of several boundaries may name the same words differently: the newest name counts.
    """
    on_path = {entry.seq for entry in path(snapshot, cursor)}
    context = Texts.of(context_at(snapshot, cursor).parts)
    found: dict[tuple[int, str], ReadRule] = {}
    for reading in readings(snapshot, cursor.session).values():
        for rule in reading.rules:
            first = min(rule.said, key=lambda each: each.seq)
            if first.seq not in on_path:
                continue
            known = found.get((first.seq, first.quote))
            found[first.seq, first.quote] = ReadRule(
                rule=rule.rule,
                said=rule.said,
                stands=all(context.has(each.quote) for each in rule.said),
                fates=[
                    *(known.fates if known else ()),
                    RuleFate(boundary=reading.boundary, state=rule.state),
                ],
            )
    return [found[place] for place in sorted(found)]


class Texts:
    """Texts in which words are sought."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._whole = {form for text in texts for form in folded_forms(text)}
        self._joined = "\0".join(self._whole)

    @classmethod
    def of(cls, parts: Iterable[Part]) -> Texts:
        """Return the texts of a context."""
        return cls(message_text(view_of_part(part)) for part in parts)

    def has(self, text: str) -> bool:
        """Return True if one has a text literally, but for white space and marks of quotations."""
        words = folded(text)
        # Most words stand as the message that they are, which is found at once.
        return words in self._whole or words in self._joined


def folded_forms(text: str) -> set[str]:
    """Return a text with white space folded: as it is, and without marks of quotations."""
    return {folded(text), folded(_QUOTED.sub("", text))}
