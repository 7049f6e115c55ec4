"""What a validator finds."""

from __future__ import annotations

import msgspec


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that a body breaks: its name, where in the body (`messages[3].content[0].text`), and what is wrong."""

    rule: str
    path: str
    problem: str
