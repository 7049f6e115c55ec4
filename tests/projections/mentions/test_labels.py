"""Measure extraction on the project's own sentences and on lines of real sessions."""

from __future__ import annotations

import pytest

from projections.mentions import MentionKind, mentions
from tests.labels.corpus import PROJECT
from tests.labels.labelled import labelled_lines, labelled_scripts
from tests.labels.measure import HALVES, by_kind, table, total
from tests.labels.own import own_lines
from tests.labels.sample import draw, draw_scripts

PRECISION = 0.98
RECALL = 0.90
LEAST_OF_A_KIND = 0.85
"""Recall of every kind by itself: of the rare ones, a single miss is five points."""


def test_an_own_sentence_names_what_its_marks_say():
    marked = {sentence: [tuple(each) for each in named] for sentence, named in own_lines()}
    assert len(marked) == len(list(own_lines()))
    found = {sentence: mentions(sentence) for sentence in marked}
    assert marked == {
        sentence: [(each.kind, each.start, each.stop) for each in named] for sentence, named in found.items()
    }


@pytest.fixture(scope="module", params=HALVES)
def scores(request, corpus):
    return by_kind(corpus, held_out=HALVES[request.param])


def test_what_is_found_in_real_lines_is_named_there(scores):
    assert total(scores.values()).precision >= PRECISION


def test_most_of_what_real_lines_name_is_found(scores):
    assert total(scores.values()).recall >= RECALL


def test_no_kind_is_much_worse_than_the_others(scores):
    assert {kind: scores[kind].precision for kind in MentionKind if scores[kind].precision < 0.95} == {}
    assert {kind: scores[kind].recall for kind in MentionKind if scores[kind].recall < LEAST_OF_A_KIND} == {}


def test_there_are_labels_enough_in_both_halves():
    held_out = sum(line.reference.is_held_out for line in labelled_lines())
    assert (held_out >= 225, len(labelled_lines()) - held_out >= 225) == (True, True)


def test_the_page_of_extraction_says_what_is_measured(corpus):
    assert table(corpus) in (PROJECT / "docs" / "extraction.md").read_text("utf-8")


def test_labels_are_of_the_lines_and_scripts_that_chance_drew(corpus):
    assert [line.reference for line in labelled_lines()] == draw(corpus)
    assert [script.reference for script in labelled_scripts()] == draw_scripts(corpus)
