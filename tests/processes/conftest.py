"""Provide cores, and a service that makes two processes wait for each other."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Barrier

import pytest

from tests.support.local_http import Exchange, LocalServer, name_server
from tests.support.patience import PATIENCE


@pytest.fixture
def one_core() -> Iterator[None]:
    """Have one core, so that commands work in one process."""
    with _cores(1):
        yield


@pytest.fixture
def two_cores() -> Iterator[None]:
    """Have two cores, so that commands work in two processes."""
    with _cores(2):
        yield


@contextmanager
def _cores(count: int) -> Iterator[None]:
    cores = os.sched_getaffinity(0)
    if len(cores) < count:
        pytest.skip("one core: one process works")
    os.sched_setaffinity(0, sorted(cores)[:count])
    yield
    os.sched_setaffinity(0, cores)


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
