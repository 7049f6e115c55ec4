"""Which results rewrites leave alone: protected tools, and what a prompt cache still holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from compaction.rewrites.scene import Line, Scene
from projections.files import PATH_ARGUMENTS

WARM_TOKENS: Final = 8_000
"""Outside of a compaction only results with at most so many tokens behind them are touched: oh-my-pi's guard."""
CACHE_LIFETIME: Final = 5 * 60 * 1000
"""Milliseconds after which a provider's prompt cache is gone, unless it was asked for an hour."""


def is_protected(line: Line, protected: Sequence[str]) -> bool:
    """Whether a result is of a protected tool: by the tool's name, or `name scheme://` for some of its paths only."""
    name = line.message.tool_name or (line.call.name if line.call else "")
    for entry in protected:
        tool, _, beginning = entry.partition(" ")
        if tool == name and (not beginning or path_of(line).startswith(beginning)):
            return True
    return False


def path_of(line: Line) -> str:
    """The path that the call of a result names, "" for none."""
    for argument in PATH_ARGUMENTS if line.call else ():
        value = line.call.argument(argument) if line.call else None
        if isinstance(value, str) and value:
            return value
    return ""


def spares_cache(
    scene: Scene, line: Line, *, warm: int = WARM_TOKENS, lifetime: int = CACHE_LIFETIME
) -> bool:
    """Whether rewriting a message costs no more of a prompt cache than is lost anyhow, or very little."""
    return scene.is_compacting or line.behind <= warm or scene.idle > lifetime
