"""Provide cores, and a service that makes two processes wait for each other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from threading import Barrier

import pytest

from tests.support.local_http import Exchange, LocalServer, name_server
from tests.support.patience import PATIENCE
from tests.support.processes import cores


@pytest.fixture
def one_core() -> Iterator[None]:
    """Have one core, so that commands work in one process."""
    with cores(1):
        yield


@pytest.fixture
def two_cores() -> Iterator[None]:
    """Have two cores, so that commands work in two processes."""
    with cores(2):
        yield


@pytest.fixture
def patient_service(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A service for summarizers to ask, that answers nobody until two have asked."""
    both = Barrier(2)

    def reply(exchange: Exchange) -> None:
        both.wait(timeout=PATIENCE)
        exchange.answer(200, json.dumps({"summary": "In short."}).encode())

    with LocalServer(reply) as server:
        name_server(monkeypatch, server.url)
        yield
