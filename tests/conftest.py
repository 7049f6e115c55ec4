"""Fixtures of all tests: real logs with a clock that stands still, and the corpus of real sessions."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from eventstore import EventLog, open_store
from eventstore.lmdb.store import LmdbLog
from eventstore.memory import MemoryLog
from tests.support.events import NOW
from tests.support.madeup import format as madeup_format
from tests.support.madeup import rules as madeup_rules
from tests.support.postgres import Server, new_server, remove

PROJECT = Path(__file__).parent.parent

# Without it, every process that a test starts would compile each of refold's modules anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A shell starts jobs in the background with this signal ignored, and so would all processes that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# In memory, a flush costs nothing. What is about disks mounts its own.
_MEMORY = Path("/dev/shm")  # noqa: S108  pytest and tempfile make folders of their own there
if "TMPDIR" not in os.environ and _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > 4 << 30:
    os.environ["TMPDIR"] = tempfile.tempdir = str(_MEMORY)

# The result of CI must not depend on chance; elsewhere each run tries a few other examples.
# An example's duration depends on the load of the machine, not on refold.
_PATIENT: dict[str, Any] = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("ci", derandomize=True, max_examples=100, **_PATIENT)
hypothesis.settings.register_profile("dev", max_examples=20, **_PATIENT)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "dev")

_SLOW_FOLDERS = ("tests/corpus/", "tests/pages/", "tests/processes/")
_SLOW_LEFT_OUT = pytest.StashKey[int]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Mark as slow what is long, reads the corpus, drives the browser, or has processes compete and die."""
    for item in items:
        is_long = item.get_closest_marker("long") is not None
        if is_long or item.nodeid.startswith(_SLOW_FOLDERS) or "corpus" in getattr(item, "fixturenames", ()):
            item.add_marker("slow")


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Count the slow tests that `-m 'not slow'` leaves out."""
    if items and items[0].config.option.markexpr == "not slow":
        slow = sum(item.get_closest_marker("slow") is not None for item in items)
        items[0].config.stash[_SLOW_LEFT_OUT] = slow


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the process that started this one, if it was pytest-xdist's."""
    if (to_parent := getattr(session.config, "workeroutput", None)) is not None:
        to_parent["slow_left_out"] = session.config.stash.get(_SLOW_LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Hear it: each process counts all tests, so one number stands for all of them."""
    node.config.stash[_SLOW_LEFT_OUT] = getattr(node, "workeroutput", {}).get("slow_left_out", 0)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say that the slow tests did not run."""
    if slow := config.stash.get(_SLOW_LEFT_OUT, 0):
        terminalreporter.write_line(
            f"{slow} slow tests left out: `pytest -m ''` runs all, `-m slow` only those"
        )


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


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server without any store."""
    server = new_server()
    yield server
    remove(server)


@pytest.fixture(params=["lmdb", "memory", "postgres"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EventLog]:
    """A new log of each kind: what is promised of one is promised of all."""
    if request.param == "memory":
        yield MemoryLog(clock=lambda: NOW)
        return
    path = tmp_path / "store" if request.param == "lmdb" else request.getfixturevalue("postgres").new_store()
    with open_store(path, clock=lambda: NOW) as opened:
        yield opened


@pytest.fixture
def madeup(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the made-up harness."""
    madeup_format.register(monkeypatch)
    madeup_rules.register(monkeypatch)


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real sessions."""
    folder = Path(os.environ.get("REFOLD_CORPUS") or PROJECT / "../shared/corpus").resolve()
    if not folder.is_dir():
        pytest.skip(f"no corpus of real sessions at {folder}; set REFOLD_CORPUS to its folder")
    return folder
