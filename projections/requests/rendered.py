"""A rendered request: its body, what was repaired, and what no repair can fix."""

from __future__ import annotations

from typing import Final

import msgspec

REQUEST_SIZE: Final = "request-size"
"""The rule of a body that is too large; a shorter context would pass."""


class Repair(msgspec.Struct, frozen=True, kw_only=True):
    """One change: the rule that required it, the id of the changed event, and the action."""

    rule: str
    event: str
    action: str


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that a body breaks, its place (`messages[3].content[0].text`), and the problem."""

    rule: str
    path: str
    problem: str


class Rendered(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON of a request's body, its repairs in their order, and the violations that remain."""

    body: bytes
    repairs: tuple[Repair, ...]
    violations: tuple[Violation, ...]
