"""Place a summary in a request, by the placement that its record names."""

from __future__ import annotations

import pytest

from projections.placements import PLACEMENTS, placement_of


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "summary",
            "Earlier parts of this conversation were replaced by this summary:\n\n<summary>\nso far\n</summary>",
        ),
        (
            "prior-conversation-summary",
            "<prior-conversation-summary>\nso far\n</prior-conversation-summary>",
        ),
        ("compacted", "[Compacted]\n\nso far"),
        ("reactive-compact", "[Reactive compact]\n\nso far"),
    ],
)
def test_each_placement_tells_a_summary_in_its_way(name, told):
    assert placement_of(name).render("so far") == told


def test_a_placement_goes_by_its_name():
    assert {name: each.name for name, each in PLACEMENTS.items()} == {name: name for name in PLACEMENTS}


def test_a_later_versions_placement_is_refolds_own():
    assert placement_of("of-a-later-version") is PLACEMENTS["summary"]


def test_what_a_summary_says_is_told_as_it_is():
    assert all("{0} %s {" in each.render("{0} %s {") for each in PLACEMENTS.values())
