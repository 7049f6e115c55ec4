"""What a kind's rule makes of a stretch of text that its pattern matched."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Found: TypeAlias = tuple[int, int, str] | None
"""Start, stop and value of a mention. None: it is none of this kind, a later kind may be in it. An empty value:
nothing is named here, and no part of it names anything."""

Rule: TypeAlias = Callable[[str, int, int], Found]
"""From a text, and where in it a pattern matched, to what is there."""
