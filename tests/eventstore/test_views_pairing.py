"""Match tool results to their calls."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from eventstore.harnesses import format_of
from eventstore.views import call_indexes
from tests.support.talk import assistant, call, result, user


def pairs(*said):
    return call_indexes([format_of("pi/3").message(json.dumps(message).encode()) for message in said])


def test_a_result_belongs_to_the_message_with_its_call():
    assert pairs(assistant(call("bash", "a")), result("x", call_id="a")) == {1: 0}


def test_parallel_calls_share_a_message():
    said = [
        assistant(call("bash", "a"), call("bash", "b")),
        result("y", call_id="b"),
        result("x", call_id="a"),
    ]
    assert pairs(*said) == {1: 0, 2: 0}


def test_of_calls_with_one_id_the_newest_before_the_result_is_answered():
    turn = [user("go"), assistant(call("bash", "call_0")), result("x", call_id="call_0")]
    assert pairs(*turn, *turn) == {2: 1, 5: 4}


def test_a_result_before_its_call_or_without_one_belongs_to_none():
    assert pairs(result("x", call_id="a"), assistant(call("bash", "a")), result("y", call_id="b")) == {}


@given(st.lists(st.integers(0, 3), max_size=8))
def test_where_ids_differ_every_result_behind_its_call_belongs_to_it(gaps):
    said, expected = [], {}
    for number, gap in enumerate(gaps):
        place = len(said)
        said += [assistant(call("bash", f"c{number}")), *[user("wait")] * gap, result(call_id=f"c{number}")]
        expected[place + gap + 1] = place
    assert pairs(*said) == expected
