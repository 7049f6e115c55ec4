"""A plot of a series of numbers, as lines of text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cli.views.plot import plot

series = st.lists(st.integers(0, 10**9), min_size=1, max_size=300)


def test_the_largest_value_is_on_top() -> None:
    assert plot([1, 2, 4], height=4) == [
        "4 │  █",
        "  │  █",
        "2 │ ██",
        "  │███",
        "0 └───",
    ]


def test_nothing_is_drawn_of_an_empty_series() -> None:
    assert plot([]) == []


def test_zeros_are_a_line_at_the_bottom() -> None:
    assert plot([0, 0], height=2) == ["1 │", "0 │", "0 └──"]


def test_parts_of_a_row_are_drawn_in_eighths() -> None:
    assert plot(list(range(1, 9)), height=1)[0] == "8 │▁▂▃▄▅▆▇█"


def test_marks_stand_below_what_they_mark() -> None:
    assert plot([1, 2, 3], marks=[1], height=1)[-1] == "    ∑"


def test_a_column_shows_its_shares_largest_value() -> None:
    assert plot([0, 9, 0, 0], width=5, height=1)[0] == "9 │█"


@given(series, st.integers(1, 120), st.integers(1, 12))
def test_width_and_height_are_as_asked_for(values, width, height) -> None:
    lines = plot(values, width=width, height=height)
    label = len(f"{max(values):,}")
    assert len(lines) == height + 1
    assert max(map(len, lines)) <= max(width, label + 3)


@given(series, st.data())
def test_every_mark_is_below_some_column(values, data) -> None:
    mark = data.draw(st.integers(0, len(values) - 1))
    lines = plot(values, marks=[mark], width=60)
    assert lines[-1].count("∑") == 1
    assert len(lines[-1]) <= len(lines[-2])


@given(series)
def test_the_highest_column_reaches_the_top(values) -> None:
    top = plot(values, width=80)[0]
    assert ("█" in top) == (max(values) > 0)
