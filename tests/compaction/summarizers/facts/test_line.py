"""Lines that are told."""

from __future__ import annotations

import pytest

from compaction.summarizers.facts.lines import Fact, one_line, rank_in_order, rank_newest_first


def test_a_text_becomes_one_line():
    assert one_line(" a\n\n## b\u2028c\x0bd ") == "a ## b c d"


@pytest.mark.parametrize(("most", "shown"), [(0, "one two three"), (13, "one two three"), (9, "one two…")])
def test_a_long_text_is_cut_and_says_so(most, shown):
    assert one_line("one two three", most) == shown


def test_lines_in_order_are_distinct_and_say_something():
    assert rank_in_order(["b", "", "a", "b"]) == [Fact("b", 0), Fact("a", 1)]


def test_of_lines_in_order_of_time_the_newest_come_first_and_keep_their_places():
    assert rank_newest_first(["old", "new"]) == [Fact("new", 1), Fact("old", 0)]
