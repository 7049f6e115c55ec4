"""Waiting for what another thread does, and not for ever."""

from __future__ import annotations

import time
from collections.abc import Callable


def comes(is_so: Callable[[], bool], *, within: float = 10) -> bool:
    """Poll a condition; return True once it holds, False after `within` seconds."""
    end = time.monotonic() + within
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(0.001)
    return True
