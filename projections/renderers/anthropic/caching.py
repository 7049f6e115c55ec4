"""Where a request asks the provider to cache its prefix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import msgspec

from projections.renderers.anthropic.conversation import Turn

MOST_BREAKPOINTS: Final = 4


class Breakpoints(msgspec.Struct, frozen=True):
    """What a cache breakpoint stands behind: the tools, the system prompt, the last block of turns by their numbers."""

    tools: bool
    system: bool
    turns: frozenset[int]


_PREFIX: Final = -1
"""In place of a turn's number: what comes before all of them."""


def breakpoints(
    turns: Sequence[Turn], most: int, *, has_tools: bool, has_system: bool, taken: int = 0
) -> Breakpoints:
    """At most so many breakpoints, where the next request is likeliest to begin with the same bytes.

    `taken` are set already, and count among those that the API takes.
    The API reads tools, then system prompt, then messages, so that one breakpoint behind the system prompt
    covers the tools, too. First comes the newest of the user's turns that is settled: all of this request. Then
    system prompt and tools, which other conversations share. Then the user's turns before: there the requests
    before this one ended, and theirs is found without the API looking back over more than its 20 blocks.
    """
    most = max(min(most, MOST_BREAKPOINTS - taken), 0)
    wanted = set(islice(_in_order(turns, has_prefix=has_tools or has_system), most))
    return Breakpoints(
        tools=_PREFIX in wanted and not has_system,
        system=_PREFIX in wanted and has_system,
        turns=frozenset(wanted - {_PREFIX}),
    )


def _in_order(turns: Sequence[Turn], *, has_prefix: bool) -> Iterator[int]:
    users = [
        number
        for number in range(len(turns) - 1, -1, -1)
        if turns[number].role == "user" and turns[number].is_settled
    ]
    yield from users[:1]
    if has_prefix:
        yield _PREFIX
    yield from users[1:]
