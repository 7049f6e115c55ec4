"""Appending what a look at a session says, though others append to it at the same time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from eventstore.errors import VersionConflictError

T = TypeVar("T")


def until_ours(look_and_append: Callable[[], T]) -> T:
    """What a look and the append that it leads to give; where somebody appended in between, what another look gives.

    There is no limit to the tries: of writers in conflict one always gets through, and a look that finds nothing to do
    any more ends it, too.
    """
    while True:
        try:
            return look_and_append()
        except VersionConflictError:
            continue
