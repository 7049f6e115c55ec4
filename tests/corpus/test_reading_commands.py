"""Run every reading command over every session of the corpus."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from eventstore import open_store
from tests.cli.running import Refold

OF_A_SESSION: Final = (
    "log SESSION",
    "log SESSION --json",
    "show SESSION '#2'",
    "tree SESSION",
    "tree SESSION --json",
    "context SESSION",
    "context SESSION --json",
    "context SESSION --format anthropic",
    "context SESSION --format native",
    "files SESSION",
    "audit SESSION",
    "audit SESSION --json",
    "audit SESSION --json",
    "report SESSION -o report.html",
    "diff SESSION root '#2'",
    "check SESSION",
    "rules SESSION",
    "export SESSION -o -",
    "export SESSION -o - --format pi --yes",
    "export SESSION -o - --format markdown",
)
OF_A_STORE: Final = (
    "sessions",
    "sessions --json",
    "search error",
    "search error --json",
    "audit --all",
    "audit --all --json",
    "check --all --json",
    "stats",
    "stats --json",
    "verify",
    "replay 6113e919 67d765b5 4b3ddf27",
)


@pytest.fixture(scope="module")
def refold(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Refold]:
    """Run commands on a store with the whole corpus, in an empty folder."""
    folder = tmp_path_factory.mktemp("corpus")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        # A bug ends in its exception.
        patch.setenv("REFOLD_TRACEBACK", "1")
        run = Refold(folder / "store")
        run("sync", corpus, code=None)
        run("sync", *sorted((corpus / "opencode").glob("*.json")), code=None)
        yield run


@pytest.fixture(scope="module")
def sessions(refold: Refold) -> list[str]:
    """List the sessions of the corpus."""
    with open_store(refold.store, create=False) as log, log.snapshot() as snapshot:
        return [head.name for head in snapshot.heads()]


def problem(refold: Refold, line: str) -> str:
    """Return how a command fails, unless it refuses in one line what it cannot do; "" if it does not."""
    done = refold(*shlex.split(line), code=None)
    is_refused = done.code == 1 and done.errors.startswith("refold: ")
    return "" if done.code == 0 or is_refused else f"{line}: {done.code}: {done.errors}"


@pytest.mark.parametrize("line", OF_A_SESSION)
def test_every_session_can_be_read(refold: Refold, sessions: list[str], line: str) -> None:
    lines = [line.replace("SESSION", each) for each in sessions]
    assert list(filter(None, (problem(refold, each) for each in lines))) == []


@pytest.mark.parametrize("line", OF_A_STORE)
def test_the_whole_store_can_be_read(refold: Refold, line: str) -> None:
    assert problem(refold, line) == ""
