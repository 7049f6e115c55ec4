"""Calls in the order in which they were made, and what became of them."""

from __future__ import annotations

import pytest

from eventstore.views import Message, ToolCall
from projections.audit.rework import call_history, messages_in_events, messages_in_parts
from projections.context.build import build_context
from projections.mentions.message_facts import SessionFacts, message_facts
from tests.support.events import events
from tests.support.talk import assistant, call, result, user


def work(log):
    """The work in a session's context, which here is that in its events, too."""
    found = call_history(messages_in_parts(build_context(log, "s").parts, SessionFacts()))
    assert found == call_history(messages_in_events(events(log, "s"), SessionFacts()))
    return found


def key_of(arguments):
    message = Message(role="assistant", blocks=(ToolCall("c1", "bash", arguments),))
    return call_history([message_facts(1, "e1", message)]).calls[0].key


def test_calls_stand_in_order_with_the_messages_that_made_them(story):
    story.says(user("go"), assistant(call("read", "c1", path="a.py"), call("edit", "c2", path="b.py")))
    story.says(assistant(call("bash", "c3", command="ls")))
    assert [(made.call.name, made.message.id, made.paths) for made in work(story.log).calls] == [
        ("read", "e2", ("a.py",)),
        ("edit", "e2", ("b.py",)),
        ("bash", "e3", ()),
    ]


def test_results_belong_to_the_calls_that_they_name(story):
    story.says(assistant(call("read", "c1", path="a.py"), call("bash", "c2", command="ls")))
    story.says(result("listed", call_id="c2"), result("of a.py", call_id="c1"), result("lost", call_id="c9"))
    assert work(story.log).results == {2: 1, 3: 0}


def test_an_id_that_is_used_again_is_the_newest_calls(story):
    for _ in range(2):
        story.says(assistant(call("bash", "c1", command="ls")), result("listed", call_id="c1"))
    assert work(story.log).results == {2: 0, 4: 1}


def test_calls_with_errors_for_results_failed(story):
    story.says(assistant(call("read", "c1", path="a.py"), call("read", "c2", path="b.py")))
    story.says(result("of a.py", call_id="c1"), result("no b.py", call_id="c2", is_error=True))
    assert work(story.log).failed == {1}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b'{"a":1,"b":2}', b'{"b": 2, "a": 1}'),
        (b'{"a":{"c":1,"b":[]}}', b'{ "a": {"b":[ ], "c":1}}'),
        (rb'{"a":"\u00e9"}', '{"a":"é"}'.encode()),
    ],
)
def test_the_same_arguments_have_one_key_however_they_are_written(one, other):
    assert key_of(one) == key_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b'{"a":1}', b'{"a":"1"}'),
        (b'{"a":1}', b'{"a":1,"b":null}'),
        (b'{"a":[1,2]}', b'{"a":[2,1]}'),
        (b"[" * 3001, b"[" * 3000),
        (b'{"a":', b'{"a":1'),
    ],
)
def test_other_arguments_have_another_key_even_such_as_are_no_json(one, other):
    assert key_of(one) != key_of(other)


@pytest.fixture
def writing(story):
    """Places: 0 reads a.py, 1 edits a.py, 2 fails to write b.py, 3 patches c.py."""
    patch = "*** Begin Patch\n*** Update File: c.py\n*** End Patch"
    story.says(assistant(call("read", "c0", path="a.py"), call("edit", "c1", path="a.py")))
    story.says(assistant(call("write", "c2", path="b.py"), call("apply_patch", "c3", input=patch)))
    story.says(result("no", call_id="c2", is_error=True))
    return work(story.log)


@pytest.mark.parametrize(
    ("paths", "first", "again", "is_written"),
    [
        (("a.py",), 0, 2, True),
        (("a.py",), 1, 3, False),
        (("a.py",), 0, 1, False),
        (("b.py",), 0, 4, False),
        (("b.py", "c.py"), 0, 4, True),
        ((), 0, 2, True),
        ((), 1, 3, False),
        ((), 2, 4, True),
    ],
)
def test_a_path_is_written_between_two_calls_by_one_that_did_not_fail(
    writing, paths, first, again, is_written
):
    assert writing.is_written(paths, first, again) == is_written
