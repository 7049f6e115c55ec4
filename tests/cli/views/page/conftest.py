"""Fixtures of the report's tests: what the demo session gives, read once."""

from __future__ import annotations

import pytest

from cli.demo.player import play
from cli.views.page.build import build_page
from cli.views.page.material import Material
from cli.views.page.parts import Page
from eventstore import EventLog
from eventstore.memory import MemoryLog
from tests.cli.views.page.reading import material_of
from tests.support.talk import Story


@pytest.fixture(scope="session")
def demo() -> Material:
    """Read the material of the demo session's page."""
    log = MemoryLog(clock=lambda: 0)
    return material_of(log, play(log))


@pytest.fixture(scope="session")
def demo_page(demo: Material) -> Page:
    """The demo session's page."""
    return build_page(demo)


@pytest.fixture
def story(store: EventLog) -> Story:
    """A session that nothing has happened in yet."""
    return Story(store)
