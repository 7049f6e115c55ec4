from __future__ import annotations

from pathlib import Path

import pytest

from cli.user_files import FOLDER, OwnFiles
from eventstore.errors import BadInputError

RECIPES = OwnFiles("recipes", ".txt")


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
