"""Provide a service that makes two processes wait for each other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from threading import Barrier

import pytest

from tests.support.local_http import Exchange, LocalServer, name_server
from tests.support.patience import PATIENCE


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
