"""Turns: what was asked, said, decided, planned."""

from __future__ import annotations

import json

import pytest

from compaction.summarizers.facts.talk import (
    ConversationTurn,
    current_work,
    find_decisions,
    find_plans,
    find_questions,
    split_turns,
    turn_outcome,
)
from eventstore.formats import view_of_message
from tests.support.talk import assistant, call, result, shell, user


def told(*messages):
    return split_turns(view_of_message(json.dumps(message).encode(), "pi/3") for message in messages)


def over(said):
    return ConversationTurn("go", (said,), is_over=True)


def test_a_turn_is_a_request_and_what_was_said_until_the_next():
    found = told(
        user("one"), assistant("a", call("ls")), result("x"), assistant("b"), user("two"), assistant("c")
    )
    assert found == [
        ConversationTurn("one", ("a", "b"), is_over=True),
        ConversationTurn("two", ("c",), is_over=True),
    ]


def test_a_turn_that_ends_with_a_call_is_not_over():
    assert told(user("one"), assistant("a", call("ls")), result("x")) == [ConversationTurn("one", ("a",))]


@pytest.mark.parametrize("stop", ["error", "aborted"])
def test_a_turn_that_broke_off_is_not_over(stop):
    assert told(user("one"), assistant("a", stop=stop)) == [ConversationTurn("one", ("a",))]


def test_what_was_said_before_the_first_request_is_a_turn_without_one():
    assert told(assistant("a"), user("one")) == [
        ConversationTurn("", ("a",), is_over=True),
        ConversationTurn("one"),
    ]


def test_a_conversation_without_words_has_no_turns():
    assert told(shell("ls"), result("x"), assistant(call("ls"))) == []


def test_a_request_is_told_in_the_persons_own_words():
    assert told(user("mend this\n```\nTraceback\n```\nplease"))[0].request == "mend this please"


def test_a_request_that_is_nothing_but_pasted_is_told_as_it_is():
    assert told(user("> quoted"))[0].request == "> quoted"


def test_the_outcome_is_what_the_answer_states():
    said = "Done!\n\nThe parser reads all files now. It is tested:\n- `make test` passes all cases\n\nShall I go on?"
    assert turn_outcome(over(said)) == "The parser reads all files now. `make test` passes all cases"


def test_items_without_an_end_are_parted():
    assert (
        turn_outcome(over("- the parser is done\n- the printer is done"))
        == "the parser is done; the printer is done"
    )


def test_what_is_still_to_come_is_no_outcome():
    assert turn_outcome(over("Next I will write the printer.")) == ""


def test_a_turn_that_is_not_over_has_no_outcome():
    assert turn_outcome(ConversationTurn("go", ("The parser reads all files now.",))) == ""


def test_an_outcome_ends_with_a_sentence():
    said = "It reads the first kind of file. " * 20
    assert len(turn_outcome(over(said))) <= 300
    assert turn_outcome(over(said)).endswith("file.")


def test_a_turn_that_is_not_over_stands_where_its_last_words_say():
    assert (
        current_work(ConversationTurn("go", ("First the parser.", "Now the printer:"))) == "Now the printer:"
    )
    assert current_work(over("All done.")) == ""


@pytest.mark.parametrize(
    "decided",
    [
        "I used one lock instead of two.",
        "We decided to keep the old parser.",
        "The queue is drained in place rather than copied.",
        "I went with a table of handlers.",
    ],
)
def test_a_sentence_that_tells_what_was_chosen_is_a_decision(decided):
    assert find_decisions(over(f"I looked at it. {decided} It works.")) == [decided]


@pytest.mark.parametrize(
    "said",
    [
        "Should we use one lock instead of two?",
        "Let me use one lock instead of two.",
        "You could use one lock rather than two.",
        "Now I will use these instead of those:",
        "The lock is held.",
    ],
)
def test_a_thought_or_a_step_is_no_decision(said):
    assert find_decisions(over(said)) == []


def test_what_the_model_asked_at_the_end_is_a_question():
    assert find_questions(over("It works. Shall I go on with the printer?")) == [
        "Shall I go on with the printer?"
    ]


def test_what_it_asked_on_the_way_is_none():
    assert find_questions(ConversationTurn("go", ("Where is the parser?",))) == []


@pytest.mark.parametrize(
    ("said", "planned"),
    [
        ("It works. Next is the printer module.", ["Next is the printer module."]),
        ("I'll write the printer now.", ["I'll write the printer now."]),
        ("**Remaining:**\n- the printer\n- its tests\n\nDone.", ["the printer", "its tests"]),
        ("## Next steps\n1. the printer\n2. its tests", ["the printer", "its tests"]),
        ("- [x] the parser\n- [ ] the printer", ["the printer"]),
        ("It works.\n- the parser\n- the printer", []),
        ("Next time it will work better.", []),
        ("Next, shall I write the printer?", []),
    ],
)
def test_what_is_to_come_is_planned(said, planned):
    assert find_plans(over(said)) == planned


def test_plans_are_those_of_the_last_words():
    assert find_plans(
        ConversationTurn("go", ("Next is the parser module.", "Then comes the printer module."))
    ) == ["Then comes the printer module."]
