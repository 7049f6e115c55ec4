from __future__ import annotations

import sys

import pytest

from eventstore.user_folders import user_folder

HOME = "/home/someone"


@pytest.mark.parametrize(
    ("system", "data", "config", "cache"),
    [
        ("linux", ".local/share", ".config", ".cache"),
        ("darwin", "Library/Application Support", "Library/Application Support", "Library/Caches"),
    ],
)
def test_folders_are_where_the_system_has_them(
    monkeypatch: pytest.MonkeyPatch, system: str, data: str, config: str, cache: str
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setenv("HOME", HOME)
    # A relative path has no meaning here.
    monkeypatch.setenv("XDG_DATA_HOME", "data")
    monkeypatch.setenv("XDG_CONFIG_HOME", "")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    found = [user_folder("data"), user_folder("config"), user_folder("cache")]
    assert found == [f"{HOME}/{folder}/refold" for folder in (data, config, cache)]


@pytest.mark.parametrize("kind", ["data", "config", "cache"])
def test_an_absolute_path_names_another(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setenv(f"XDG_{kind.upper()}_HOME", "/elsewhere")
    assert user_folder(kind) == "/elsewhere/refold"
