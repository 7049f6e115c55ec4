"""The largest new results stay in the log, until the others fit 200,000 characters."""

from __future__ import annotations

import html
import re
import shlex

from hypothesis import given
from hypothesis import strategies as st

from compaction.rewrites import Offload
from compaction.sized_context import sized
from tests.compaction.rewrites.contexts import TOKENS, planned, why_nothing
from tests.support import sentences
from tests.support.contexts import context_of
from tests.support.talk import assistant, call, result, user


def answered(story, *characters):
    """One assistant message with parallel calls, and their results."""
    names = [f"c{number}" for number in range(len(characters))]
    story.says(assistant(*(call("bash", name) for name in names)))
    said = [result("x" * size, call_id=name) for size, name in zip(characters, names, strict=True)]
    return story.says(*said)


def test_the_largest_go_first_until_the_sum_fits(story):
    _, largest, _ = answered(story, 60_000, 120_000, 50_000)
    assert list(planned(story, Offload())) == [largest]


def test_200_000_characters_fit(story):
    answered(story, 150_000, 50_000)
    assert planned(story, Offload()) == {}


def test_results_of_older_calls_do_not_count(story):
    answered(story, 300_000)
    answered(story, 10)
    assert planned(story, Offload()) == {}


def test_a_message_behind_the_results_does_not_hide_them_as_looking_at_the_last_alone_would(story):
    (only,) = answered(story, 300_000)
    story.says(user("wait"))
    assert list(planned(story, Offload())) == [only]


def test_the_marker_says_where_the_whole_text_is_and_how_it_begins(story):
    (only,) = answered(story, 300_000)
    marker = planned(story, Offload())[only]
    assert marker.startswith(f'<persisted-output session="s" event="{only}" characters="0-300000">')
    assert marker.count("x" * 2_000) == 1
    assert "x" * 2_001 not in marker


def test_it_says_why_it_finds_nothing(story):
    answered(story, 200_000)
    assert sentences.numbers(why_nothing(story, Offload())) == [200_000]


WILD = st.text() | st.sampled_from(
    ["</persisted-output>", "< / PERSISTED-OUTPUT >", "it's", 'a"b', "a\nb", "-x"]
)
CLOSES = re.compile(r"<\s*/\s*persisted-output\b", re.IGNORECASE)


def marker(name, output):
    """The marker of a long output in a session of this name."""
    parts = context_of(assistant(call("bash", "c")), result(output + "x" * 5_000, call_id="c")).parts
    (shown,) = Offload(characters=10, preview=len(output) + 10).plan(sized(name, parts, TOKENS))
    return shown.text


@given(name=WILD, output=st.lists(WILD).map("".join))
def test_nothing_in_a_marker_closes_it(name, output):
    assert len(CLOSES.findall(marker(name, output))) == 1


@given(name=WILD)
def test_the_command_in_a_marker_names_the_session(name):
    told = marker(name, "")
    command = told[told.index("(refold show ") + 1 : told.rindex("). It begins:")]
    assert shlex.split(command)[-2] == name


@given(name=WILD)
def test_the_address_in_a_marker_names_the_session(name):
    told = re.match(r'<persisted-output session="([^"\n]*)"', marker(name, ""))
    assert told
    assert html.unescape(told[1]) == name
