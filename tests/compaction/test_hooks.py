"""What others say to a compaction, and what becomes of hooks that are broken."""

from __future__ import annotations

import sys

import pytest

from compaction.hooks import Hooks, Troubles, installed_hooks


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package is installed whose entry point for hooks is named `mine`."""

    def with_hook(entry_point: str, source: str = "") -> list[Hooks]:
        info = tmp_path / "mine-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
        (info / "entry_points.txt").write_text(f"[refold.hooks]\nmine = {entry_point}\n")
        (tmp_path / "hook_of_mine.py").write_text(source)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "hook_of_mine", raising=False)
        return [hooks for hooks in installed_hooks() if hooks.name == "mine"]

    return with_hook


def told(hooks):
    troubles = Troubles()
    troubles.ask(hooks, "before_compaction", None)
    return troubles


def test_an_installed_hook_is_found(installed):
    source = "from compaction.hooks import Cancel, Hooks\nmine = Hooks(name='mine', before_compaction=lambda _: 1/0)"
    (hooks,) = installed("hook_of_mine:mine", source)
    assert told(hooks) == ["hook mine, before_compaction: ZeroDivisionError: division by zero"]


def test_a_hook_that_cannot_be_imported_is_told_of_and_stops_nothing(installed):
    (hooks,) = installed("no_such_module_of_mine:mine")
    assert told(hooks) == [
        "hook mine, before_compaction: ModuleNotFoundError: No module named 'no_such_module_of_mine'"
    ]


def test_an_entry_point_that_gives_no_hooks_is_told_of(installed):
    (hooks,) = installed("hook_of_mine:mine", "def mine():\n    return 3\n")
    assert told(hooks) == ["hook mine, before_compaction: TypeError: hook_of_mine:mine gives no Hooks"]
