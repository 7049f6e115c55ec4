"""Rules in messages of public repositories, which were classed by a reader before the classifier ran on them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.corpus.prompts import FOLDER, classed, sources

SETS = {
    1: (154, 152, 6),
    2: (158, 155, 8),
    3: (125, 124, 1),
    4: (190, 178, 13),
    5: (90, 86, 7),
    6: (1225, 1141, 11),
    7: (669, 635, 1),
}
"""Per set: its messages, those that are classed right, and the labelled rules that are found, all as published."""

_SMALL = 5
"""A set of few repositories."""


@pytest.fixture
def texts() -> Path:
    if not os.environ.get(FOLDER):
        pytest.skip(f"no texts of the messages; set {FOLDER} to their folder")
    return Path(os.environ[FOLDER])


@pytest.mark.parametrize("number", SETS)
def test_each_set_has_enough_messages_from_enough_repositories(number: int) -> None:
    chosen = [each for each in sources() if each.set == number]
    assert len({each.repository for each in chosen}) >= (7 if number == _SMALL else 15)
    assert sum(len(each.messages) for each in chosen) == SETS[number][0]


def test_no_repository_is_in_two_sets_and_no_message_is_twice_in_a_file() -> None:
    found = sources()
    assert len({(each.set, each.repository) for each in found}) == len({each.repository for each in found})
    assert len({(each.repository, each.path) for each in found}) == len(found)
    assert all(len(set(each.messages)) == len(each.messages) for each in found)


@pytest.mark.parametrize("number", SETS)
def test_messages_are_classed_no_worse_than_published(texts: Path, number: int) -> None:
    found = list(classed(texts, number))
    _, right, rules = SETS[number]
    assert sum(each.is_right for each in found) >= right
    assert sum(each.is_right for each in found if each.label) >= rules
