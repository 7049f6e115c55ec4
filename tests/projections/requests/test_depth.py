"""Limit the nesting of a JSON value."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.requests.tool_calls import DEEPEST, is_too_deep
from tests.support.nested import NESTED


def depth(value):
    within = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (1 if isinstance(value, dict | list) else 0) + max(map(depth, within), default=0)


@pytest.mark.parametrize(("opened", "closed"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_a_hundred_levels_are_not_too_deep_and_one_more_is(opened, closed):
    assert not is_too_deep(opened * DEEPEST + b"1" + closed * DEEPEST)
    assert is_too_deep(opened * (DEEPEST + 1) + b"1" + closed * (DEEPEST + 1))


@pytest.mark.parametrize("text", ["[" * 300, "\\" + "{" * 300, '"' * 3 + "[" * 300])
def test_brackets_in_texts_are_no_levels(text):
    assert not is_too_deep(json.dumps([text, {text: text}]).encode())


def test_brackets_side_by_side_are_one_level():
    assert not is_too_deep(json.dumps([[]] * 300).encode())


@given(
    NESTED,
    st.integers(90, 101),
)
def test_a_value_inside_others_is_too_deep_where_all_levels_together_are_more(value, around):
    raw = b"[" * around + json.dumps(value).encode() + b"]" * around
    assert is_too_deep(raw) == (around + depth(value) > DEEPEST)
