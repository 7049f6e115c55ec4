"""Register the made-up harness for all tests here."""

from __future__ import annotations

import pytest

from eventstore.memory import MemoryLog


@pytest.fixture(autouse=True)
def _registered(madeup: None) -> None:
    del madeup


@pytest.fixture
def log() -> MemoryLog:
    return MemoryLog()
