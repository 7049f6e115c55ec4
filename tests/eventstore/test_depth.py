"""Limit the nesting of JSON, and report records from before there was a limit."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore.harnesses.pi.entry import entry_of
from eventstore.harnesses.pi.message import message_view
from eventstore.javascript import TooDeepError, is_deeper, tolerant_json
from eventstore.records import record_of
from tests.support import sentences
from tests.support.growth import NO_SQUARE, times_as_long
from tests.support.nested import NESTED

DEEP = b"[" * 50_000 + b"]" * 50_000
"""Deeper than any Python follows a value."""


def depth(value):
    within = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (1 if isinstance(value, dict | list) else 0) + max(map(depth, within), default=0)


@pytest.mark.parametrize(("opened", "closed"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_so_many_levels_are_not_deeper_and_one_more_is(opened, closed):
    assert not is_deeper(opened * 7 + b"1" + closed * 7, 7)
    assert is_deeper(opened * 8 + b"1" + closed * 8, 7)


def test_a_text_that_is_never_closed_takes_time_that_grows_with_it():
    def line(length):
        return b"[" * 600 + b'"' + b'\\"' * length

    assert times_as_long(lambda raw: is_deeper(raw, 500), line(2_000), line(16_000)) < NO_SQUARE


@given(
    NESTED,
    st.integers(0, 6),
)
def test_it_is_the_deepest_value_that_counts_and_no_text(value, levels):
    assert is_deeper(json.dumps(value).encode(), levels) == (depth(value) > levels)


@pytest.mark.parametrize(
    "read",
    [
        lambda: tolerant_json(DEEP),
        lambda: entry_of(b'{"type":"custom","x":' + DEEP + b"}"),
        lambda: message_view(b'{"role":"user","content":' + DEEP + b"}"),
        lambda: record_of("custom", b'{"type":"custom","customType":"x","data":' + DEEP + b"}"),
    ],
    ids=["any JSON", "an entry", "a message", "a record"],
)
def test_what_is_stored_deeper_is_reported_in_one_line(read):
    with pytest.raises(TooDeepError) as raised:
        read()
    assert sentences.numbers(str(raised.value)) == [500]
    assert "\n" not in str(raised.value)
