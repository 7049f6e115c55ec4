"""What became of each message up to the leaf."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from cli.replaced import undone
from cli.report.material import Material
from projections.context.parts import Fate
from projections.diff import Change


class Standing(StrEnum):
    """Where an event stands, seen from the leaf."""

    KEPT = "kept"
    """In the context, as recorded."""
    REWRITTEN = "rewritten"
    """In the context, with other content."""
    SUMMARIZED = "summarized"
    """Not in the context; a summary was made of it, or something else shown in its place."""
    GONE = "gone"
    """Not in the context, and no summary covers it."""
    ASIDE = "aside"
    """On another branch."""
    SILENT = "silent"
    """Nothing that a model is sent."""


class Outcome(msgspec.Struct, frozen=True):
    """What became of a message, and the number of the event that made it so, None where none did."""

    standing: Standing
    by: int | None = None


_OF_FATE = {Fate.REWRITTEN: Standing.REWRITTEN}
_OF_CHANGE = {Change.SUMMARIZED: Standing.SUMMARIZED, Change.GONE: Standing.GONE}


def outcomes(material: Material) -> dict[int, Outcome]:
    """The outcome of every event by its number."""
    without_effect = undone(material.audit)
    taken: dict[int, Outcome] = {}
    changed: dict[int, int] = {}
    for seq, exchange in sorted(material.exchanges.items()):
        for shown in exchange.before if seq not in without_effect else ():
            if standing := _OF_CHANGE.get(shown.change):
                taken[shown.seq] = Outcome(standing, seq)
            elif shown.change is Change.REWRITTEN:
                changed[shown.seq] = seq
    found: dict[int, Outcome] = {}
    for event in material.events:
        if fate := material.fates.get(event.seq):
            standing = _OF_FATE.get(fate, Standing.KEPT)
            found[event.seq] = Outcome(
                standing, changed.get(event.seq) if standing is not Standing.KEPT else None
            )
        elif event.seq in taken:
            found[event.seq] = taken[event.seq]
        elif not event.role:
            found[event.seq] = Outcome(Standing.SILENT)
        else:
            found[event.seq] = Outcome(Standing.SILENT if event.seq in material.path else Standing.ASIDE)
    return found
