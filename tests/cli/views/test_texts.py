"""Texts cut to lines and lengths; amounts, shares and times for people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.views.page.lines import cut
from cli.views.texts import dollars, gap_text, line_of, part_of, percent, spent_dollars
from projections.overview import Spent
from projections.rules.base import Gap


def test_a_short_text_is_whole() -> None:
    assert cut("abc", 3) == ("abc", 0)


def test_of_a_long_text_the_beginning_is_shown_and_the_rest_counted() -> None:
    assert cut("abcdef", 4) == ("abcd", 2)


def test_a_line_has_single_spaces_and_no_line_ends() -> None:
    assert line_of("  a\n\tb   c ", 20) == "a b c"


def test_a_longer_line_ends_in_an_ellipsis() -> None:
    assert line_of("abcdef", 4) == "abc…"


def test_a_line_of_which_only_the_beginning_was_looked_at_ends_in_an_ellipsis() -> None:
    assert line_of(" " * 5000 + "x", 10) == "…"


def test_of_a_long_path_the_end_stands_where_the_page_has_room() -> None:
    path = f"/{'folder/' * 30}parser.py"
    assert line_of(f"→ read {path}") == "→ read …/folder/parser.py"


@given(st.text(max_size=300), st.integers(1, 40))
def test_a_line_is_never_longer_than_asked(text: str, longest: int) -> None:
    assert len(line_of(text, longest)) <= longest


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        (None, "-"),
        (0.0, "$0.00"),
        (12.345, "$12.35"),
        (1234.5, "$1,234.50"),
        (0.1, "$0.10"),
        (0.0321, "$0.0321"),
        (-0.0321, "-$0.0321"),
        (-2.0, "-$2.00"),
    ],
)
def test_dollars_are_told_to_the_cent_and_small_ones_closer(amount: float | None, shown: str) -> None:
    assert dollars(amount) == shown


def test_a_recorded_cost_of_nothing_is_no_price() -> None:
    assert spent_dollars(Spent(calls=2, output=9, cost=0.0)) == "$0.00 recorded"
    assert spent_dollars(Spent(calls=2, output=9)) == spent_dollars(None) == "-"
    assert spent_dollars(Spent(calls=2, cost=1.0, without_cost=1)) == "$1.00+"


@pytest.mark.parametrize(("amount", "shown"), [(2.0, "+$2.00"), (-2.0, "-$2.00"), (None, "-")])
def test_what_was_won_can_be_told_from_what_was_lost(amount: float | None, shown: str) -> None:
    assert dollars(amount, is_signed=True) == shown


def test_where_there_was_nothing_to_find_stands_a_dash() -> None:
    assert (percent(None), part_of(0, 0)) == ("-", "-")


def test_shares_and_parts_are_short() -> None:
    assert (percent(0.344), part_of(1200, 3400)) == ("34%", "1,200/3,400")


def test_content_that_the_model_was_no_longer_sent_is_not_called_missing() -> None:
    assert gap_text(Gap(what="results lost", event="e", seq=3, tokens=-1500)) == (
        "in the session, but not sent: results lost at e #3, 1,500 tokens by usage"
    )
    assert gap_text(Gap(what="files", tokens=1500)).startswith("not in the session: files, 1,500 tokens")
    assert gap_text(Gap(what="files", tokens=1500), measured_by="the first call").endswith(
        "by the first call"
    )
    assert gap_text(Gap(what="files")) == "not in the session: files, of unknown size"
