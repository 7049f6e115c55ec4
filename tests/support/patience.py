"""Waiting for what another thread or process does, and not for ever."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

PATIENCE: Final = 300
"""Seconds after which something will never come: far more than it takes on a machine that is very busy."""


def comes(is_so: Callable[[], bool]) -> bool:
    """Poll a condition; return True once it holds, False if it never does."""
    end = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(0.001)
    return True
