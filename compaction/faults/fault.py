"""Things that are wrong with what a person wrote."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from eventstore.errors import BadInputError


class Fault(msgspec.Struct, frozen=True):
    """One thing that is wrong: `where`, by table and key ("" for the whole), what it is, and what to do."""

    where: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.said}; {self.remedy}"

    @property
    def said(self) -> str:
        """What is wrong, and where."""
        return f"{self.where}: {self.problem}" if self.where else self.problem


class FaultyInputError(BadInputError):
    """What a person wrote cannot be what it should: `faults` are all that is wrong with it, a line each.

    Its text is one line all the same: the first of them, and how many more there are.
    """

    def __init__(self, source: str, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        first, *others = faults
        more = f" (and {len(others)} more)" if others else ""
        super().__init__(source, first.said, f"{first.remedy}{more}")

    @property
    def lines(self) -> list[str]:
        """Each fault as a line for a person."""
        return [f"{self.source}: {fault}" for fault in self.faults]
