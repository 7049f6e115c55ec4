"""Collect the facts of messages: texts, things named there, calls, files."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings

from eventstore.files.importing import import_file
from eventstore.harnesses import format_of
from eventstore.harnesses.pi import TOOLS
from eventstore.memory import MemoryLog
from eventstore.records import Rewrite, TextReplacement
from eventstore.views import Message, ToolCall
from projections.context.build import build_context
from projections.mentions import MentionKind
from projections.mentions.message_facts import SessionFacts, commands_of, message_facts
from tests.support.events import NOW
from tests.support.pi_sessions import file_of, pi_entries
from tests.support.talk import assistant, call, image, result, shell, text, thinking, user


def held(message):
    return message_facts(format_of("pi/3").message(json.dumps(message).encode()), TOOLS)


def test_a_messages_texts_are_its_blocks_each_by_itself():
    assert held(user([text("one"), image(), text("two")])).texts == ("one", "two")


def test_the_strings_in_a_calls_arguments_are_texts_with_nothing_escaped():
    edits = [{"old": "a\nb", "count": 2}, {"new": 'c"d'}]
    assert held(assistant(call("edit", path="x.py", edits=edits))).texts == ("x.py", "a\nb", 'c"d')


def test_arguments_nested_deeply_are_read():
    deep = "[" * 5000 + '"inmost"' + "]" * 5000
    message = Message(role="assistant", blocks=(ToolCall("c1", "t", f'{{"a":{deep}}}'.encode()),))
    assert "inmost" in message_facts(message).texts[0]


def test_a_shell_commands_texts_are_command_and_output():
    assert held(shell("make", "done")).texts == ("make", "done")


def test_a_shell_command_that_is_kept_from_the_model_holds_nothing():
    kept_from_it = held(shell("make src/a.py", "250 MB", excludeFromContext=True))
    assert (kept_from_it.texts, kept_from_it.mentions) == ((), {})


def test_things_are_named_once_in_order_of_appearance():
    said = "src/b.py then src/a.py and #12 of src/b.py"
    assert held(user(said)).mentions == {
        MentionKind.PATH: ("src/b.py", "src/a.py"),
        MentionKind.IDENTIFIER: ("#12",),
    }


def test_what_thinking_names_comes_first():
    both = held(assistant("it is src/b.py", thinking("maybe src/a.py")))
    assert both.mentions[MentionKind.PATH] == ("src/a.py", "src/b.py")


@pytest.mark.parametrize("tool", ["bash", "Bash", "shell", "exec_command", "run_shell_command", "execute"])
def test_commands_are_those_that_a_shell_tool_was_given(tool):
    assert held(assistant(call(tool, command="pytest -q"))).mentions[MentionKind.COMMAND] == ("pytest -q",)


@pytest.mark.parametrize(
    "arguments",
    [
        {"cmd": "pytest -q"},
        {"command": ["pytest", "-q"]},
        {"command": ["bash", "-lc", "pytest -q"]},
    ],
)
def test_a_command_may_be_given_as_words_or_to_a_shell_of_its_own(arguments):
    assert held(assistant(call("shell", **arguments))).mentions[MentionKind.COMMAND] == ("pytest -q",)


@pytest.mark.parametrize("arguments", [{"command": 7}, {"command": ""}, {"command": []}, {"timeout": 3}])
def test_a_shell_tool_without_a_script_was_given_no_command(arguments):
    assert held(assistant(call("bash", **arguments))).mentions == {}


def test_the_command_argument_of_another_tool_is_no_command():
    assert MentionKind.COMMAND not in held(assistant(call("editor", command="pytest -q"))).mentions


def test_commands_of_one_call_are_told_apart_from_those_of_others():
    one = ToolCall("c1", "bash", b'{"command":"make && make && pytest -q"}')
    assert commands_of(one, TOOLS) == ("make", "pytest -q")
    assert commands_of(ToolCall("c2", "editor", b'{"command":"make"}'), TOOLS) == ()


def test_a_command_that_the_person_ran_counts():
    assert held(shell("pytest -q")).mentions[MentionKind.COMMAND] == ("pytest -q",)


def test_code_that_the_person_ran_is_no_command():
    assert held({**shell("pytest -q"), "role": "pythonExecution"}).mentions == {}


def test_files_that_calls_touch_are_paths_whatever_they_look_like():
    one = held(assistant(call("read", path="Chapter One"), call("edit", path="b.py")))
    assert (one.read, one.modified) == (("Chapter One",), ("b.py",))
    assert one.mentions[MentionKind.PATH] == ("b.py", "Chapter One")


@pytest.mark.parametrize(
    ("message", "is_error"),
    [
        (result("x", is_error=True), True),
        (result("x"), False),
        (shell("make", exitCode=2), True),
        (shell("make"), False),
    ],
)
def test_an_error_is_a_result_marked_as_one_or_a_command_that_failed(message, is_error):
    assert held(message).is_error is is_error


def test_arguments_that_are_no_json_are_a_text():
    broken = ToolCall("c1", "bash", b"src/a.py {")
    assert message_facts(Message(role="assistant", blocks=(broken,))).texts == ("src/a.py {",)


def test_a_message_of_several_contexts_is_read_once(story):
    story.says(user("src/a.py"), assistant("src/b.py"))
    facts = SessionFacts()
    (first,) = [facts.of_part(part) for part in build_context(story.log, "s", leaf="e1").parts]
    again = facts.of_part(build_context(story.log, "s", leaf="e2").parts[0])
    assert first is again


def test_a_message_that_a_rewrite_shows_otherwise_is_held_as_it_is_shown(story):
    story.says(result("src/a.py"))
    story.add(Rewrite(reason="prune", targets=[TextReplacement(target="e1", text="src/b.py")]))
    facts = SessionFacts()
    (part,) = build_context(story.log, "s").parts
    assert facts.of_part(part).mentions == {MentionKind.PATH: ("src/b.py",)}


@settings(suppress_health_check=list(HealthCheck))
@given(entries=pi_entries())
def test_whatever_pi_reads_can_be_held(entries, tmp_path):
    file = tmp_path / "session.jsonl"
    file.write_bytes(file_of(entries))
    log = MemoryLog(clock=lambda: NOW)
    session = import_file(log, file).id
    facts = SessionFacts()
    for part in build_context(log, session).parts:
        assert facts.of_part(part) is facts.of_part(part)
