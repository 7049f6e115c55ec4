"""Fixtures of the tests of extraction."""

from __future__ import annotations

import time

import pytest


@pytest.fixture
def seconds():
    """How many seconds of processor time a call takes."""

    def taken(function, *arguments):
        began = time.process_time()
        function(*arguments)
        return time.process_time() - began

    return taken
