"""Reading a session as a report reads it, with pi's own count of tokens and the prices that come with refold."""

from __future__ import annotations

from typing import Any

from cli.views.page.lines import EventLines, lines_of
from cli.views.page.material import Material, read_material
from eventstore.log import EventLog
from projections.audit.prices import library_prices
from projections.tokens import counter


def material_of(log: EventLog, session: str = "s", **where: Any) -> Material:
    """What there is to read of a session."""
    return read_material(log, session, tokens=counter("utf16/4"), prices=library_prices(), **where)


def lines_in(material: Material) -> EventLines:
    """The lines of its events."""
    return lines_of(material.events)


def target(seq: int) -> str:
    """Where links of a page with no sections lead."""
    return f"e-{seq}"
