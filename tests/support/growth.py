"""How much longer something takes for more of it: a figure that holds on a slow machine, too."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
NO_SQUARE = 30
"""Times as long for eight times as much: what is linear takes about eight, what is quadratic 64."""
_RUNS = 3
_LEAST = 2
"""Runs at least: what the first finds empty is full in the others."""
_ENOUGH = 0.1
"""Seconds of runs after which another tells nothing new: chance has little say in what takes long."""


def times_as_long(function: Callable[[T], object], few: T, many: T) -> float:
    """The time that a function takes for many, as a multiple of that for few; the best of some runs of either."""
    return _best(function, many) / _best(function, few)


def _best(function: Callable[[T], object], given: T) -> float:
    times = []
    for _ in range(_RUNS):
        # Of this process alone: others that take the processor have no say.
        begun = time.process_time()
        function(given)
        times.append(time.process_time() - begun)
        if len(times) >= _LEAST and sum(times) > _ENOUGH:
            break
    return min(times)
