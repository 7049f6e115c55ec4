"""The commands for what a person may have of their own: what is asked of them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.user_files import FOLDER, UserFiles, toml_text
from eventstore.errors import BadInputError
from tests.cli.running import Refold

RECIPES = UserFiles("recipes", ".txt")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the environment names, which is not there yet."""
    monkeypatch.setenv(FOLDER, str(tmp_path / "config"))
    return tmp_path / "config" / "recipes"


def test_they_are_in_the_folder_that_the_environment_names(folder: Path) -> None:
    assert RECIPES.folder == folder


@pytest.mark.parametrize("named", ["", None])
def test_without_one_they_are_in_the_platforms_folder_for_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str | None
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    if named is None:
        monkeypatch.delenv(FOLDER, raising=False)
    else:
        monkeypatch.setenv(FOLDER, named)
    assert RECIPES.folder.is_relative_to(tmp_path)
    assert RECIPES.folder.parts[-2:] == ("refold", "recipes")


def test_without_a_folder_there_are_none(folder: Path) -> None:
    assert (RECIPES.names(), RECIPES.find("soup")) == ([], None)
    assert not folder.exists()


def test_one_that_is_added_is_found_by_its_name(folder: Path) -> None:
    path = RECIPES.add("soup", "Stir.")
    assert (path, path.read_text()) == (folder / "soup.txt", "Stir.")
    assert (RECIPES.names(), RECIPES.find("soup")) == (["soup"], path)


def test_names_are_in_order_and_of_files_with_the_suffix_only(folder: Path) -> None:
    for name in ("b.txt", "a.txt", "c.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    (folder / "folder.txt").mkdir()
    assert RECIPES.names() == ["a", "b"]


def test_one_that_is_there_is_not_replaced(folder: Path) -> None:
    path = folder / "soup.txt"
    RECIPES.add("soup", "Stir.")
    with pytest.raises(BadInputError) as info:
        RECIPES.add("soup", "Shake.")
    assert info.value.source == str(path)
    assert path.read_text() == "Stir."


@pytest.mark.parametrize("name", ["../soup", "a/soup", ".soup", "..", "", "so\nup", "so\x1bup", "so\ud83dup"])
def test_a_name_that_no_file_should_have_is_refused_and_found_nowhere(folder: Path, name: str) -> None:
    with pytest.raises(BadInputError) as info:
        RECIPES.add(name, "")
    assert info.value.source == repr(name)
    assert not folder.exists()


@pytest.mark.parametrize("name", ["../outside", "a/../../outside", "/etc/passwd"])
def test_a_name_leads_out_of_the_folder_nowhere(folder: Path, name: str) -> None:
    folder.mkdir(parents=True)
    (folder.parent / "outside.txt").write_text("")
    assert RECIPES.find(name) is None


@pytest.mark.parametrize("path", ["soup.txt", "./soup", "a/soup"])
def test_what_has_the_suffix_or_a_separator_is_a_path(path: str) -> None:
    assert RECIPES.is_path(path)
    assert not RECIPES.is_path("soup")


@pytest.mark.parametrize("kind", ["policies", "templates"])
@pytest.mark.parametrize("action", ["show", "new", "check"])
def test_what_is_about_one_needs_its_name(refold: Refold, kind: str, action: str) -> None:
    refold.refused(click.UsageError, kind, action, code=2)


@pytest.mark.parametrize("kind", ["policies", "templates"])
def test_where_one_begins_from_goes_with_a_new_one(refold: Refold, kind: str) -> None:
    refold.refused(click.UsageError, kind, "show", "pi", "--from", "pi", code=2)


names = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
scalars = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
flat = st.dictionaries(names, scalars | st.lists(scalars))
tables = st.dictionaries(names, scalars | st.lists(scalars) | flat | st.lists(flat, min_size=1))


@pytest.mark.slow
@given(tables)
def test_what_is_written_is_read_as_it_was(values: dict[str, Any]) -> None:
    assert tomllib.loads(toml_text(values)) == values


def test_what_is_no_table_stands_before_tables_wherever_it_was() -> None:
    given = {"list": [{"a": 1}], "table": {"b": "x"}, "plain": True, "empty": []}
    assert toml_text(given) == 'plain = true\nempty = []\n\n[[list]]\na = 1\n\n[table]\nb = "x"\n'


def test_large_numbers_are_easy_to_read() -> None:
    assert toml_text({"tokens": 40000, "share": 0.25}) == "tokens = 40_000\nshare = 0.25\n"


def test_what_toml_has_no_word_for_is_left_out() -> None:
    assert toml_text({"nothing": None, "table": {"nothing": None, "a": 1}}) == "[table]\na = 1\n"


def test_tuples_are_lists() -> None:
    assert toml_text({"tools": ("skill", "read")}) == 'tools = ["skill", "read"]\n'


def test_an_environment_that_names_a_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config").write_text("")
    monkeypatch.setenv(FOLDER, str(tmp_path / "config"))
    for use in (RECIPES.names, lambda: RECIPES.find("bread"), lambda: RECIPES.add("bread", "flour")):
        with pytest.raises(BadInputError) as refused:
            use()
        assert str(tmp_path / "config") in refused.value.source
