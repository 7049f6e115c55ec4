"""Load hooks, combine their answers, and report broken ones."""

from __future__ import annotations

import re
import sys

import pytest

from compaction.hooks import (
    Cancel,
    HookErrors,
    Hooks,
    PromptAdditions,
    SuppliedSummary,
    call_hooks_before,
    collect_prompt_additions,
    installed_hooks,
)

PLAN = object()
"""A plan that these hooks do not look at."""


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
    hook_errors = HookErrors()
    hook_errors.call(hooks, "before_compaction", None)
    return hook_errors


def test_an_installed_hook_is_found(installed):
    source = "from compaction.hooks import Cancel, Hooks\nmine = Hooks(name='mine', before_compaction=lambda _: 1/0)"
    (hooks,) = installed("hook_of_mine:mine", source)
    assert told(hooks) == ["hook mine, before_compaction: ZeroDivisionError: division by zero"]


def test_a_hook_that_cannot_be_imported_is_told_of_and_stops_nothing(installed):
    (hooks,) = installed("no_such_module_of_mine:mine")
    (trouble,) = told(hooks)
    assert trouble.startswith("hook mine, before_compaction: ModuleNotFoundError: ")


def test_an_entry_point_that_gives_no_hooks_is_told_of(installed):
    (hooks,) = installed("hook_of_mine:mine", "def mine():\n    return 3\n")
    (trouble,) = told(hooks)
    assert trouble.startswith("hook mine, before_compaction: TypeError: hook_of_mine:mine ")


def test_the_first_that_cancels_or_supplies_leads():
    hooks = [
        Hooks(name="a", before_compaction=lambda _: None),
        Hooks(name="b", before_compaction=lambda _: SuppliedSummary(summary="mine")),
        Hooks(name="c", before_compaction=lambda _: Cancel("no")),
    ]
    assert call_hooks_before(hooks, "before_compaction", PLAN, HookErrors()) == SuppliedSummary(
        summary="mine"
    )


def test_all_add_to_the_prompt():
    hooks = [
        Hooks(
            name="a", prompting=lambda _: PromptAdditions(prompt="A", context=("1",), preserve_data={"a": 1})
        ),
        Hooks(name="b", prompting=lambda _: PromptAdditions(context=("2",), preserve_data={"b": 2})),
    ]
    added = collect_prompt_additions(hooks, PLAN, HookErrors())
    assert added == PromptAdditions(prompt="A", context=("1", "2"), preserve_data={"a": 1, "b": 2})


def test_an_answer_of_another_kind_is_reported_and_not_used():
    hook_errors = HookErrors()
    hooks = [Hooks(name="a", before_compaction=lambda _: PromptAdditions(prompt="A"))]
    assert call_hooks_before(hooks, "before_compaction", PLAN, hook_errors) is None
    (trouble,) = hook_errors
    assert trouble.startswith("hook a, before_compaction: TypeError: ")
    assert re.findall("PromptAdditions|Cancel|SuppliedSummary", trouble) == [
        "PromptAdditions",
        "Cancel",
        "SuppliedSummary",
    ]


def test_what_a_hook_gives_that_is_only_told_is_nothing_to_anybody():
    hook_errors = HookErrors()
    assert hook_errors.call(Hooks(name="a", after_compaction=lambda ids: ids), "after_compaction", []) is None
    assert hook_errors == []
