"""Paths in several forms: when they are one, and under which form it counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.mentions.path_names import PathIndex, join_names, shorter_forms, split_path

paths = st.lists(st.sampled_from(["a", "b", "c.py"]), min_size=1, max_size=4).map("/".join)
rooted = paths | paths.map("/".__add__)


def test_a_path_is_its_names_without_where_it_starts_from():
    rows = [
        ("src/a.py", ("src", "a.py")),
        ("/repo/src/a.py", ("", "repo", "src", "a.py")),
        ("./src/a.py", ("src", "a.py")),
        ("../../src/a.py", ("src", "a.py")),
        ("~/src/a.py", ("src", "a.py")),
        ("src//a.py", ("src", "a.py")),
        ("src/", ("src",)),
        ("C:\\src\\a.py", ("C:", "src", "a.py")),
        ("/", ("",)),
        ("..", ()),
        ("", ()),
    ]
    assert {path: split_path(path) for path, _ in rows} == dict(rows)


def test_shorter_forms_have_a_folder_left():
    assert list(shorter_forms(split_path("/repo/src/a.py"))) == [("repo", "src", "a.py"), ("src", "a.py")]


def test_a_file_in_a_folder_has_no_shorter_form():
    assert list(shorter_forms(split_path("src/a.py"))) == []


@given(path=rooted)
def test_names_are_written_as_the_path_was(path):
    assert join_names(split_path(path)) == path


def test_a_path_counts_under_its_longest_form_where_only_one_can_be_meant():
    rows = [
        (["/repo/src/a.py"], "src/a.py", "/repo/src/a.py"),
        (["src/a.py", "/repo/src/a.py"], "a.py", "/repo/src/a.py"),
        (["/x/src/a.py", "/y/src/a.py"], "src/a.py", "src/a.py"),
        (["/x/src/a.py", "/y/src/a.py"], "x/src/a.py", "/x/src/a.py"),
        (["lib/a.py"], "src/a.py", "src/a.py"),
        (["./src/a.py"], "src/a.py", "./src/a.py"),
        ([], "src/a.py", "src/a.py"),
        ([".."], "..", ".."),
    ]
    assert [PathIndex(others).longest_form(path) for others, path, _ in rows] == [
        whole for others, _, whole in rows
    ]


@pytest.mark.parametrize(
    ("others", "path", "is_alone"),
    [
        (["/repo/src/a.py"], "a.py", True),
        (["/repo/src/a.py", "src/a.py", "a.py"], "src/a.py", True),
        (["/repo/src/a.py", "lib/a.py"], "src/a.py", False),
        (["/x/src/a.py", "/y/src/a.py"], "src/a.py", False),
        (["/x/src/a.py", "/y/src/a.py"], "a.py", False),
        (["/repo/src/b.py"], "src/a.py", True),
        ([], "a.py", True),
    ],
)
def test_a_path_is_alone_if_all_of_its_file_name_can_be_that_one(others, path, is_alone):
    assert PathIndex(others).is_unambiguous(split_path(path)) is is_alone


def test_a_shorter_form_is_ambiguous_if_two_paths_end_in_it():
    known = PathIndex(["/repo/ai/src/index.ts", "/repo/tui/src/index.ts"])
    names = split_path("/repo/ai/src/index.ts")
    assert not known.is_unambiguous(names, ("src", "index.ts"))
    assert known.is_unambiguous(names, ("ai", "src", "index.ts"))
    assert not known.is_unambiguous(split_path("/repo/web/src/index.ts"), ("ai", "src", "index.ts"))


@given(others=st.lists(rooted, max_size=5), path=rooted)
def test_the_whole_of_a_whole_path_is_itself(others, path):
    known = PathIndex(others)
    assert known.longest_form(known.longest_form(path)) == known.longest_form(path)


@given(others=st.lists(rooted, max_size=5), path=rooted)
def test_a_whole_path_ends_in_the_path(others, path):
    names = split_path(path)
    assert split_path(PathIndex(others).longest_form(path))[-len(names) :] == names
