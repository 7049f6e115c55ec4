"""Check the defaults of a trigger that defines only its threshold."""

from __future__ import annotations

import pytest

from compaction.part import Limits
from compaction.triggers import TriggerPart

WINDOW = Limits(window=100)


class Half(TriggerPart, frozen=True, tag="half"):
    def threshold(self, limits):
        return limits.window // 2


class Nothing(TriggerPart, frozen=True, tag="nothing"):
    def threshold(self, limits):
        return limits.window - 100


@pytest.mark.parametrize(("size", "fires"), [(50, False), (51, True)])
def test_it_fires_over_its_threshold(size, fires):
    assert Half().fires(size, WINDOW) == fires


def test_it_leaves_nothing_where_its_threshold_is_0():
    assert (Nothing().leaves_nothing(WINDOW), Nothing().leaves_nothing(Limits(window=101))) == (True, False)


def test_it_takes_no_other_threshold():
    assert Half().firing_at(9, -1) is None


def test_it_stays_as_it_is_where_a_reserve_is_set():
    assert Half().reserving(9) == Half()
