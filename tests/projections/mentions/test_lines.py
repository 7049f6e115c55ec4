"""What lines name: the same as their text does, however often and in whatever company they stand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from projections.mentions import Kind, mentions
from projections.mentions.message_facts import Lines

SAID = [
    "see src/a.ts and load_it", "Error: it broke in src/b.ts:3", "wait 10 ms for fooBar", "plain words", "",
    "this.queue.pushAll(parts.length)", "https://example.com/a", "abc1234 at #12", "--- a/src/c.ts", "\tif (x) {\r",
]  # fmt: skip
texts = st.lists(st.sampled_from(SAID), max_size=8).map("\n".join)


def test_things_are_told_by_kind_in_order_of_appearance():
    assert Lines().named(["call load_it in src/a.ts\nand save_it", "then load_it in src/b.ts"]) == {
        Kind.SYMBOL: {"load_it": None, "save_it": None},
        Kind.PATH: {"src/a.ts": None, "src/b.ts": None},
    }


def test_a_text_without_names_has_none():
    assert Lines().named(["plain words", ""]) == {}


def test_a_chain_names_none_of_a_languages_own_names():
    named = Lines().named(
        ["Queue.__init__(self); type(x).__name__ and self.__class__.maxSize; parent::__construct()"]
    )
    assert named == {Kind.SYMBOL: {"Queue": None, "maxSize": None}}


def test_a_line_names_the_same_when_it_comes_again():
    lines = Lines()
    once = lines.named(["src/a.ts\nload_it"])
    assert lines.named(["load_it\nsrc/a.ts"]) == once
    assert list(lines.named(["load_it\nsrc/a.ts"])) == [Kind.SYMBOL, Kind.PATH]


def test_what_is_done_with_an_answer_does_not_change_the_next():
    lines = Lines()
    lines.named(["src/a.ts"])[Kind.PATH]["src/b.ts"] = None
    assert lines.named(["src/a.ts"]) == {Kind.PATH: {"src/a.ts": None}}


@given(st.lists(texts, max_size=6))
def test_lines_that_are_known_change_nothing(said):
    shared = Lines()
    assert [shared.named([text]) for text in said] == [Lines().named([text]) for text in said]


@given(st.text(st.sampled_from("ab/.\n -`(#1_:Error\r\ud800")))
def test_a_text_names_what_its_lines_name(text):
    whole = {(each.kind, each.value) for each in mentions(text) if each.kind is not Kind.SYMBOL}
    found = Lines().named([text])
    assert {(kind, value) for kind in found if kind is not Kind.SYMBOL for value in found[kind]} == whole
