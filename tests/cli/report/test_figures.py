from __future__ import annotations

import re
from typing import Any

import pytest

from cli.views.page.build import figures, models
from cli.views.page.material import Material
from eventstore import EventLog
from tests.cli.report.reading import material_of
from tests.support.talk import Story, assistant, user


@pytest.fixture
def story(store: EventLog) -> Story:
    told = Story(store)
    told.says(user("x" * 40))
    return told


def answer(story: Story, **usage: Any) -> None:
    story.says(assistant("y" * 40, usage=usage))


def numbered(found: list[Any]) -> dict[str, tuple[str, list[str]]]:
    """From the name of each figure to its value and the numbers of its note."""
    return {each.name: (each.value, re.findall(r"[\d,]+", each.note.replace(", ", " "))) for each in found}


def shown(story: Story) -> dict[str, tuple[str, list[str]]]:
    return numbered(figures(material_of(story.log)))


def test_a_session_without_calls_has_its_size_alone(story: Story) -> None:
    assert shown(story) == {"context now": ("10", ["1"]), "entries": ("1", ["1"]), "compactions": ("0", [])}


def test_calls_are_summed(story: Story) -> None:
    answer(story, input=100, output=5, cacheRead=300, cacheWrite=0)
    answer(story, input=0, output=6, cacheRead=500, cacheWrite=100)
    found = shown(story)
    assert found["sent"] == ("1k", ["2"])
    assert found["from the cache"] == ("80%", ["100"])
    assert found["output"] == ("11", [])


@pytest.mark.parametrize(
    ("tokens", "short"),
    [
        (999, "999"),
        (1000, "1k"),
        (9_520, "9.52k"),
        (959_800, "960k"),
        (56_400_000, "56.4M"),
        (10**12, "1,000G"),
    ],
)
def test_a_large_number_is_short(story: Story, tokens: int, short: str) -> None:
    answer(story, input=tokens)
    assert shown(story)["sent"][0] == short


def test_a_cost_tells_where_it_comes_from(story: Story) -> None:
    answer(story, input=1, cost={"total": 0.25})
    assert shown(story)["cost"] == ("$0.25", [])
    answer(story, input=1)
    assert shown(story)["cost"] == ("$0.25", ["1"])


def test_the_demo_counts_what_is_beside_its_compactions(demo: Material) -> None:
    found = numbered(figures(demo))
    assert found["compactions"] == ("3", ["1", "1"])
    assert found["entries"] == ("167", ["3"])


def test_models_are_those_that_wrote_the_one_that_wrote_most_first(story: Story) -> None:
    story.says(assistant("a", model="n"), assistant("b"), assistant("c"))
    assert models(material_of(story.log)) == ["p/m", "p/n"]
