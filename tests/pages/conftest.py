"""Fixtures of the pages' tests: the Chromium that is on the machine, and pages to open in it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bench.sessions import session_file
from cli.demo.player import play
from cli.views.page.build import build_page
from cli.views.page.html import page_bytes
from eventstore import EventLog, open_store
from eventstore.files.importing import import_file
from eventstore.memory import MemoryLog
from tests.cli.views.page.reading import material_of
from tests.pages.browsing import Visit, visit
from tests.pages.hostile import PAYLOADS, hostile
from tests.support.patience import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests of a file."""
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        pytest.skip(f"no Chromium on this machine: none of {', '.join(_NAMES)} is on the path")
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install '.[dev]'"
    )
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=program, args=_ARGUMENTS, timeout=1000 * PATIENCE)
        yield launched
        launched.close()


def _written(folder: Path, log: EventLog, session: str, *, is_full: bool = False) -> Path:
    file = folder / "page.html"
    file.write_bytes(page_bytes(build_page(material_of(log, session), is_full=is_full)))
    return file


@pytest.fixture(scope="session")
def demo_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo session's page."""
    log = MemoryLog(clock=lambda: 0)
    return _written(tmp_path_factory.mktemp("demo"), log, play(log))


@pytest.fixture(scope="session")
def hostile_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a session that tries to run, with all texts whole."""
    folder, log = tmp_path_factory.mktemp("hostile"), MemoryLog(clock=lambda: 0)
    (folder / "session.jsonl").write_bytes(hostile(PAYLOADS[0]))
    return _written(folder, log, import_file(log, folder / "session.jsonl").id, is_full=True)


@pytest.fixture(scope="session")
def large_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a session of 5,000 entries."""
    folder = tmp_path_factory.mktemp("large")
    with open_store(folder / "store") as log:
        return _written(folder, log, import_file(log, session_file(5000, 60, folder)).id)


@pytest.fixture
def demo(browser: Browser, demo_file: Path) -> Iterator[Visit]:
    """The demo session's page on a desktop."""
    with visit(browser, demo_file) as visited:
        yield visited
