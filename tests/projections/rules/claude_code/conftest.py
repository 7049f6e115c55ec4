"""Provide a log for sessions of Claude Code."""

from __future__ import annotations

import pytest

from eventstore.memory import MemoryLog


@pytest.fixture
def log() -> MemoryLog:
    return MemoryLog()
