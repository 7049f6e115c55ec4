"""Sessions to fold: told here, or imported from pi."""

from __future__ import annotations

import pytest

from tests.support.talk import PiSession, Story


@pytest.fixture
def story(store) -> Story:
    """A session that is being written to a store on disk."""
    return Story(store)


@pytest.fixture
def pi() -> PiSession:
    """A session file of pi, of version 3, that is being written."""
    return PiSession()
