from __future__ import annotations

import shutil
import subprocess

import pytest

from cli.main import COMMANDS
from tests.cli.running import Refold, command

SHELLS = ["bash", "zsh", "fish"]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_reads_its_script_without_complaint(refold: Refold, shell: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} on this machine")
    checked = subprocess.run(
        [program, "-n"], input=refold("completion", shell).raw, capture_output=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, b"")


def completed(refold: Refold, words: str, index: int) -> list[str]:
    """Return the completions that the program prints for bash."""
    done = subprocess.run(
        command(),
        env=refold.environment(_REFOLD_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(index)),
        capture_output=True,
        text=True,
        check=False,
    )
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_commands_are_completed(refold: Refold) -> None:
    assert completed(refold, "refold ", 1) == list(COMMANDS)
    assert completed(refold, "refold te", 1) == ["templates"]


def test_options_are_completed(refold: Refold) -> None:
    assert completed(refold, "refold audit --f", 2) == ["--fail-on"]


@pytest.mark.slow
def test_choices_are_completed(refold: Refold) -> None:
    choices = ["text", "native", "pi", "anthropic", "openai-responses", "openai-chat"]
    assert completed(refold, "refold context s --format ", 4) == choices


def test_no_store_is_needed(refold: Refold) -> None:
    refold("completion", "bash")
    assert not refold.store.exists()
