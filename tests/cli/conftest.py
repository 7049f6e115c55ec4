"""Fixtures of the command's tests: a folder to stand in, a store of one's own, a session whose figures are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import UNWANTED, Refold
from tests.cli.tale import write


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the tester's own settings has a say in what is printed."""
    for name in UNWANTED:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def refold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Refold:
    """The command with a store that is not there yet, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return Refold(tmp_path / "store")


@pytest.fixture
def told(refold: Refold, tmp_path: Path) -> Refold:
    """The command with a store that holds the tale, as imported from `tale.jsonl`."""
    refold("import", write(tmp_path / "tale.jsonl"))
    return refold
