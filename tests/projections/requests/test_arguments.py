"""Arguments of calls as the input of a tool."""

from __future__ import annotations

import json

import pytest

from projections.requests.repairs import Repairs
from projections.requests.tool_calls import input_json


def given(arguments):
    """The input, and the rules by which it was repaired."""
    repairs = Repairs([])
    made = input_json(arguments, repairs.of("e1"))
    return made, [repair.rule for repair in repairs.made]


@pytest.mark.parametrize(
    "arguments", [b"{}", b'{ "b":1.0, "a":[1e3], "b":"\\ud83d\\ude00" }', '{"é":"😀"}'.encode()]
)
def test_an_object_stays_byte_for_byte(arguments):
    assert given(arguments) == (arguments, [])


@pytest.mark.parametrize("arguments", [b"null", b"7", b'"text"', b"[1, 2]", b"true"])
def test_what_is_no_object_stands_in_one(arguments):
    assert given(arguments) == (b'{"arguments":%s}' % arguments, ["arguments"])


@pytest.mark.parametrize(
    ("arguments", "made"),
    [
        (b'{"a":"x \\ud83d y"}', {"a": "x \ufffd y"}),
        (b'{"\\udc00":1}', {"\ufffd": 1}),
        (b'{"a":"\\\\ud83d \\ud83d"}', {"a": "\\ud83d \ufffd"}),
        (b'{"a":1e999}', {"a": None}),
        (b'{"a":"\xff"}', {"a": "\ufffd"}),
    ],
)
def test_what_cannot_be_sent_is_mended(arguments, made):
    mended, noted = given(arguments)
    assert (json.loads(mended.decode()), noted) == (made, ["surrogate"])


def test_what_cannot_be_sent_and_is_no_object_is_both():
    assert given(b'"\\ud83d"') == ('{"arguments":"\ufffd"}'.encode(), ["surrogate", "arguments"])


def nested(levels):
    return b'{"a":%s"{["%s}' % (b"[" * (levels - 1), b"]" * (levels - 1))


def test_an_object_of_100_levels_stays_byte_for_byte():
    assert given(nested(100)) == (nested(100), [])


@pytest.mark.parametrize("levels", [101, 900, 100_000])
def test_an_object_of_more_levels_is_left_out_whatever_the_callers_stack_holds(levels):
    assert given(nested(levels)) == (b"{}", ["arguments"])


@pytest.mark.parametrize("arguments", [b"{", b"", b'{"a":' + b"[" * 100_000])
def test_what_no_reader_takes_is_left_out(arguments):
    assert given(arguments) == (b"{}", ["arguments"])
