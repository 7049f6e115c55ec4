"""Whether a compaction is tried at all, by what came of those before: the circuit breaker."""

from __future__ import annotations

import msgspec


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """What came of automatic compactions since one went through or a person asked for one.

    `failures` in a row; whether the log says that the circuit `is_open`; whether a compaction of the very
    context that is now `gained_nothing`.
    """

    failures: int = 0
    is_open: bool = False
    gained_nothing: bool = False


def given_up(past: Past, most: int) -> str:
    """Why no compaction is tried, "" where one is; `most` failures in a row open the circuit."""
    if past.failures >= most:
        return open_for(past.failures)
    return "a compaction of this context gained nothing" if past.gained_nothing else ""


def opens(past: Past, most: int) -> bool:
    """Whether the circuit opens now, which nobody has put down yet."""
    return past.failures >= most and not past.is_open


def open_for(failures: int) -> str:
    """What is said of an open circuit."""
    return f"{failures} compactions in a row have failed: compact by hand to go on"
