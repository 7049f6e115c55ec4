"""Waiting for what may be called off."""

from __future__ import annotations

import socket
import threading
from threading import Event

import pytest

from compaction.summarizers import CancelledError
from compaction.summarizers.transport import CancellableTransport, run_cancellable
from tests.compaction.summarizers.prompts import never
from tests.support.patience import PATIENCE, comes


class _Stream:
    """A transport's stream, which knows the connection that it opened."""

    def __init__(self, connection):
        self.connection = connection

    def get_extra_info(self, name):
        return self.connection if name == "socket" else None


def opened(line, connection):
    request = type("Request", (), {"extensions": {"timeout": {}}})()
    line.hooks["request"][0](request)
    request.extensions["trace"]("connection.connect_tcp.complete", {"return_value": _Stream(connection)})
    return request


@pytest.fixture
def pair():
    one, other = socket.socketpair()
    with one, other:
        yield one, other


def test_what_a_request_gives_is_given():
    assert run_cancellable(lambda: 7, is_cancelled=never, line=CancellableTransport()) == 7


def test_what_a_request_raises_is_raised():
    def fails():
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        run_cancellable(fails, is_cancelled=never, line=CancellableTransport())


def test_a_thread_that_reads_is_woken_when_its_line_is_cut(pair):
    line = CancellableTransport()
    opened(line, pair[0])
    seen = []
    with pytest.raises(CancelledError):
        run_cancellable(lambda: seen.append(pair[0].recv(1)), is_cancelled=lambda: True, line=line)
    assert comes(lambda: seen == [b""])


def test_nothing_is_left_running(pair):
    line = CancellableTransport()
    opened(line, pair[0])
    with pytest.raises(CancelledError):
        run_cancellable(lambda: pair[0].recv(1), is_cancelled=lambda: True, line=line)
    assert comes(lambda: "refold summarizer" not in {each.name for each in threading.enumerate()})


@pytest.mark.slow
def test_a_cancelled_request_without_a_connection_was_not_sent(pair):
    released = Event()
    line = CancellableTransport()
    with pytest.raises(CancelledError) as unsent:
        run_cancellable(lambda: released.wait(PATIENCE), is_cancelled=lambda: True, line=line)
    opened(line, pair[0])
    with pytest.raises(CancelledError) as sent:
        run_cancellable(lambda: released.wait(PATIENCE), is_cancelled=lambda: True, line=line)
    released.set()
    assert (unsent.value.is_sent, sent.value.is_sent) == (False, True)


def test_a_connection_that_opens_after_the_cut_is_cut_too(pair):
    line = CancellableTransport()
    line.cut()
    opened(line, pair[0])
    assert pair[1].recv(1) == b""


def test_a_connection_that_is_gone_already_is_no_trouble(pair):
    line = CancellableTransport()
    opened(line, pair[0])
    pair[0].close()
    line.cut()
    assert pair[1].recv(1) == b""


def test_what_else_a_request_carries_stays(pair):
    assert opened(CancellableTransport(), pair[0]).extensions["timeout"] == {}


def test_a_result_that_is_there_is_not_thrown_away():
    done = Event()

    def is_cancelled():
        return not done.wait(PATIENCE)

    assert (
        run_cancellable(lambda: done.set() or 7, is_cancelled=is_cancelled, line=CancellableTransport()) == 7
    )
