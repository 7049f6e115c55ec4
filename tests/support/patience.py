"""Waiting for what another thread does, and not for ever."""

from __future__ import annotations

import time
from collections.abc import Callable


def comes(is_so: Callable[[], bool], *, within: float = 10) -> bool:
    """Whether something becomes so within so many seconds; it is looked at until it is."""
    end = time.monotonic() + within
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(0.001)
    return True
