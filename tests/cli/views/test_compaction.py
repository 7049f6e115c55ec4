"""The folder that most of many paths are in."""

from __future__ import annotations

import pytest

from cli.views.compaction import shared_folder


@pytest.mark.parametrize(
    ("paths", "folder"),
    [
        ([], ""),
        (["/w/a"], ""),
        (["/w/p/a", "/w/p/b"], "/w/p/"),
        (["/w/p/a", "/w/q/b"], "/w/"),
        (["/w/a", "/x/b"], ""),
        (["w/a", "w/b"], "w/"),
        (["/w/a", "/w/b", "/w/c", "/x/d"], "/w/"),
        (["/w/a", "/w/b", "/x/c", "/x/d"], ""),
        (["/w/pa/x", "/w/pb/x"], "/w/"),
        (["a", "b"], ""),
    ],
)
def test_it_is_the_deepest_that_three_in_four_share(paths: list[str], folder: str) -> None:
    assert shared_folder(paths) == folder
