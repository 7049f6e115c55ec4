"""Fixtures of all tests: real logs with a clock that stands still, and the corpus of real sessions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from eventstore import EventLog, open_store
from eventstore.lmdb_log import LmdbLog
from eventstore.memory_log import MemoryLog
from tests.support.events import NOW

PROJECT = Path(__file__).parent.parent

# What a gate says must not hang on chance; elsewhere every run looks at other examples.
hypothesis.settings.register_profile("gate", derandomize=True)
if os.environ.get("CI"):
    hypothesis.settings.load_profile("gate")


@pytest.fixture(scope="session", autouse=True)
def no_keys() -> Iterator[None]:
    """No test asks a model: of whoever runs them neither keys, nor addresses, nor settings are used."""
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith("ANTHROPIC_") or name in ("REFOLD_SUMMARIZER_ENDPOINT", "REFOLD_CONFIG"):
                patch.delenv(name)
        yield


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LmdbLog]:
    """A new store on disk."""
    with open_store(tmp_path / "store", clock=lambda: NOW) as log:
        yield log


@pytest.fixture(params=["lmdb", "memory"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EventLog]:
    """A new log of each kind: what is promised of one is promised of both."""
    if request.param == "memory":
        yield MemoryLog(clock=lambda: NOW)
    else:
        with open_store(tmp_path / "store", clock=lambda: NOW) as opened:
            yield opened


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real sessions."""
    folder = Path(os.environ.get("REFOLD_CORPUS") or PROJECT / "../shared/corpus").resolve()
    if not folder.is_dir():
        pytest.skip(f"no corpus of real sessions at {folder}; set REFOLD_CORPUS to its folder")
    return folder
