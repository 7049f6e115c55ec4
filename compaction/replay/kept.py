"""Count what of a boundary's reading stands word for word in a context."""

from __future__ import annotations

from collections.abc import Sequence

from compaction.judge.checks import folded, is_quoted
from compaction.judge.material import pieces_in
from compaction.replay.results import Counts, Kept
from eventstore.log import Snapshot
from eventstore.paths import event
from projections.audit.readings import Quotation, Reading
from projections.context.parts import Part
from projections.rules.base import native_provider


def asked_by(reading: Reading) -> Counts:
    """Return how many rules, facts and shown losses of a reading a context is asked for."""
    return Counts(rules=len(reading.rules), facts=len(reading.facts), losses=len(reading.shown_losses))


def kept_in(parts: Sequence[Part], reading: Reading) -> Kept:
    """Return what of a reading stands in messages.

    All its quotations have to, literally but for white space. A short one counts only as all that a piece of a
    message says, and a part of a word never.
    """
    texts = [folded(each.text) for each in pieces_in(parts)]

    def stand(quotations: Sequence[Quotation]) -> bool:
        return all(_stands(folded(each.quote), texts) for each in quotations)

    rules = [each.rule for each in reading.rules if not stand(each.said)]
    facts = [each.fact for each in reading.facts if not stand(each.known)]
    return Kept(
        rules=len(reading.rules) - len(rules),
        facts=len(reading.facts) - len(facts),
        losses=sum(stand(each.known) for each in reading.shown_losses),
        lacks=[*rules, *facts],
    )


def _stands(quote: str, texts: Sequence[str]) -> bool:
    return any(quote in text and is_quoted(quote, text) for text in texts)


def is_readable(snapshot: Snapshot, parts: Sequence[Part]) -> bool:
    """Return False if only its provider can read a summary that a session recorded."""
    return not any(
        part.kind == "compaction"
        and part.seq <= snapshot.head(part.session).version
        and native_provider(event(snapshot, part.session, part.seq))
        for part in parts
    )
