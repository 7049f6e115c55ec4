"""Hooks of an installed package have a say in what the commands do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.long_talk import SESSION
from tests.cli.running import PROJECT, Outcome, Refold

COMPACT = ("compact", SESSION, "--keep-recent", "250", "--summarizer", "extractive")
GO = ("go", SESSION, "a3", "--summarize", "--summarizer", "extractive")
HEAD = "from compaction.hooks import Cancel, Hooks, PromptAdditions, SuppliedSummary\n"


def run(refold: Refold, folder: Path, code: str, *arguments: str, exits: int = 0) -> Outcome:
    """A command where a package is installed whose hooks are what this code calls `hooks`."""
    installed = folder / "installed"
    (installed / "ticketing-1.0.dist-info").mkdir(parents=True)
    (installed / "ticketing-1.0.dist-info" / "METADATA").write_text("Name: ticketing\nVersion: 1.0\n")
    points = "[refold.hooks]\nticketing = ticketing:hooks\n"
    (installed / "ticketing-1.0.dist-info" / "entry_points.txt").write_text(points)
    (installed / "ticketing.py").write_text(HEAD + code)
    path = os.pathsep.join(map(str, (PROJECT, installed)))
    return refold.program(*arguments, code=exits, PYTHONPATH=path)


def newest(refold: Refold, kind: str) -> dict[str, object]:
    (*_, event) = refold("log", SESSION, "--kind", kind, "--json").json_lines
    found: dict[str, object] = refold("show", SESSION, event["id"], "--json").json["record"]
    return found


@pytest.mark.parametrize(("arguments", "function"), [(COMPACT, "before_compaction"), (GO, "before_move")])
def test_one_calls_it_off(talked: Refold, tmp_path: Path, arguments: tuple[str, ...], function: str) -> None:
    code = f'hooks = Hooks(name="ticketing", {function}=lambda _: Cancel("the ticket is closed"))'
    tree = talked("tree", SESSION, "--json").raw
    told = run(talked, tmp_path, code, *arguments, exits=1).errors
    assert (told.count("\n"), ": the ticket is closed" in told) == (1, True)
    assert talked("tree", SESSION, "--json").raw == tree
    assert newest(talked, "decision")["reason"] == "the ticket is closed"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "function", "kind"),
    [(COMPACT, "before_compaction", "compaction"), (GO, "before_move", "branch_summary")],
)
def test_one_supplies_the_summary(
    talked: Refold, tmp_path: Path, arguments: tuple[str, ...], function: str, kind: str
) -> None:
    code = (
        f'hooks = Hooks(name="ticketing", {function}=lambda _: SuppliedSummary(summary="As told in 4127."))'
    )
    run(talked, tmp_path, code, *arguments)
    assert "As told in 4127." in str(newest(talked, kind)["summary"])
    assert newest(talked, kind)["fromExtension"] is True


@pytest.mark.slow
def test_one_adds_what_is_kept_with_the_record(talked: Refold, tmp_path: Path) -> None:
    code = (
        'hooks = Hooks(name="ticketing", prompting=lambda _: PromptAdditions(preserve_data={"ticket": 4127}))'
    )
    run(talked, tmp_path, code, *COMPACT)
    assert newest(talked, "compaction")["preserveData"] == {"ticket": 4127}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "functions"),
    [(COMPACT, "before_compaction=broken, after_compaction=broken"), (GO, "before_move=broken")],
)
def test_one_that_raises_is_a_note_and_stops_nothing(
    talked: Refold, tmp_path: Path, arguments: tuple[str, ...], functions: str
) -> None:
    code = f'def broken(_):\n    raise OSError("no\\nnetwork")\nhooks = Hooks(name="ticketing", {functions})'
    outcome = run(talked, tmp_path, code, *arguments)
    assert len(outcome.errors.splitlines()) == len(outcome.notes) == functions.count("broken")
    assert all(" ticketing, " in note and "no network" in note for note in outcome.notes)
    assert newest(talked, "compaction" if arguments is COMPACT else "branch_summary")


@pytest.mark.parametrize("code", ["import nothing_of_the_kind", "hooks = 5", "hooks = lambda: None"])
def test_one_that_cannot_be_loaded_is_a_note_and_stops_nothing(
    talked: Refold, tmp_path: Path, code: str
) -> None:
    outcome = run(talked, tmp_path, code, *COMPACT)
    assert [" ticketing, " in note for note in outcome.notes] == [True]
    assert newest(talked, "compaction")
