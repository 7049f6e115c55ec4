"""The clock and the ids that are used where none are given; everything that needs one takes it as an argument."""

from __future__ import annotations

import secrets
import time


def epoch_milliseconds() -> int:
    """The time now."""
    return time.time_ns() // 1_000_000


def random_id() -> str:
    """Eight random hex digits, as pi's ids."""
    return secrets.token_hex(4)
