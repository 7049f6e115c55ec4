"""Clauses that tell someone to do something, and those that begin alike."""

from __future__ import annotations

from projections.mentions import instructions as instruction_words
from projections.mentions.instructions import is_imperative


def test_a_verb_with_its_object_is_an_imperative():
    rows = [
        "add a test",
        "add tests",
        "investigate",
        "then just remove it",
        "always test first",
        "only change src/",
        "test the parser",
        "commit changes",
        "merge main into it",
        "do both",
        "have each of them write one",
        "be brief",
        "start implementing",
    ]
    assert [clause for clause in rows if not is_imperative(clause.split())] == []


def test_a_noun_or_a_verb_with_a_subject_is_none():
    rows = [
        "",
        "then",
        "tests fail",
        "test coverage is thin",
        "test",
        "commit messages were wrong",
        "return values are checked",
        "fix works",
        "do you know",
        "have you seen it",
        "have to go",
        "the tests run",
        "adding tests",
    ]
    assert [clause for clause in rows if is_imperative(clause.split())] == []


def test_behind_a_clause_that_tells_how_things_are_a_verb_needs_an_object():
    assert [is_imperative(clause.split(), follows=True) for clause in ("use tabs", "use the tabs")] == [
        False,
        True,
    ]


def test_a_title_of_a_word_that_may_be_a_noun_is_none():
    assert not is_imperative(["commit", "id"], is_lead=False)


def test_words_are_of_one_kind_or_the_other():
    assert instruction_words.VERBS.isdisjoint(instruction_words.ALSO_NOUNS)
