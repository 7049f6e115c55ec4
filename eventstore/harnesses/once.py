"""Derive values from a record's fields once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class once(Generic[T]):  # noqa: N801  a decorator
    """Like `cached_property`, without the lock that it takes in Python 3.11."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make

    def __get__(self, fields: Any, _: type) -> T:
        made = fields.__dict__[self._make.__name__] = self._make(fields)
        return made
