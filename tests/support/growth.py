"""How much longer something takes for more of it: a figure that holds on a slow machine, too."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_RUNS = 5


def times_as_long(function: Callable[[T], object], few: T, many: T) -> float:
    """The time that a function takes for many, as a multiple of that for few; the best of some runs of either."""
    return _best(function, many) / _best(function, few)


def _best(function: Callable[[T], object], given: T) -> float:
    times = []
    for _ in range(_RUNS):
        begun = time.perf_counter()
        function(given)
        times.append(time.perf_counter() - begun)
    return min(times)
