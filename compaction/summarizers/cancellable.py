"""Waiting for a request that somebody may call off."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from compaction.summarizers.summarizer import Cancellation, CancelledError

T = TypeVar("T")
_LOOK_EVERY: Final = 0.05
"""Seconds between two looks whether it was called off."""


def cancellable(request: Callable[[], T], *, is_cancelled: Cancellation, close: Callable[[], None]) -> T:
    """What a request gives; once it is called off, `close` ends its connection and CancelledError is raised."""
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(request)
        while True:
            if is_cancelled() and not waiting.done():
                close()
                raise CancelledError
            try:
                return waiting.result(timeout=_LOOK_EVERY)
            except TimeoutError:
                if waiting.done():
                    raise
