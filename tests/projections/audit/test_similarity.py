"""Compare sentences by their words and by what they negate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.audit.restatements import LineIndex, LineMatch, content_words, normalize
from tests.support.growth import NO_SQUARE, times_as_long


def lines(*texts, words=()):
    return LineIndex(texts, frozenset().union(*(content_words(text) for text in (*texts, *words))))


def test_inflections_and_ways_to_negate_make_no_difference():
    rows = [
        ("commit", "commits committed COMMITTING"),
        ("a test", "testing the tests"),
        ("use", "used, uses, using"),
        ("add", "adds added adding"),
        ("file", "files"),
        ("dependency", "dependencies"),
        ("class", "classes"),
        ("Never push", "Pushing is forbidden"),
        ("Never push", "don\u2019t push"),
        ("Never commit without asking.", "Do not commit unless asked."),
        ("use tabs, not spaces", "Use tabs not spaces!"),
        ("use tabs, not spaces", "use tabs instead of spaces"),
        ("No comments", "avoid comments"),
        ("don't forget to test", "test"),
        ("please make sure that it is so: run them", "run"),
    ]
    assert [content_words(one) for one, _ in rows] == [content_words(other) for one, other in rows]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("push", "never push"),
        ("use tabs", "use no tabs"),
        ("use tabs, not spaces", "use spaces, not tabs"),
        ("test src/a.ts", "test src/b.ts"),
        ("string", "str"),
        ("need_s", "need_"),
        ("commit after asking", "commit without asking"),
    ],
)
def test_negations_and_names_make_a_difference(one, other):
    assert content_words(one) != content_words(other)


def test_a_negation_ends_with_its_clause():
    assert content_words("Never push, but commit") == {"not push", "commit"}


def test_markdown_case_and_white_space_collapse():
    assert normalize("  **Never**\n`push`  to _main_. ") == "never push to main"


def test_names_keep_their_underscores():
    assert normalize("my_long_name") == "my_long_name"


def test_a_sentence_is_found_as_it_stands():
    assert lines("He said: *Use  tabs*, always").verbatim("use tabs.") == LineMatch(
        "He said: *Use  tabs*, always", 1.0, is_verbatim=True
    )


@pytest.mark.parametrize("line", ["reuse tabs", "use tabstops", "use\ntabs that", "never use tabs", "tabs"])
def test_a_sentence_is_found_as_whole_words_and_not_where_it_is_negated(line):
    assert (lines(line).verbatim("use tabs") is not None) == (line == "use\ntabs that")


def test_a_line_that_negates_hides_none_behind_it():
    found = lines("never use tabs", "use tabs").verbatim("use tabs")
    assert found is not None
    assert found.text == "use tabs"


def test_the_nearest_has_most_of_the_words():
    found = lines("red green", "red green blue", "red green blue too").nearest(
        content_words("red green blue black white")
    )
    assert found == LineMatch("red green blue", 0.6, shared=3)


def test_nothing_is_near_to_what_shares_no_word():
    assert lines("red").nearest(content_words("blue")) == LineMatch("", 0.0)


def test_a_long_line_counts_by_pieces_of_40_words():
    far = "red " + "x " * 60 + "blue"
    assert lines(far).nearest(content_words("red blue")).similarity == 0.5


@pytest.mark.parametrize("before", range(0, 60, 7))
def test_no_sentence_of_20_words_is_cut_between_pieces(before):
    words = " ".join(f"w{number}" for number in range(20))
    found = lines("x " * before + words + " y" * 50).nearest(content_words(words))
    assert found.similarity == 1.0


@given(st.text(), st.text())
def test_similarity_is_a_share(one, other):
    assert 0 <= lines(one).nearest(content_words(other)).similarity <= 1


@given(st.text(alphabet="ab .,*_`'\n") | st.text())
def test_what_stands_there_is_found_or_has_no_letter(text):
    assert lines(text).verbatim(text) is not None or normalize(text) == ""


@pytest.mark.parametrize("unit", ["never use tabs ", ",", "a not ", "n't", "and not ", "....x", "a" * 100])
def test_a_large_text_is_read_in_time_that_grows_with_it(unit):
    few = 15_000 // len(unit)

    def look(text):
        return lines(text).verbatim("use tabs")

    assert times_as_long(look, unit * few, unit * few * 8) < NO_SQUARE
