"""What texts of sessions name: paths, symbols, identifiers, errors, addresses, quantities, commands.

Adding a kind: a module with its rule, a line in `Kind`, a line in `scan`, its labels, its docs.
"""

from __future__ import annotations

from operator import attrgetter

from projections.extraction import error
from projections.extraction.command import commands
from projections.extraction.mention import Kind, Mention
from projections.extraction.scan import scan

__all__ = ["Kind", "Mention", "commands", "mentions"]


def mentions(text: str) -> list[Mention]:
    """All that a text names, in order; only error lines may enclose others. Commands are not looked for here."""
    found = scan(text)
    errors = [Mention(Kind.ERROR, value, start, stop) for start, stop, value in error.find(text)]
    return sorted(errors + found, key=attrgetter("start")) if errors else found
