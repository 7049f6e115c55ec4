"""Ids of calls and names of tools as the API takes them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.requests.repairs import Repairs
from projections.requests.tool_calls import CallIds, tool_name


@pytest.fixture
def repairs():
    return Repairs([])


@pytest.fixture
def note(repairs):
    return repairs.of("e1")


def rules(repairs):
    return [repair.rule for repair in repairs.made]


@pytest.mark.parametrize("plain", ["toolu_01AbC", "call-1", "x", "x" * 64])
def test_a_plain_id_stays(plain, note, repairs):
    assert CallIds().take(plain, note) == plain
    assert repairs.made == []


@pytest.mark.parametrize(
    ("recorded", "sent"),
    [
        ("call_1|fc_2", "call_1_fc_2"),
        ("functions.read:0", "functions_read_0"),
        ("é", "_"),
        ("line\n", "line_"),
        ("", "call"),
        ("x" * 65, "x" * 64),
    ],
)
def test_an_id_is_mapped_to_a_plain_one(recorded, sent, note, repairs):
    assert CallIds().take(recorded, note) == sent
    assert rules(repairs) == ["call-id"]


def test_an_id_that_is_taken_gets_the_next_free_number(note, repairs):
    ids = CallIds()
    assert [ids.take(each, note) for each in ("c", "c_2", "c", "c")] == ["c", "c_2", "c_3", "c_4"]
    assert [repair.action for repair in repairs.made] == [
        "another call 'c' is called 'c_3'",
        "another call 'c' is called 'c_4'",
    ]


def test_an_id_of_the_longest_length_makes_room_for_its_number(note):
    ids = CallIds()
    assert [ids.take("x" * 64, note) for _ in range(2)] == ["x" * 64, "x" * 62 + "_2"]


def test_ids_that_are_mapped_to_one_differ(note):
    ids = CallIds()
    assert [ids.take(each, note) for each in ("a|b", "a:b")] == ["a_b", "a_b_2"]


@given(recorded=st.lists(st.text("ab_2|é", max_size=4)))
def test_ids_are_all_plain_and_all_different(recorded):
    ids, note = CallIds(), Repairs([]).of("e1")
    taken = [ids.take(each, note) for each in recorded]
    assert len(set(taken)) == len(taken)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", each) for each in taken)


@pytest.mark.parametrize("plain", ["read", "mcp__server__read-file", "n" * 128])
def test_a_plain_name_of_a_tool_stays(plain, note, repairs):
    assert tool_name(plain, note) == plain
    assert repairs.made == []


@pytest.mark.parametrize(
    ("recorded", "sent"), [("mcp:read", "mcp_read"), ("", "unnamed"), ("n" * 129, "n" * 128)]
)
def test_a_name_of_a_tool_is_mapped_to_a_plain_one(recorded, sent, note, repairs):
    assert tool_name(recorded, note) == sent
    assert rules(repairs) == ["tool-name"]
