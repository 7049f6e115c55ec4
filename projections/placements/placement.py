"""How a compaction's summary stands in a request."""

from __future__ import annotations

from collections.abc import Callable

import msgspec


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """A way for a summary to stand in a request.

    `name` is what policies and records call it; `told` gives the text of the user's message that stands for a summary.
    """

    name: str
    told: Callable[[str], str]
