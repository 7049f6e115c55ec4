"""What texts of sessions name: paths, symbols, identifiers, errors, addresses, quantities, commands.

Adding a kind: a module with its rule, a line in `Kind`, a line in `mentions`, its labels, its docs.
"""

from __future__ import annotations

from projections.extraction.mention import Kind, Mention

__all__ = ["Kind", "Mention", "commands", "mentions"]


def mentions(text: str) -> list[Mention]:
    """All that a text names, in order; only error lines may enclose others. Commands are not looked for here."""
    return []


def commands(script: str) -> list[str]:
    """The commands that a shell script runs, each as one line with single spaces, in order."""
    return [" ".join(script.split())]
