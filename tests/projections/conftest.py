"""Sessions to fold: told here, or imported from pi."""

from __future__ import annotations

import pytest

from eventstore.memory import MemoryLog
from tests.support.events import NOW
from tests.support.talk import PiSession, Story


@pytest.fixture
def store() -> MemoryLog:
    """A log in memory: no fold or producer knows what stores a log."""
    return MemoryLog(clock=lambda: NOW)


@pytest.fixture
def story(store) -> Story:
    """A session that is being written."""
    return Story(store)


@pytest.fixture
def pi() -> PiSession:
    """A session file of pi, of version 3, that is being written."""
    return PiSession()
