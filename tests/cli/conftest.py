"""Fixtures of the command's tests: a folder to stand in, a store of one's own, a session whose figures are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import TypeVar

import pytest

from tests.cli import long_talk
from tests.cli.running import UNWANTED, Refold
from tests.cli.tale import write
from tests.support.local_http import LocalServer, name_server
from tests.support.messages_api import MessagesApi

S = TypeVar("S", bound=LocalServer)


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the tester's own settings has a say in what is printed."""
    for name in UNWANTED:
        monkeypatch.delenv(name, raising=False)
    # A fault of refold fails a test with its traceback, whatever exit code the test expects.
    monkeypatch.setenv("REFOLD_TRACEBACK", "1")
    # What a test replaces is not replaced in other processes.
    monkeypatch.setattr("eventstore.workers.cores", lambda: 1)


@pytest.fixture(params=[1, pytest.param(2, marks=pytest.mark.slow)])
def cores(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """One process works on several sessions, or two."""
    monkeypatch.setattr("eventstore.workers.cores", lambda: request.param)


@pytest.fixture
def refold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Refold:
    """The command with a store that is not there yet, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return Refold(tmp_path / "store")


@pytest.fixture
def told(refold: Refold, tmp_path: Path) -> Refold:
    """The command with a store that holds the tale, as imported from `tale.jsonl`."""
    refold("sync", write(tmp_path / "tale.jsonl"))
    return refold


@pytest.fixture
def talked(refold: Refold, tmp_path: Path) -> Refold:
    """The command with a store that holds a session which is due for a compaction."""
    refold("sync", long_talk.write(tmp_path / "talk.jsonl"))
    return refold


@pytest.fixture
def o200k(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vocabulary in the place of o200k's, by which every character is a token."""
    vocabulary = SimpleNamespace(encode_ordinary=list)
    monkeypatch.setattr("projections.tokens._o200k", lambda _: vocabulary)


@pytest.fixture
def messages_api(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., MessagesApi]]:
    """From replies to a server of the Messages API that gives them in turn, and that summarizers ask."""
    with ExitStack() as servers:
        yield lambda *replies: _asked(monkeypatch, servers.enter_context(MessagesApi(*replies)))


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., LocalServer]]:
    """From replies to a server that gives them in turn, and that summarizers ask."""
    with ExitStack() as servers:
        yield lambda *replies: _asked(monkeypatch, servers.enter_context(LocalServer(*replies)))


def _asked(patch: pytest.MonkeyPatch, server: S) -> S:
    name_server(patch, server.url)
    return server
