"""Which results rewrites leave alone: protected tools, and what a prompt cache still holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from compaction.rewrites.sized_context import SizedContext, SizedMessage
from eventstore.views import ToolCall
from projections.files import PATH_ARGUMENTS

WARM_TOKENS: Final = 8_000
"""Outside of a compaction only results with at most so many tokens behind them are touched: oh-my-pi's guard."""
CACHE_LIFETIME: Final = 5 * 60 * 1000
"""Milliseconds after which a provider's prompt cache is gone, unless it was asked for an hour."""
WARM: Final = "a prompt cache may still hold what could be rewritten, and is spared until it is gone"
"""Why nothing is rewritten where `spares_cache` says no of all that could be."""


def is_protected(each: SizedMessage, protected: Sequence[str]) -> bool:
    """Whether a result is of a protected tool: by the tool's name, or `name scheme://` for some of its paths only."""
    name = each.message.tool_name or (each.call.name if each.call else "")
    for entry in protected:
        tool, _, beginning = entry.partition(" ")
        if tool == name and (not beginning or path_of(each.call).startswith(beginning)):
            return True
    return False


def path_of(call: ToolCall | None) -> str:
    """The path that a call names, "" for none."""
    for argument in PATH_ARGUMENTS if call else ():
        value = call.argument(argument) if call else None
        if isinstance(value, str) and value:
            return value
    return ""


def spares_cache(
    context: SizedContext, each: SizedMessage, *, warm: int = WARM_TOKENS, lifetime: int = CACHE_LIFETIME
) -> bool:
    """Whether rewriting a message costs no more of a prompt cache than is lost anyhow, or very little."""
    return context.is_compacting or each.behind <= warm or context.idle > lifetime
