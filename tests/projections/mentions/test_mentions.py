"""Check all kinds together: their precedence, and that any text can be searched."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from projections.mentions import Mention, MentionKind, mention, mentions
from tests.projections.mentions.finding import kinds
from tests.support.growth import NO_SQUARE, times_as_long

PIECES = [
    *"/\\`.*@#-~:%_{}()[]<>|'\" \n\t\r", "a", "fooBar", "foo_bar", "src/", "a.ts", "..", "()", "::",
    "?.", "://", "http", "#12", "12", "10 ms", "--x", "abc1234", "a1b2c3d4-", "Error: ", "E   ",
    "not found", "/home/", "C:", "diff --git a/", "\x1b[0m", "é", "…",
]  # fmt: skip

HOSTILE = [
    "a/", "a/b ", "a/\n", "x_", "aB", "0123456789abcdef", "a", "A", ".", "a.", "a.b ", "/", "\\", "\\n",
    "(", "`", "`a`", "1", "1,", "1.", "1h", "1k-", "#", "#1", "-", "-.", "a-.", "--a", "a-", "@", "@a/",
    "@a.", "a://", "a::", "a?.", "~", "%", "a%", "+a", "Error: ", "error\n", "Error: x y\n", "E   ",
    "a.b:1:1: ", "a: not found", "00:00:00 ", "[a] ", "\x1b[0m", " ", "\n", "'/home/a b/", '"/Users/a ',
    "diff --git a/", "--- a/x\n", "issue #1 ", "é", "__a__", "01234567-89ab-", "sha256:", "toolu_a",
    "c:\\a", "a*", "src/a.ts{", "word ", "Word.", "Caused by: ", "foo.c-1-",
]  # fmt: skip


def test_where_two_kinds_could_be_meant_the_earlier_one_is():
    rows = [
        ("https://example.com/src/a.ts", [("url", "https://example.com/src/a.ts")]),
        ("src/fooBar/load_it.ts", [("path", "src/fooBar/load_it.ts")]),
        (".git/objects/4f/199b8ab2a708", [("path", ".git/objects/4f/199b8ab2a708")]),
        ("3fd1c0e5 bytes", [("identifier", "3fd1c0e5")]),
        ("toolu_01AbCdEfGhIjKlMn", [("identifier", "toolu_01AbCdEfGhIjKlMn")]),
        ("`package.json`", [("path", "package.json")]),
        ("[#12](https://example.com/12)", [("identifier", "#12"), ("url", "https://example.com/12")]),
    ]
    assert {text: kinds(text) for text, _ in rows} == dict(rows)


def test_nothing_is_looked_for_in_a_pattern():
    assert kinds("src/fooBar/*.ts example.com/fooBar/bar_baz packages/fooBar/{a,b}") == []


def test_mentions_are_in_order_of_where_they_begin():
    found = mentions("npm error see src/a.ts\n#12, then fatal: none\nfatal: no #13")
    assert [(each.kind, each.start) for each in found] == [
        (MentionKind.ERROR, 0),
        (MentionKind.PATH, 14),
        (MentionKind.IDENTIFIER, 23),
        (MentionKind.ERROR, 45),
        (MentionKind.IDENTIFIER, 55),
    ]


def test_a_text_without_names_has_none():
    assert mentions("Nothing to see here, and nothing to do. 1, 2, 3.") == []


def test_commands_are_not_looked_for():
    assert all(each.kind is not MentionKind.COMMAND for each in mentions("git status && make all_of_it"))


@given(st.text() | st.lists(st.sampled_from(PIECES)).map("".join))
@example("\ud800/a.ts")
@example("\x00" * 3)
def test_any_text_has_mentions_that_lie_in_it_and_not_in_each_other(text):
    found = mentions(text)
    apart = [each for each in found if each.kind is not MentionKind.ERROR]
    assert [each for each in found if not (0 <= each.start < each.stop <= len(text) and each.value)] == []
    assert [two for one, two in pairwise(apart) if two.start < one.stop] == []
    assert found == sorted(found, key=lambda each: each.start)


@given(
    st.lists(
        st.sampled_from(["see src/a.ts", "call load_it", "Error: it broke", "wait 10 ms", "plain words"])
    )
    | st.lists(st.lists(st.sampled_from([piece for piece in PIECES if piece != "\n"])).map("".join))
)
@example(["", ".abc1234"])
@example(["see issue", "#5 is one"])
@example(["1", "a/", "-", "foo_bar", "#12"])
@example(["diff --git a/", "a/b.ts", "\\", "n.ts"])
def test_lines_have_what_they_have_alone(lines):
    alone, at = list[Mention](), 0
    for line in lines:
        alone += [Mention(each.kind, each.value, each.start + at, each.stop + at) for each in mentions(line)]
        at += len(line) + 1
    assert mentions("\n".join(lines)) == alone


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE)
def test_a_large_text_is_read_in_time_that_grows_with_it(piece):
    few = 6_000 // len(piece)
    assert times_as_long(mentions, piece * few, piece * few * 8) < NO_SQUARE


def test_no_group_of_a_pattern_is_possessive_for_older_pythons_match_such_wrongly():
    sources = Path(mention.__file__).parent.glob("*.py")
    quantified = re.compile(r"\)(?:[*+?]|\{+[0-9,]+\}+)\+")
    assert [source.name for source in sources if quantified.search(source.read_text("utf-8"))] == []


def test_dots_behind_a_word_make_no_chain():
    assert mentions("Working...") == []
