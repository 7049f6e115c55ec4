"""Summarize a long conversation in steps, each of which updates the summary before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgspec

from compaction.summarizers import CancelledError
from compaction.summarizers.chain import SummarizersFailedError, SummaryReply
from projections.context.parts import Part

MAX_REFUSALS: Final = 3
"""Maximum refusals for length before a summary fails."""


class PartGroup(msgspec.Struct, frozen=True):
    """Messages that must stay in one prompt, such as an answer and its results; their tokens."""

    parts: tuple[Part, ...]
    tokens: int


class FoldedSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A summary, missing sections, request records, and ids of messages too long for any prompt."""

    text: str
    missing: list[str] = []
    requests: list[dict[str, Any]] = []
    left_out: list[str] = []


def fold_groups(
    groups: Sequence[PartGroup],
    summarize: Callable[[Sequence[Part], str], SummaryReply],
    *,
    room: Callable[[str], int],
    previous: str = "",
) -> FoldedSummary:
    """Summarize groups, oldest first, in as few steps as fit; without groups, return `previous`.

    `summarize` summarizes messages given the summary so far; `room` returns the tokens of messages that fit beside
    that summary. If a provider refuses a request for its length, ask about the oldest groups first, in steps
    of half the size, and leave out a single group that is still too long. Raises SummarizersFailedError,
    CancelledError.
    """
    requests: list[dict[str, Any]] = []
    left_out: list[PartGroup] = []
    missing: list[str] = []
    refusals = 0
    most = sum(group.tokens for group in groups)
    waiting = list(groups)
    while waiting:
        run = _fitting(waiting, min(room(previous), most))
        try:
            reply = summarize([part for group in run for part in group.parts], previous)
        except (SummarizersFailedError, CancelledError) as error:
            error.requests = requests = [*requests, *error.requests]
            refusals += 1
            is_too_long = isinstance(error, SummarizersFailedError) and error.is_too_long
            if not is_too_long or refusals > MAX_REFUSALS or len(waiting) == 1:
                raise
            if len(run) > 1:
                most = sum(group.tokens for group in run) // 2
            else:
                left_out.append(waiting.pop(0))
        else:
            requests += reply.requests
            previous, missing = reply.text, reply.missing
            del waiting[: len(run)]
    return FoldedSummary(
        text=previous,
        missing=missing,
        requests=requests,
        left_out=[part.id for group in left_out for part in group.parts],
    )


def group_parts(parts: Sequence[Part], sizes: Sequence[int]) -> list[PartGroup]:
    """Group messages; `sizes` are their tokens."""
    return list(_grouped(parts, sizes))


def newest_parts_that_fit(groups: Sequence[PartGroup], room: int) -> list[Part]:
    """Return the newest messages that fit, at least the newest group."""
    newest = _fitting(groups[::-1], room)
    return [part for group in reversed(newest) for part in group.parts]


def _grouped(parts: Sequence[Part], sizes: Sequence[int]) -> Iterator[PartGroup]:
    together: list[Part] = []
    tokens = 0
    for part, size in zip(parts, sizes, strict=True):
        if together and part.role != "toolResult":
            yield PartGroup(tuple(together), tokens)
            together, tokens = [], 0
        together.append(part)
        tokens += size
    if together:
        yield PartGroup(tuple(together), tokens)


def _fitting(groups: Sequence[PartGroup], room: int) -> list[PartGroup]:
    """Return the first groups that fit, at least one."""
    run: list[PartGroup] = []
    for group in groups:
        room -= group.tokens
        if run and room < 0:
            break
        run.append(group)
    return run
