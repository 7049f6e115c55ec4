"""Compare a function's times for few and many: the ratio holds on a slow machine, too."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
NO_SQUARE = 30
"""Times as long for eight times as much: what is linear takes about eight, what is quadratic 64."""
_LEAST = 2
"""Runs at least: what the first finds empty is full in the others."""
_RUNS = 8


def times_as_long(function: Callable[[T], object], few: T, many: T) -> float:
    """Return the time that a function takes for many, as a multiple of that for few; the best of some runs of either.

    A large ratio gets more runs: chance only adds time, so the best of many is the function's.
    """
    short, long = math.inf, math.inf
    for run in range(1, _RUNS + 1):
        short, long = min(short, _time(function, few)), min(long, _time(function, many))
        if run >= _LEAST and long < NO_SQUARE * short:
            break
    return long / short


def _time(function: Callable[[T], object], given: T) -> float:
    """Return the seconds of this process alone: others that take the processor have no say.

    Nor has what else it holds, which a collection of garbage in the middle of a run would go through.
    """
    had_collections = gc.isenabled()
    gc.disable()
    try:
        begun = time.process_time()
        function(given)
        return time.process_time() - begun
    finally:
        if had_collections:
            gc.enable()
