"""One thing that is wrong with what a person wrote."""

from __future__ import annotations

import msgspec


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
