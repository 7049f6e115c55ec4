"""Rules of cache breakpoints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from projections.validators.anthropic.blocks import THINKING, Located, Turn, inner, located
from projections.validators.anthropic.rules import Rule
from projections.validators.violation import Violation

_MOST: Final = 4
_LIFETIMES: Final = ("5m", "1h")
_LONG: Final = "1h"


class _Mark(msgspec.Struct, frozen=True):
    """A breakpoint, and where it is set."""

    path: str
    value: Any

    @property
    def lifetime(self) -> Any:
        return self.value.get("ttl", "5m") if isinstance(self.value, dict) else None

    @property
    def is_sound(self) -> bool:
        is_object = isinstance(self.value, dict) and set(self.value) <= {"type", "ttl"}
        return is_object and self.value.get("type") == "ephemeral" and self.lifetime in _LIFETIMES


def check_cache(body: dict[str, Any], turns: Sequence[Turn]) -> Iterator[Violation]:
    """Cache breakpoints are four at most, long-lived ones first, and none is on thinking."""
    marks = list(_marks(body, turns))
    for mark in marks:
        if not mark.is_sound:
            problem = "a breakpoint is ephemeral, and lives for 5m or 1h"
            yield Violation(rule=Rule.CACHE_BREAKPOINTS, path=mark.path, problem=problem)
    for turn in turns:
        for each in turn.blocks:
            if each.type in THINKING and each.block.get("cache_control") is not None:
                problem = "there can be no breakpoint on thinking"
                yield Violation(rule=Rule.CACHE_BREAKPOINTS, path=each.path, problem=problem)
    if len(marks) > _MOST:
        yield Violation(rule=Rule.CACHE_BREAKPOINTS, path="", problem=f"there are {len(marks)} breakpoints")
    is_short = False
    for mark in marks:
        if is_short and mark.lifetime == _LONG:
            problem = "a breakpoint that lives for 1h follows one that lives for 5m"
            yield Violation(rule=Rule.CACHE_BREAKPOINTS, path=mark.path, problem=problem)
        is_short = is_short or mark.lifetime != _LONG


def _marks(body: dict[str, Any], turns: Sequence[Turn]) -> Iterator[_Mark]:
    """The breakpoints of a body in the order in which the API reads it; the one that it sets itself is the last."""
    around = (item for name in ("tools", "system") for item in located(name, _items(body.get(name))))
    within = (each for turn in turns for block in turn.blocks for each in _all_in(block))
    whole = Located("", body)
    for each in (*around, *within, whole):
        mark = each.block.get("cache_control")
        if mark is not None:
            yield _Mark(f"{each.path}.cache_control".removeprefix("."), mark)


def _all_in(block: Located) -> Iterator[Located]:
    """What of a block a breakpoint can stand behind, the block itself last."""
    if block.type in ("tool_result", "search_result"):
        for each in inner(block):
            yield from _all_in(each)
    elif block.type == "document":
        source = block.block["source"]
        yield from inner(Located(f"{block.path}.source", source))
    yield block


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
