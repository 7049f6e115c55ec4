"""Compare the output of each command, word for word, with its golden file."""

from __future__ import annotations

from difflib import unified_diff

import pytest

from cli.main import COMMANDS
from tests.cli.golden import FOLDER, golden_file, transcript
from tests.cli.golden.scenes import SCENES


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
