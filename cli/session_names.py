"""Names of sessions: generations of one, and beginnings that stand for one alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Final

_GENERATION: Final = re.compile(r"(.+)~([1-9][0-9]{0,8})", re.DOTALL)
"""The name of a later generation of a session: the session's id and a number."""
_LONGEST: Final = 24
_SHORTEST: Final = 13
"""What of a long id is shown at least: of a UUID of version 7, its time."""


def generation_of(name: str) -> tuple[str, int]:
    """The id of the session that a name is a generation of, and which, from 1."""
    match = _GENERATION.fullmatch(name)
    return (match[1], int(match[2])) if match else (name, 1)


def newest_generation(names: Sequence[str]) -> str | None:
    """Of the generations of one session the newest; None where the names are of several sessions, or none."""
    if len({generation_of(name)[0] for name in names}) != 1:
        return None
    return max(names, key=lambda name: generation_of(name)[1])


def begin_with(beginning: str, names: Iterable[str]) -> list[str]:
    """The names that a beginning stands for; `BEGINNING~N` stands for generations N alone."""
    names = list(names)
    found = [name for name in names if name.startswith(beginning)]
    if found or not (match := _GENERATION.fullmatch(beginning)):
        return found
    parts = ((name, *generation_of(name)) for name in names)
    return [name for name, base, number in parts if base.startswith(match[1]) and number == int(match[2])]


def short_names(names: Sequence[str]) -> dict[str, str]:
    """From names to what stands for each alone: a beginning of a long id, behind which `~N` tells generations apart.

    What is short stays whole, and so does what would not get short.
    """
    parts = {name: generation_of(name) for name in names}
    counts = Counter(base for base, _ in parts.values())
    short = _short(counts)
    return {
        name: f"{short[base]}~{number}"
        if counts[base] > 1 and short[base] != base
        else short[base] + name[len(base) :]
        for name, (base, number) in parts.items()
    }


def _short(bases: Iterable[str]) -> dict[str, str]:
    ordered = sorted(bases)
    shown: dict[str, str] = {}
    for before, each, after in zip(["", *ordered], ordered, [*ordered[1:], ""], strict=False):
        needed = max(_SHORTEST, _shared(each, before) + 1, _shared(each, after) + 1)
        shown[each] = each[:needed] if needed <= _LONGEST < len(each) else each
    return shown


def _shared(one: str, other: str) -> int:
    """With how many characters two texts begin alike."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
