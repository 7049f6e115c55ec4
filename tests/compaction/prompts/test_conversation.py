"""A conversation as text: its shapes, its cuts, and what cannot get out of it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from compaction.prompts import MAX_RESULT_CHARACTERS, escape_tags, serialize, wrap_in_tag
from eventstore.javascript import utf16_length
from eventstore.records import MessageRecord
from projections.context.build import build_context
from tests.support.contexts import context_of
from tests.support.growth import times_as_long
from tests.support.talk import assistant, call, image, result, shell, text, thinking, user

TAGS = ["conversation", "previous-summary", "additional-context", "draft", "summary", "analysis"]
_A_TAG = re.compile(rf"<\s*/?\s*({'|'.join(TAGS)})\b", re.IGNORECASE)


def said(*messages):
    return serialize(context_of(*messages).parts)


# Shapes


def test_a_person_is_the_user():
    assert said(user("build it")) == "[User]: build it"


def test_texts_of_one_message_are_joined_and_images_left_out():
    assert said(user([text("build "), image(), text("it")])) == "[User]: build it"


def test_an_image_alone_says_nothing():
    assert said(user([image()]), user("look")) == "[User]: look"


def test_thoughts_words_and_calls_of_an_assistant_stand_apart():
    message = assistant(thinking("hm"), "I look.", call("read", path="a.py"), thinking("so"), "Then on.")
    assert said(message) == (
        "[Assistant thinking]: hm\nso\n\n"
        "[Assistant]: I look.\nThen on.\n\n"
        '[Assistant tool calls]: read(path="a.py")'
    )


def test_calls_are_told_with_their_arguments_as_json():
    message = assistant(call("edit", "c1", path="a.py", count=2, flags=[True, None]), call("ls", "c2"))
    assert said(message) == '[Assistant tool calls]: edit(path="a.py", count=2, flags=[true,null]); ls()'


def test_arguments_that_are_no_object_are_told_as_they_are():
    message = {"role": "assistant", "content": [{"type": "toolCall", "name": "t", "arguments": ["x", 1]}]}
    assert said(message) == '[Assistant tool calls]: t(["x",1])'


def test_a_result_is_told_as_one():
    assert said(result("a.py\n", "b.py")) == "[Tool result]: a.py\nb.py"


def test_a_result_without_text_says_nothing():
    assert said(result(image())) == ""


def test_a_command_of_the_person_is_told_with_its_output():
    assert said(shell("ls", "a.py")) == "[User]: Ran `ls`\n```\na.py\n```"


def test_a_command_that_was_kept_from_the_model_is_kept_from_the_summarizer():
    assert said(shell("pass show", "secret", excludeFromContext=True)) == ""


@pytest.mark.parametrize(
    "message",
    [
        {"role": "custom", "content": "noted"},
        {"role": "branchSummary", "summary": "noted", "fromId": "e1"},
    ],
)
def test_messages_of_extensions_and_summaries_of_branches_are_told_as_the_users(message):
    assert said(message) == "[User]: noted"


def test_a_blank_line_stands_between():
    assert said(user("a"), assistant("b"), user("c")) == "[User]: a\n\n[Assistant]: b\n\n[User]: c"


# Cuts


def test_a_result_of_two_thousand_characters_is_whole():
    assert said(result("x" * 2000)) == "[Tool result]: " + "x" * 2000


def test_a_longer_result_is_cut_there_and_says_by_how_much():
    expected = "[Tool result]: " + "x" * 2000 + "\n\n[... 1 more characters truncated]"
    assert said(result("x" * 2001)) == expected


def test_characters_are_those_of_javascript():
    shown = "😀" * 1000
    assert said(result(shown)) == f"[Tool result]: {shown}"
    expected = f"[Tool result]: {shown}\n\n[... 2 more characters truncated]"
    assert said(result(shown + "😀")) == expected


def test_a_pair_of_surrogates_is_not_parted():
    expected = "[Tool result]: " + "x" * 1999 + "\n\n[... 3 more characters truncated]"
    assert said(result("x" * 1999 + "😀y")) == expected


def test_what_a_person_says_is_never_cut():
    assert said(user("x" * 5000)) == "[User]: " + "x" * 5000


@given(st.text(st.characters(codec="utf-8"), min_size=0, max_size=50), st.integers(1, 80))
def test_a_cut_result_and_what_it_says_is_missing_make_the_whole(some, times):
    whole = (some * times * 3)[:4000]
    shown, _, more = said(result(whole)).removeprefix("[Tool result]: ").partition("\n\n[... ")
    missing = int(more.split()[0]) if more else 0
    assert utf16_length(shown) + missing == utf16_length(whole)
    assert utf16_length(shown) <= MAX_RESULT_CHARACTERS
    assert whole.startswith(shown)


# Escapes


@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize("written", ["<{}>", "</{}>", "< / {} >", "</ {}>", "<{} a='b'>", "</\n{}"])
def test_what_imitates_a_tag_of_the_prompt_is_escaped(tag, written):
    imitated = written.format(tag)
    assert escape_tags(imitated) == "&lt;" + imitated[1:]
    assert escape_tags(imitated.upper()) == "&lt;" + imitated.upper()[1:]


@pytest.mark.parametrize("other", ["<div>", "a < b", "<conversations>", "<T>", "<-", "x<summary_of>"])
def test_other_signs_stay_as_they_are(other):
    assert escape_tags(other) == other


_PIECES = st.one_of(
    st.text(max_size=5), st.sampled_from(["<", "/", " ", "\n", ">", "-", *TAGS, *map(str.upper, TAGS)])
)


@given(st.lists(_PIECES, max_size=12).map("".join))
def test_nothing_inside_opens_or_closes_a_part_of_the_prompt(inside):
    whole = wrap_in_tag("conversation", inside)
    assert whole.startswith("<conversation>\n")
    assert whole.endswith("\n</conversation>")
    assert _A_TAG.search(whole[len("<conversation>") : -len("</conversation>")]) is None


@given(st.lists(_PIECES, max_size=12).map("".join))
def test_what_is_said_can_be_read_back(inside):
    assert escape_tags(inside).replace("&lt;", "<") == inside.replace("&lt;", "<")


@pytest.mark.slow
@pytest.mark.parametrize("hostile", ["<", "< ", "<\n /", " " * 1000 + "<"])
def test_escaping_takes_time_by_the_length_of_the_text_only(hostile):
    def text(length):
        return "<" + hostile * (length // len(hostile)) + " " * (length // 20)

    # By its square it would be 64 times as long.
    assert times_as_long(escape_tags, text(200_000), text(1_600_000)) < 30


def test_a_word_to_go_on_after_a_compaction_is_no_users(story):
    word = MessageRecord(
        message=Raw(b'{"role":"user","content":"continue"}'), metadata={"compaction_continue": True}
    )
    story.says(user("continue"))
    story.writer.append(word)
    assert serialize(build_context(story.log, "s").parts) == "[User]: continue\n\n[Continuation]: continue"
