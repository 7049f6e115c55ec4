"""Compare the output of each command, word for word, with its golden file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import unified_diff

import pytest

from cli.main import COMMANDS
from tests.cli.golden import FOLDER, Run, Scene, golden_file, transcript
from tests.cli.golden.scenes import SCENES
from tests.support.postgres import Server


@pytest.mark.parametrize("name", SCENES)
def test_a_command_prints_what_its_golden_file_holds(name: str) -> None:
    held, printed = golden_file(name).read_text("utf-8"), transcript(SCENES[name])
    if held != printed:
        lines = unified_diff(held.splitlines(), printed.splitlines(), "golden", "printed", lineterm="")
        said = "\n".join(lines)
        pytest.fail(f"{said}\nIf this is meant: python -m tests.cli.golden {name}", pytrace=False)


def test_every_command_has_its_golden_file_and_there_is_no_other() -> None:
    assert list(SCENES) == ["refold", *COMMANDS]
    assert {path.name for path in FOLDER.glob("*.txt")} == {f"{name}.txt" for name in SCENES}
    modules = {"__init__", "refold", *(module for module, _ in COMMANDS.values())}
    assert {path.stem for path in (FOLDER / "scenes").glob("*.py")} == modules


DIFFERENT_THERE = {"backup", "demo"}
"""Commands that refuse a database, or whose scenes name the folder of the store."""


def without_files_of_the_store(scenes: Sequence[Scene]) -> list[Scene]:
    """Leave out what reads, names or damages a store's files."""
    return [
        replace(
            scene,
            steps=[
                step
                for step in scene.steps
                if not callable(step)
                and not (step.line if isinstance(step, Run) else str(step)).endswith(" store")
            ],
        )
        for scene in scenes
        if scene.setup.__name__ not in ("four_sessions", "damaged_in_session_2")
    ]


THERE_IN_EVERY_RUN = {"sync", "log", "search", "audit", "compact", "verify"}
"""Commands that read and write in each of the ways that the store has."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in THERE_IN_EVERY_RUN else pytest.mark.long)
        for name in SCENES
        if name not in DIFFERENT_THERE
    ],
)
def test_a_command_prints_the_same_about_a_store_in_postgres(name: str, postgres: Server) -> None:
    scenes = without_files_of_the_store(SCENES[name])
    there = transcript(scenes, new_store=postgres.new_store)
    assert there.replace("check the address, ", "check the path, ") == transcript(scenes)
