"""Check that a line names the same things wherever and however often it stands."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from projections.mentions import MentionKind, mentions
from projections.mentions.message_facts import LineMentions

SAID = [
    "see src/a.ts and load_it", "Error: it broke in src/b.ts:3", "wait 10 ms for fooBar", "plain words", "",
    "this.queue.pushAll(parts.length)", "https://example.com/a", "abc1234 at #12", "--- a/src/c.ts", "\tif (x) {\r",
]  # fmt: skip
texts = st.lists(st.sampled_from(SAID), max_size=8).map("\n".join)


def test_things_are_told_by_kind_in_order_of_appearance():
    assert LineMentions().mentions_in(["see #12 in src/a.ts\nand #13", "then #12 in src/b.ts"]) == {
        MentionKind.IDENTIFIER: {"#12": None, "#13": None},
        MentionKind.PATH: {"src/a.ts": None, "src/b.ts": None},
    }


def test_a_text_without_names_has_none():
    assert LineMentions().mentions_in(["plain words", ""]) == {}


def test_a_line_names_the_same_when_it_comes_again():
    lines = LineMentions()
    once = lines.mentions_in(["src/a.ts\n#12"])
    assert lines.mentions_in(["#12\nsrc/a.ts"]) == once
    assert list(lines.mentions_in(["#12\nsrc/a.ts"])) == [MentionKind.IDENTIFIER, MentionKind.PATH]


def test_what_is_done_with_an_answer_does_not_change_the_next():
    lines = LineMentions()
    lines.mentions_in(["src/a.ts"])[MentionKind.PATH]["src/b.ts"] = None
    assert lines.mentions_in(["src/a.ts"]) == {MentionKind.PATH: {"src/a.ts": None}}


@given(st.lists(texts, max_size=6))
def test_lines_that_are_known_change_nothing(said):
    shared = LineMentions()
    assert [shared.mentions_in([text]) for text in said] == [
        LineMentions().mentions_in([text]) for text in said
    ]


@given(st.text(st.sampled_from("ab/.\n -`(#1_:Error\r\ud800")))
def test_a_text_names_what_its_lines_name(text):
    whole = {(each.kind, each.value) for each in mentions(text)}
    found = LineMentions().mentions_in([text])
    assert {(kind, value) for kind in found for value in found[kind]} == whole
