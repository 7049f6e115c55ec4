"""Commands, errors, and what is spoken of most."""

from __future__ import annotations

import json

import pytest

from compaction.summarizers.facts.talk import (
    CommandRun,
    command_runs,
    count_repeats,
    rank_by_mentions,
    strip_count,
)
from eventstore.formats import view_of_message
from eventstore.formats.pi.tools import TOOLS
from projections.mentions.message_facts import message_facts
from tests.support.talk import assistant, call, result, shell, user


def run(*messages):
    views = [view_of_message(json.dumps(message).encode(), "pi/3") for message in messages]
    return command_runs([(view, message_facts(0, "", view, TOOLS)) for view in views])


def test_what_is_named_more_often_comes_first():
    assert rank_by_mentions([["a"], ["b"], ["b"], ["a"], ["b"]]) == ["b", "a"]


def test_of_what_is_named_as_often_the_newer_comes_first():
    assert rank_by_mentions([["a"], ["b"], ["c"]]) == ["c", "b", "a"]


def test_one_new_mention_outweighs_one_that_is_half_a_life_old_but_not_three():
    old = [["once", "thrice"], ["thrice"], ["thrice"], *[[]] * 300]
    assert rank_by_mentions([*old, ["new"]]) == ["thrice", "new", "once"]


def test_the_order_does_not_depend_on_the_order_within_a_message():
    assert rank_by_mentions([["b", "a"]]) == rank_by_mentions([["a", "b"]]) == ["a", "b"]


def test_by_size_more_of_the_shorter_fit():
    assert rank_by_mentions([["long one", "b"], ["long one"]], size=len) == ["b", "long one"]


def test_a_session_too_long_for_any_weight_is_ranked_all_the_same():
    assert rank_by_mentions([["a"], *[[]] * 400_000, ["b"]]) == ["b", "a"]


def test_a_call_of_a_shell_runs_its_commands():
    assert run(assistant(call("bash", command="make && ls src")), result("done")) == [
        [CommandRun("make", None), CommandRun("ls src", None)],
        [],
    ]


def test_a_failed_command_says_its_first_error():
    output = "compiling\nerror: no such symbol\nerror: another\nbye"
    assert run(assistant(call("bash", command="make")), result(output, is_error=True))[0] == [
        CommandRun("make", "error: no such symbol")
    ]


def test_a_failed_command_without_a_known_error_says_its_last_line():
    assert run(assistant(call("bash", command="make")), result("one\ntwo\n", is_error=True))[0] == [
        CommandRun("make", "two")
    ]


def test_of_two_calls_in_one_message_only_the_failed_one_failed():
    made = run(
        assistant(call("bash", "c1", command="make"), call("bash", "c2", command="ls")),
        result("no rule", call_id="c1", is_error=True),
        result("a b", call_id="c2"),
    )
    assert made[0] == [CommandRun("make", "no rule"), CommandRun("ls", None)]


def test_what_the_person_ran_counts():
    assert run(shell("make", "it broke", exitCode=2)) == [[CommandRun("make", "it broke")]]


def test_a_call_without_a_result_has_not_failed():
    assert run(assistant(call("bash", command="make"))) == [[CommandRun("make", None)]]


def test_other_messages_and_other_tools_run_nothing():
    assert run(user("make it"), assistant(call("read", path="make.py"))) == [[], []]


@pytest.mark.parametrize(
    ("errors", "told"),
    [
        (
            ["a.c:1:2: error: no x here", "b.c:33:4: error: no x here"],
            ["b.c:33:4: error: no x here (2 times)"],
        ),
        (["exit code 1", "exit code 2"], ["exit code 2 (2 times)"]),
        (["error: no x here", "error: no y here"], ["error: no x here", "error: no y here"]),
    ],
    ids=["in another place", "with another number", "another one"],
)
def test_errors_that_say_the_same_are_told_once(errors, told):
    assert count_repeats([errors]) == told


def test_errors_that_were_counted_before_are_counted_on():
    assert count_repeats([["error: no x here (4 times)"], ["error: no x here"]]) == [
        "error: no x here (5 times)"
    ]


def test_the_error_that_was_met_most_comes_first():
    assert count_repeats([["error: first thing"], ["error: other thing"], ["error: other thing"]])[
        0
    ].startswith("error: other")


def test_a_number_that_counts_is_told_from_one_that_does_not():
    assert [strip_count(line) for line in ("e (3 times)", "e (3 times) more")] == [
        ("e", 3),
        ("e (3 times) more", 1),
    ]


def test_of_two_calls_of_one_id_each_has_the_result_that_came_behind_it():
    first = [
        assistant(call("bash", "c0", command="make a")),
        result("Error: no rule", call_id="c0", is_error=True),
    ]
    second = [assistant(call("bash", "c0", command="make b")), result("done", call_id="c0")]
    made = [each for message in run(*first, *second) for each in message]
    assert made == [CommandRun("make a", "Error: no rule"), CommandRun("make b", None)]
