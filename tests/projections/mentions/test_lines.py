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
    assert LineMentions().mentions_in(
        ["call load_it in src/a.ts\nand save_it", "then load_it in src/b.ts"]
    ) == {
        MentionKind.SYMBOL: {"load_it": None, "save_it": None},
        MentionKind.PATH: {"src/a.ts": None, "src/b.ts": None},
    }


def test_a_text_without_names_has_none():
    assert LineMentions().mentions_in(["plain words", ""]) == {}


def test_a_chain_names_none_of_a_languages_own_names():
    named = LineMentions().mentions_in(
        ["Queue.__init__(self); type(x).__name__ and self.__class__.maxSize; parent::__construct()"]
    )
    assert named == {MentionKind.SYMBOL: {"Queue": None, "maxSize": None}}


def test_a_line_names_the_same_when_it_comes_again():
    lines = LineMentions()
    once = lines.mentions_in(["src/a.ts\nload_it"])
    assert lines.mentions_in(["load_it\nsrc/a.ts"]) == once
    assert list(lines.mentions_in(["load_it\nsrc/a.ts"])) == [MentionKind.SYMBOL, MentionKind.PATH]


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
    whole = {(each.kind, each.value) for each in mentions(text) if each.kind is not MentionKind.SYMBOL}
    found = LineMentions().mentions_in([text])
    assert {
        (kind, value) for kind in found if kind is not MentionKind.SYMBOL for value in found[kind]
    } == whole
