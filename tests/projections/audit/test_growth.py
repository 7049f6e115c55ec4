"""Measure the growth of the list of things that successive summaries name."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from projections.audit.summary_text import Growth, growth


def test_a_first_summary_names_what_it_names_anew():
    assert growth("see src/a.py and `parse_header`", None) == Growth(total=2, carried=0, fresh=2, left_out=0)


def test_what_stood_in_the_summary_before_is_carried():
    before = "see src/a.py and https://example.com/x"
    now = "see src/a.py, `parse_header` and 0b9a4c1e-52d7-4f0e-9a3b-7c61d2e8f405"
    assert growth(now, before) == Growth(total=3, carried=1, fresh=2, left_out=1)


def test_a_summary_of_nothing_leaves_all_out():
    assert growth("", "src/a.py and src/b.py") == Growth(total=0, carried=0, fresh=0, left_out=2)


def test_quantities_commands_and_errors_are_no_names():
    assert growth("250 MB\nfatal: the disk is full", None) == Growth(total=0, carried=0, fresh=0, left_out=0)


def test_a_name_counts_once():
    assert growth("src/a.py, ./src/a.py and /repo/src/a.py", None).total == 1


def test_a_path_in_another_form_is_carried():
    assert growth("src/a.py", "/repo/src/a.py") == Growth(total=1, carried=1, fresh=0, left_out=0)


def test_a_name_that_is_not_marked_as_code_any_more_is_still_there():
    assert growth("the fold of it", "the `fold`") == Growth(total=1, carried=1, fresh=0, left_out=0)


THINGS = ("src/a.py", "/repo/src/a.py", "a.py", "`fold`", "fold", "parse_header", "https://example.com/x")
summaries = st.lists(st.sampled_from(THINGS), max_size=6).map("; ".join)


@given(now=summaries, before=st.none() | summaries)
def test_names_add_up(now, before):
    found = growth(now, before)
    assert found.total == found.carried + found.fresh
    assert growth(before or "", now).total == found.carried + found.left_out
