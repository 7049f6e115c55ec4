"""Check the methods that every kind of cut has."""

from __future__ import annotations

import pytest

from compaction.cuts import CutPart, KeepRecent, LastMessages, OpencodeTail, TailTurn
from compaction.part import Limits

LIMITS = Limits(window=36_000)


class Blunt(CutPart, frozen=True, tag="blunt"):
    """A cut that heeds nothing of what a person may set."""


@pytest.mark.parametrize(
    ("cut", "kept"),
    [
        (KeepRecent(tokens=7), 7),
        (TailTurn(), 4_000),
        (TailTurn(reserved=36_000), 2_000),
        (LastMessages(), None),
        (Blunt(), None),
    ],
)
def test_a_cut_says_how_many_tokens_it_keeps_at_most_where_it_can(cut, kept):
    assert cut.most_kept(LIMITS) == kept


@pytest.mark.parametrize(
    ("cut", "keeping"),
    [
        (KeepRecent(tokens=7, adapts=True), KeepRecent(tokens=9, adapts=True)),
        (TailTurn(), TailTurn(turns=1_000_000, least=9, most=9)),
        (OpencodeTail(share=0.5), OpencodeTail(turns=1_000_000, share=0.5, least=9, most=9)),
        (LastMessages(), None),
        (Blunt(), None),
    ],
)
def test_a_cut_by_tokens_keeps_as_many_as_are_set_and_others_say_that_they_do_not(cut, keeping):
    assert cut.keeping(9) == keeping


@pytest.mark.parametrize(
    ("cut", "reserving"),
    [
        (TailTurn(turns=1), TailTurn(turns=1, reserved=9)),
        (KeepRecent(), KeepRecent()),
        (LastMessages(), LastMessages()),
        (Blunt(), Blunt()),
    ],
)
def test_a_cut_that_looks_at_the_window_leaves_free_what_is_set_and_others_stay_as_they_are(cut, reserving):
    assert cut.reserving(9) == reserving
