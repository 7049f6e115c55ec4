"""Read from a server's reply if and when to try again, and report it safely."""

from __future__ import annotations

import pytest

from compaction.summarizers.refusals import (
    connection_problem,
    is_transient,
    seconds_to_wait,
    single_line_message,
    strip_credentials,
)

NOW = "Sun, 22 Nov 2026 00:00:00 GMT"


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529, 599])
def test_these_pass(status):
    assert is_transient(status, {})


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 413, 422])
def test_these_stay(status):
    assert not is_transient(status, {})


@pytest.mark.parametrize(("said", "passes"), [("true", True), ("false", False)])
def test_a_server_that_says_whether_to_try_again_knows_best(said, passes):
    assert [is_transient(status, {"x-should-retry": said}) for status in (400, 500)] == [passes, passes]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "7"}, 1.5),
        ({"retry-after": "Sun, 22 Nov 2026 00:01:30 GMT", "date": NOW}, 90.0),
        ({"retry-after": "Sat, 21 Nov 2026 23:00:00 GMT", "date": NOW}, 0),
        ({"retry-after": "Sun, 22 Nov 2026 00:01:30 GMT"}, None),
        ({"retry-after": "Sun, 22 Nov 2026 00:01:30", "date": NOW}, None),
        ({"retry-after": "soon", "date": NOW}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
    ],
)
def test_the_wait_that_a_server_asks_for(headers, seconds):
    assert seconds_to_wait(headers) == seconds


def test_what_a_server_says_becomes_one_line():
    assert single_line_message(" No\n\n  such\tmodel. ") == "No such model."


def test_what_a_server_says_at_length_is_reported_in_part():
    assert single_line_message("x" * 161) == "x" * 160 + "…"


@pytest.mark.parametrize(
    ("page", "told"),
    [
        ("Bad gateway<br>" * 5, "Bad gateway"),
        (
            "<html><title>502 Bad</title><style>a {}</style><!-- b --><h1>502 Bad</h1><hr>nginx/1.27",
            "502 Bad nginx/1.27",
        ),
        ("expected <int> in a<b", "expected <int> in a<b"),
    ],
)
def test_of_a_page_only_its_words_are_reported_and_each_line_of_them_once(page, told):
    assert single_line_message(page) == told


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("[Errno 111] Connection refused", "Connection refused"),
        ("[Errno -2] Name or service not known", "Name or service not known"),
        ("timed out", "timed out"),
        ("", "OSError"),
    ],
)
def test_what_becomes_of_a_connection_is_told_in_words(said, told):
    assert connection_problem(OSError(said)) == told


def test_what_is_no_http_is_reported_without_its_bytes():
    told = connection_problem(OSError("illegal status line: bytearray(b'SSH-2.0')"))
    assert ("HTTP" in told, "SSH" in told, "bytearray" in told) == (True, False, False)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://host:80/path", "http://host:80/path"),
        ("https://me:secret@host/path?token=secret", "https://host/path"),
        ("https://secret@host", "https://host"),
        ("https://host/@me", "https://host/@me"),
        ("nowhere", "nowhere"),
    ],
)
def test_what_may_be_secret_in_an_address_is_not_shown(address, shown):
    assert strip_credentials(address) == shown
