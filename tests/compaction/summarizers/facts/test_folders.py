"""Paths by folder, and read back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from compaction.summarizers.facts.lines import FolderIndex, parse_root, render_root, split_list, strip_root
from projections.mentions.path_names import PathIndex, split_path


def split(*paths):
    """Each path as it is told, and what `./` stands for."""
    folders = FolderIndex(paths, PathIndex(paths))
    return [tuple(folders.split(path)) for path in paths], folders.root


def test_a_file_is_told_by_its_name_behind_its_folder():
    assert split("src/core/a.ts")[0] == [("src/core/", "a.ts")]


def test_a_file_whose_name_others_have_is_told_with_its_own_folder():
    found, _ = split("src/core/index.ts", "src/modes/index.ts")
    assert found == [("src/", "core/index.ts"), ("src/", "modes/index.ts")]


def test_what_has_no_extension_is_told_with_the_folder_above():
    assert split("src/core/tools")[0] == [("src/", "core/tools")]


def test_what_is_in_no_folder_is_told_alone():
    assert split("a.ts")[0] == [("", "a.ts")]


def test_a_folder_in_several_forms_is_told_in_the_longest():
    found, _ = split("/repo/src/core/a.ts", "core/b.ts")
    assert found == [("/repo/src/core/", "a.ts"), ("/repo/src/core/", "b.ts")]


def test_the_folder_that_shortens_most_is_told_once():
    found, root = split(
        "/home/me/repo/src/a.ts", "/home/me/repo/docs/b.md", "/home/me/repo/c.md", "/etc/d.conf"
    )
    assert (found, root) == (
        [("./src/", "a.ts"), ("./docs/", "b.md"), ("./", "c.md"), ("/etc/", "d.conf")],
        "/home/me/repo/",
    )


def test_paths_in_many_places_have_no_folder_in_common():
    assert split("/a/b/one.ts", "/c/d/two.ts", "/e/f/three.ts")[1] == ""


def test_relative_paths_have_no_root():
    assert split("src/core/a.ts", "src/modes/b.ts")[1] == ""


def test_a_path_with_blanks_or_commas_is_told_whole():
    assert split("/a/my file.png", "/a/x,y.csv")[0] == [("", "/a/my file.png"), ("", "/a/x,y.csv")]


def test_a_path_that_would_break_the_line_does_not():
    assert split("src/a\n## Goal")[0] == [("", "src/a ## Goal")]


def test_a_list_by_folder_is_read_back():
    assert split_list("src/: core/a.ts, b.ts (changed)") == ["src/core/a.ts", "src/b.ts (changed)"]


def test_another_line_names_no_paths():
    assert [split_list(line) for line in ("src/: has a, b", "see src/: a.ts", "src: a.ts", "")] == [[]] * 4


def test_the_root_is_read_back():
    assert parse_root(render_root("/home/me/")) == "/home/me/"
    assert [parse_root(line) for line in (render_root(""), ". is a full stop", "/home/me/")] == [""] * 3


def test_a_path_is_read_back_from_the_root():
    assert [strip_root("./a.ts", root) for root in ("/home/me/", "")] == ["/home/me/a.ts", "./a.ts"]


names = st.text("abc.-", min_size=1, max_size=5).filter(lambda name: name.strip("."))
paths = st.lists(
    st.tuples(st.sampled_from(["/", "", "./", "../", "~/"]), st.lists(names, min_size=1, max_size=4)).map(
        lambda drawn: drawn[0] + "/".join(drawn[1])
    ),
    min_size=1,
    max_size=12,
)


@given(paths=paths)
def test_a_path_told_by_folder_is_the_same_path_or_a_longer_form(paths):
    folders = FolderIndex(paths, PathIndex(paths))
    for path in paths:
        folder, rest = folders.split(path)
        told = split_path(strip_root(folder + rest, folders.root))
        assert told[-len(split_path(path)) :] == split_path(path)
        assert not folder or split_list(f"{folder}: {rest}") == [folder + rest]
