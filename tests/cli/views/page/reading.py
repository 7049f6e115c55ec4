"""Reading a session as a report reads it, with pi's own count of tokens and the prices that come with refold."""

from __future__ import annotations

from cli.views.page.lines import EventLines, lines_of
from cli.views.page.material import Material, read_material
from eventstore.log import EventLog
from projections.audit.prices import library_prices
from projections.audit.session import audit
from projections.context.cursor import Leaf
from projections.tokens import counter


def material_of(log: EventLog, session: str = "s", *, leaf: Leaf = None) -> Material:
    """Read the material of a session's page."""
    tokens, prices = counter("utf16/4"), library_prices()
    audited = audit(log, session, leaf=leaf, tokens=tokens, prices=prices)
    return read_material(log, audited, leaf=leaf, tokens=tokens, prices=prices)


def lines_in(material: Material) -> EventLines:
    """The lines of its events."""
    return lines_of(material.events)


def target(seq: int) -> str:
    """Return the target of links to an event in a page without sections."""
    return f"e-{seq}"
