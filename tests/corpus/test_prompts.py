"""Rules in messages of public repositories, against what two readers saw before anything ran on them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.corpus.prompts import FOLDER, Figures, classed, figures_of_model, figures_of_words, sources

WORDS = {
    False: Figures(messages=2379, sure=201, found=57, named=106, named_right=88),
    True: Figures(messages=933, sure=63, found=10, named=42, named_right=28),
}
"""The published figures of rules that are found by their words, by whether the messages are held out."""


@pytest.fixture
def texts() -> Path:
    if not os.environ.get(FOLDER):
        pytest.skip(f"no texts of the messages; set {FOLDER} to their folder")
    return Path(os.environ[FOLDER])


def test_the_messages_are_from_many_people() -> None:
    assert len({each.repository for each in sources(held_out=True)}) >= 100
    assert len({each.repository for each in sources(held_out=False)}) >= 150


def test_nobody_who_is_held_out_was_seen_before() -> None:
    held_out, seen = (
        {each.repository.casefold() for each in sources(held_out=which)} for which in (True, False)
    )
    assert held_out.isdisjoint(seen)


@pytest.mark.parametrize("held_out", WORDS)
def test_labels_are_of_messages_and_each_is_there_once(held_out: bool) -> None:  # noqa: FBT001  a parameter
    found = sources(held_out=held_out)
    assert sum(len(each.messages) for each in found) == WORDS[held_out].messages
    assert len({(each.repository, each.path) for each in found}) == len(found)
    for source in found:
        assert {rule.message for rule in source.rules} <= set(range(len(source.messages)))
        assert len({rule.message for rule in source.rules}) == len(source.rules)


def test_what_is_published_of_a_model_is_what_it_answered() -> None:
    assert figures_of_model() == Figures(messages=933, sure=63, found=60, named=104, named_right=103)


@pytest.mark.parametrize("held_out", WORDS)
def test_words_find_as_many_rules_as_published(texts: Path, held_out: bool) -> None:  # noqa: FBT001  a parameter
    assert figures_of_words(list(classed(texts, held_out=held_out))) == WORDS[held_out]
