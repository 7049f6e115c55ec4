from __future__ import annotations

import pytest

from cli.views.texts import (
    day_and_time,
    dollars,
    part_of,
    percent,
    print_field,
    print_rule,
    print_summary,
)
from tests.cli.audit_view.printing import printed


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


@pytest.mark.parametrize(("amount", "shown"), [(2.0, "+$2.00"), (-2.0, "-$2.00"), (None, "-")])
def test_what_was_won_can_be_told_from_what_was_lost(amount: float | None, shown: str) -> None:
    assert dollars(amount, is_signed=True) == shown


def test_where_there_was_nothing_to_find_stands_a_dash() -> None:
    assert (percent(None), part_of(0, 0)) == ("-", "-")


def test_shares_and_parts_are_short() -> None:
    assert (percent(0.344), part_of(1200, 3400)) == ("34%", "1,200/3,400")


def test_a_time_is_told_to_the_second() -> None:
    assert day_and_time("2026-03-04T11:22:33.456Z") == "2026-03-04 11:22:33"
    assert day_and_time(None) == "-"


def test_a_long_value_goes_on_below_its_beginning() -> None:
    assert printed(print_field, "by", "one two three four five six", width=32) == [
        "   by       one two three four",
        "            five six",
    ]


def test_a_value_of_several_lines_forges_no_line() -> None:
    assert printed(print_field, "by", "one\ntwo") == ["   by       one\\ntwo"]


def test_a_summary_keeps_its_lines() -> None:
    assert printed(print_summary, "# Goal\n\nDone.\n") == [" " * 12 + "# Goal", "", " " * 12 + "Done."]


def test_a_rule_names_the_event_and_says_where_it_is_undone() -> None:
    def rule(out: object, **how: bool) -> None:
        print_rule(out, "Rewrite", "w1", 3, None, **how)  # type: ignore[arg-type]

    assert printed(rule) == ["── Rewrite w1 #3  -"]
    assert printed(lambda out: rule(out, is_undone=True)) == ["── Rewrite w1 #3  -  undone"]
