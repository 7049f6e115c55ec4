"""A context as the lines that a summarizer reads."""

from __future__ import annotations

import pytest

from eventstore.records import Compaction, CustomMessage
from projections.context.build import build_context
from projections.transcript import MAX_RESULT_CHARACTERS, transcript
from tests.support.contexts import context_of
from tests.support.talk import assistant, call, image, result, shell, text, thinking, user


def lines(*messages):
    return transcript(context_of(*messages))


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (user("hello"), "[User]: hello"),
        (user([text("a"), image(), text("b")]), "[User]: ab"),
        (assistant("an answer"), "[Assistant]: an answer"),
        (assistant(""), "[Assistant]: "),
        (assistant("one", "two"), "[Assistant]: one\ntwo"),
        (assistant(thinking("hm"), thinking("ah")), "[Assistant thinking]: hm\nah"),
        (assistant(call("read", path="a.py")), '[Assistant tool calls]: read(path="a.py")'),
        (
            assistant(call("ls"), "first", thinking("hm")),
            "[Assistant thinking]: hm\n\n[Assistant]: first\n\n[Assistant tool calls]: ls()",
        ),
        (
            assistant(call("read", path="a", limit=1), call("bash", "c2", command="x")),
            '[Assistant tool calls]: read(path="a", limit=1); bash(command="x")',
        ),
        (result("done", image(), " well"), "[Tool result]: done well"),
        (shell("make", "done"), "[User]: Ran `make`\n```\ndone\n```"),
        ({"role": "custom", "content": "by the way"}, "[User]: by the way"),
        (
            {"role": "compactionSummary", "summary": "all of it"},
            (
                "[User]: Earlier parts of this conversation were replaced by this summary:\n\n"
                "<summary>\nall of it\n</summary>"
            ),
        ),
        (
            {"role": "branchSummary", "summary": "tried"},
            (
                "[User]: Another branch of this conversation was left; this summarizes it:\n\n"
                "<summary>\ntried\n</summary>"
            ),
        ),
    ],
)
def test_each_role_has_its_mark(message, expected):
    assert lines(message) == expected


@pytest.mark.parametrize(
    "message",
    [
        user(""),
        user([image()]),
        assistant(),
        result(),
        result(""),
        result(image()),
        shell("pwd", "/", excludeFromContext=True),
        {"role": "observer", "content": "I saw it"},
        {"role": "hookMessage", "content": "from a hook"},
    ],
)
def test_what_says_nothing_to_a_model_is_left_out(message):
    assert lines(user("before"), message, user("after")) == "[User]: before\n\n[User]: after"


def test_nothing_is_the_empty_transcript():
    assert lines() == ""


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        ('a"b\\\n\x7fé\u2028', '"a\\"b\\\\\\n\x7fé\u2028"'),
        ("\ud83d", '"\\ud83d"'),
        (1.0, "1"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (1e-7, "1e-7"),
        (None, "null"),
        (True, "true"),
        ([1, "a", {"b": []}], '[1,"a",{"b":[]}]'),
        ({"b": 1, "2": 2, "1": 3}, '{"1":3,"2":2,"b":1}'),
    ],
)
def test_an_argument_is_printed_as_javascript_prints_it(value, printed):
    assert lines(assistant(call("tool", value=value))) == f"[Assistant tool calls]: tool(value={printed})"


def test_arguments_stand_in_javascripts_order_of_keys():
    said = assistant(call("tool", **{"b": 1, "10": 2, "9": 3, "a": 4}))
    assert lines(said) == "[Assistant tool calls]: tool(9=3, 10=2, b=1, a=4)"


def test_a_number_beyond_all_doubles_is_null_as_in_javascript():
    message = b'{"role":"assistant","content":[{"type":"toolCall","name":"t","arguments":{"n":1e999}}]}'
    assert lines(message) == "[Assistant tool calls]: t(n=null)"


def test_a_number_of_thousands_of_digits_is_printed():
    call_of = b'{"role":"assistant","content":[{"type":"toolCall","name":"t","arguments":{"n":%s}}]}'
    assert lines(call_of % (b"1" * 5000)) == "[Assistant tool calls]: t(n=null)"


@pytest.mark.parametrize("arguments", [None, "text", 7])
def test_arguments_that_are_no_object_are_left_out(arguments):
    said = assistant({"type": "toolCall", "id": "c1", "name": "tool", "arguments": arguments})
    assert lines(said) == "[Assistant tool calls]: tool()"


def test_a_result_of_the_longest_length_is_whole():
    assert lines(result("x" * MAX_RESULT_CHARACTERS)) == f"[Tool result]: {'x' * 2000}"


def test_a_longer_result_is_cut_and_says_how_much_is_missing():
    cut = f"[Tool result]: {'x' * 2000}\n\n[... 1 more characters truncated]"
    assert lines(result("x" * 2001)) == cut


def test_a_result_is_measured_over_all_its_blocks():
    cut = f"[Tool result]: {'x' * 1500}{'y' * 500}\n\n[... 1000 more characters truncated]"
    assert lines(result("x" * 1500, "y" * 1500)) == cut


def test_a_cut_counts_utf16_units():
    cut = f"[Tool result]: {'😀' * 1000}\n\n[... 4 more characters truncated]"
    assert lines(result("😀" * 1002)) == cut


def test_a_cut_may_part_a_surrogate_pair():
    cut = f"[Tool result]: x{'😀' * 999}\ud83d\n\n[... 1 more characters truncated]"
    assert lines(result("x" + "😀" * 1000)) == cut


@pytest.mark.parametrize("long", [user("x" * 3000), assistant("x" * 3000), shell("ls", "x" * 3000)])
def test_nothing_but_a_result_is_cut(long):
    assert "x" * 3000 in lines(long)


def test_a_transcript_is_that_of_the_contexts_messages(story):
    _, kept = story.says(user("old"), user("kept"))
    story.add(Compaction(summary="before", first_kept_entry_id=kept, tokens_before=9))
    story.says(assistant("an answer"))
    assert transcript(build_context(story.log, "s")) == (
        "[User]: Earlier parts of this conversation were replaced by this summary:\n\n"
        "<summary>\nbefore\n</summary>\n\n"
        "[User]: kept\n\n"
        "[Assistant]: an answer"
    )


def test_what_goes_on_after_a_compaction_is_not_told_as_the_users(story):
    story.says(user("mend it"), user("[Resuming] mend it"))
    story.add(CustomMessage(custom_type="compaction_continue", content="Go on."))
    story.add(CustomMessage(custom_type="x", content="by the way"))
    assert transcript(build_context(story.log, "s")) == (
        "[User]: mend it\n\n[Continuation]: [Resuming] mend it\n\n[Continuation]: Go on.\n\n[User]: by the way"
    )
