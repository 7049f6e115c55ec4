"""The measure of growth: what is linear passes in spite of disturbances, what is quadratic never does."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, repeat

import pytest

from tests.support.growth import NO_SQUARE, times_as_long

FEW, MANY = 10, 80


def growth(monkeypatch: pytest.MonkeyPatch, cost: Callable[[int], float], *factors: float) -> float:
    """The growth of what costs so many seconds, by a clock of its own; its first runs take a multiple of that."""
    now = 0.0
    disturbed = {size: chain(factors if size == MANY else (), repeat(1.0)) for size in (FEW, MANY)}

    def function(size: int) -> None:
        nonlocal now
        now += cost(size) * next(disturbed[size])

    monkeypatch.setattr("time.process_time", lambda: now)
    return times_as_long(function, FEW, MANY)


def test_disturbed_runs_do_not_make_linear_work_quadratic(monkeypatch: pytest.MonkeyPatch) -> None:
    assert growth(monkeypatch, lambda size: size, 4.2, 5.0, 4.5, 6.0) == MANY / FEW


@pytest.mark.parametrize("factors", [(), (2.0,), (3.0, 2.0, 1.5)])
def test_quadratic_work_is_reported(monkeypatch: pytest.MonkeyPatch, factors: tuple[float, ...]) -> None:
    assert growth(monkeypatch, lambda size: size**2, *factors) == (MANY / FEW) ** 2 > NO_SQUARE
