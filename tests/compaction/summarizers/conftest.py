"""Servers on this machine, and an environment without keys."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.support.local_http import LocalServer
from tests.support.messages_api import MessagesApi


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch, tmp_path):
    """Hide the configuration of the person who runs the tests."""
    for name in [name for name in os.environ if name.startswith(("ANTHROPIC_", "OPENAI_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def _servers() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def messages_api(_servers):
    """From replies to a server of the Messages API that gives them in turn."""
    return lambda *replies: _servers.enter_context(MessagesApi(*replies))


@pytest.fixture
def server(_servers):
    """From replies to a server that gives them in turn."""
    return lambda *replies: _servers.enter_context(LocalServer(*replies))
