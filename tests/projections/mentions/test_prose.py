"""Sentences, and the lines that are a person's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.mentions.prose import prose_lines, sentences, unfenced


def split(text):
    return list(sentences(text.split("\n")))


def test_sentences_are_split_where_a_reader_would():
    rows = [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("one. two", ["one.", "two"]),
        ("Wait ... what", ["Wait ...", "what"]),
        ('He said "no." Then he left.', ['He said "no."', "Then he left."]),
        ("**One. Two.**", ["**One.", "Two.**"]),
        ("See a.ts, v1.2 and https://x.org/a.b now", ["See a.ts, v1.2 and https://x.org/a.b now"]),
        ("Use e.g. one, i.e. two, vs. three", ["Use e.g. one, i.e. two, vs. three"]),
        ("a, b etc. are here", ["a, b etc. are here"]),
        ("a, b etc. They are here", ["a, b etc.", "They are here"]),
        ("Say `a. b` here", ["Say `a. b` here"]),
        ("One (two. three) four. Five", ["One (two. three) four.", "Five"]),
        ("- one\n- two\n  more\n\n2. three", ["one", "two more", "three"]),
        ("- [x] one\n* [ ] two", ["one", "two"]),
        ("one\ntwo", ["one", "two"]),
        ("one\r\ntwo\r", ["one", "two"]),
        ("", []),
    ]
    assert {text: split(text) for text, _ in rows} == dict(rows)


@pytest.mark.parametrize(("length", "parts"), [(59, 2), (60, 1), (130, 1), (131, 2)])
def test_lines_that_were_broken_for_width_belong_together(length, parts):
    assert len(split("x" * length + "\ngoes on")) == parts


def test_a_line_before_a_colon_ends_there():
    assert len(split("x" * 80 + ":\nnext")) == 2


def test_what_stands_between_fences_is_left_out_line_by_line():
    assert list(unfenced("a\n```py\nb\n```\nc")) == ["a", "", "", "", "c"]


def test_a_fence_ends_at_one_of_its_own_kind_and_length():
    assert list(unfenced("````\n```\n~~~\nb\n`````\nc"))[-1] == "c"


def test_a_fence_that_is_never_closed_reaches_to_the_end():
    assert list(unfenced("a\n```\nb\nc")) == ["a", "", "", ""]


def test_an_element_of_a_harness_is_left_out_to_its_end():
    text = "<system-reminder>\nb\n</system-reminder>\nc"
    assert prose_lines(text) == ["", "c"]


def test_an_element_of_a_harness_that_is_never_closed_costs_its_line_alone():
    assert prose_lines("<system-reminder>\nb") == ["", "b"]


def test_other_elements_cost_their_tags_alone():
    assert prose_lines("<rules>\nUse tabs.\n</rules>") == ["", "Use tabs.", ""]


@given(st.text(alphabet="a.?!`~ \n-*(1)<>/") | st.text())
def test_no_character_but_white_space_and_marks_of_lists_is_lost(text):
    kept = "".join("".join(split(text)).split())
    rest = iter("".join(text.split()))
    assert all(character in rest for character in kept)


@given(st.text(alphabet="a`~ \n<file>/") | st.text())
def test_lines_stay_where_they_were(text):
    lines = text.split("\n")
    assert len(prose_lines(text)) == len(list(unfenced(text))) == len(lines)
