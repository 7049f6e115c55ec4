"""Look things up in a context: whole words of its texts, and paths in all forms."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore.views import Message, Text, Thinking
from projections.mentions import MentionKind
from projections.mentions.mention_index import MentionIndex
from projections.mentions.message_facts import message_facts
from projections.mentions.path_names import PathIndex


def says(*texts, paths=()):
    """The index of messages of one text each; `paths` are all that the context before spoke of."""
    messages = [Message(role="user", blocks=(Text(text),)) for text in texts]
    held = [message_facts(seq, f"e{seq}", message) for seq, message in enumerate(messages, 1)]
    return MentionIndex(held, PathIndex(paths))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (MentionKind.PATH, "src/parser.py"),
        (MentionKind.SYMBOL, "parse_header"),
        (MentionKind.IDENTIFIER, "0b9a4c1e-52d7-4f0e-9a3b-7c61d2e8f405"),
        (MentionKind.ERROR, "ValueError: bad header in line 7"),
        (MentionKind.URL, "https://example.com/x"),
        (MentionKind.QUANTITY, "250 MB"),
        (MentionKind.COMMAND, "pytest -q"),
    ],
)
def test_a_thing_is_named_where_its_value_stands_alone_in_a_text(kind, value):
    assert says(f"So: {value}").contains(kind, value)
    assert says(f"({value}), that is").contains(kind, value)
    assert not says("So: nothing").contains(kind, value)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (MentionKind.SYMBOL, "parse_header", "parse_headers"),
        (MentionKind.SYMBOL, "parse_header", "reparse_header"),
        (MentionKind.IDENTIFIER, "abc1234", "abc12345"),
        (MentionKind.IDENTIFIER, "AB-12", "X-AB-12"),
        (MentionKind.URL, "https://example.com/x", "https://example.com/x/y"),
        (MentionKind.URL, "https://example.com/x", "https://example.com/x?y=1"),
        (MentionKind.QUANTITY, "50 MB", "1.50 MB"),
        (MentionKind.COMMAND, "npm run build", "npm run build:all"),
        (MentionKind.COMMAND, "make", "cmake"),
        (MentionKind.PATH, "src/a.ts", "src/a.ts.map"),
        (MentionKind.PATH, "src/a.ts", "new-src/a.ts"),
        (MentionKind.PATH, "a.ts", "data.ts"),
    ],
)
def test_a_value_inside_a_longer_word_is_not_the_thing(kind, value, text):
    assert not says(f"see {text} there").contains(kind, value)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (MentionKind.SYMBOL, "parse_header", "self.parse_header(line)"),
        (MentionKind.URL, "https://example.com/x", "https://example.com/x."),
        (MentionKind.QUANTITY, "50 MB", "50 MB."),
        (MentionKind.COMMAND, "git status", "git status --short"),
        (MentionKind.PATH, "src/a.ts", "src/a.ts:12"),
        (MentionKind.SYMBOL, "parse_header", "调用parse_header函数"),
    ],
)
def test_punctuation_and_scripts_without_spaces_end_a_word(kind, value, text):
    assert says(f"see {text} there").contains(kind, value)


def test_white_space_is_collapsed_on_both_sides():
    assert says("then git\n   add\tsrc").contains(MentionKind.COMMAND, "git  add src")


def test_case_counts():
    assert not says("Parse_Header").contains(MentionKind.SYMBOL, "parse_header")


def test_a_value_does_not_run_from_one_text_into_the_next():
    assert not says("git", "status").contains(MentionKind.COMMAND, "git status")


def test_an_empty_context_names_nothing():
    assert not says().contains(MentionKind.COMMAND, "ls")


def test_nothing_is_named_by_an_empty_value():
    assert not says("text").contains(MentionKind.COMMAND, "")


def test_what_is_found_as_that_thing_is_named_however_it_is_written():
    assert says("took 40ms").contains(MentionKind.QUANTITY, "40 ms")


def test_thinking_names_things_too():
    message = Message(role="assistant", blocks=(Thinking("src/a.ts"),))
    assert MentionIndex([message_facts(1, "e1", message)], PathIndex(())).contains(
        MentionKind.PATH, "src/a.ts"
    )


# Errors


def test_an_error_is_named_by_its_message_without_the_marker():
    error = "src/a.ts(5,3): error TS2304: Cannot find name 'fold'."
    assert says("It stopped at Cannot find name 'fold'. again").contains(MentionKind.ERROR, error)


def test_a_message_of_a_few_letters_does_not_name_an_error():
    assert not says("it was not found").contains(MentionKind.ERROR, "Error: not found")


def test_another_error_with_the_same_marker_is_another():
    assert not says("ValueError: bad header in line 8").contains(
        MentionKind.ERROR, "ValueError: bad header in line 7"
    )


# Paths

MANY = ("/repo/a/index.ts", "/repo/b/index.ts")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/repo/src/a.ts", "src/a.ts"),
        ("src/a.ts", "/repo/src/a.ts"),
        ("./src/a.ts", "src/a.ts"),
        ("../src/a.ts", "/repo/src/a.ts"),
        ("~/src/a.ts", "/home/me/src/a.ts"),
        ("C:\\repo\\src\\a.ts", "src/a.ts"),
        ("/repo/src", "/repo/src/a.ts"),
    ],
)
def test_a_path_is_named_by_a_shorter_and_by_a_longer_form(path, text):
    assert says(f"see {text} there").contains(MentionKind.PATH, path)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/repo/src/a.ts", "/other/src/a.ts"),
        ("/repo/src/a.ts", "lib/a.ts"),
        ("/repo/src/a.ts", "/src/a.ts"),
        ("/repo/src/a.ts", "/repo/src"),
        ("src/a.ts", "src/aa.ts"),
    ],
)
def test_a_path_that_ends_otherwise_or_starts_elsewhere_is_another(path, text):
    assert not says(f"see {text} there", paths=[path]).contains(MentionKind.PATH, path)


def test_a_bare_file_name_names_the_one_path_that_has_it():
    assert says("see parser.ts", paths=["/repo/src/parser.ts"]).contains(
        MentionKind.PATH, "/repo/src/parser.ts"
    )


def test_a_bare_file_name_is_not_found_for_one_of_many():
    assert not says("see index.ts", paths=MANY).contains(MentionKind.PATH, MANY[0])


PACKAGES = ("/repo/ai/src/index.ts", "/repo/tui/src/index.ts")


@pytest.mark.parametrize("path", [*PACKAGES, "src/index.ts"])
@pytest.mark.parametrize("text", PACKAGES)
def test_a_file_of_one_package_does_not_name_that_of_another(path, text):
    assert says(f"see {text}", paths=PACKAGES).contains(MentionKind.PATH, path) is (path == text)


def test_a_shorter_form_names_none_of_several_packages_files():
    index = says("see src/index.ts, not ai/src/index.ts", paths=PACKAGES)
    named = [index.contains(MentionKind.PATH, path) for path in (*PACKAGES, "src/index.ts")]
    assert named == [True, False, True]


def test_forms_of_one_path_are_not_many():
    forms = ["/repo/src/parser.ts", "src/parser.ts", "parser.ts"]
    assert says("see parser.ts", paths=forms).contains(MentionKind.PATH, forms[0])


def test_a_bare_file_name_that_was_spoken_of_is_found_in_a_path_that_only_it_can_be():
    one = ["index.ts", MANY[0]]
    assert says(f"see {MANY[0]}", paths=one).contains(MentionKind.PATH, "index.ts")
    assert not says(f"see {MANY[0]}", paths=MANY).contains(MentionKind.PATH, "index.ts")


def test_a_bare_name_without_an_extension_may_be_any_word():
    assert not says("the docs say so", paths=["/repo/docs"]).contains(MentionKind.PATH, "/repo/docs")


def test_a_path_is_found_though_it_does_not_look_like_one():
    assert says("in Chapter One we see").contains(MentionKind.PATH, "Chapter One")


@pytest.mark.parametrize("path", [".", "./", "~", "/"])
def test_where_paths_start_from_is_no_path(path):
    assert not says("see ./src/a.ts and ~/b.ts").contains(MentionKind.PATH, path)


# The first message


def test_the_first_message_that_names_a_thing_is_given():
    index = says("nothing", "`parse_header`", "parse_header")
    assert index.first_message(MentionKind.SYMBOL, "parse_header").id == "e2"


def test_a_plain_word_in_an_earlier_message_goes_before_a_marked_one_in_a_later():
    index = says("the fold of it", "call `fold`")
    assert index.first_message(MentionKind.SYMBOL, "fold").id == "e1"


@pytest.mark.parametrize(("last", "found"), [(1, None), (69, None), (70, "e70"), (200, "e70")])
def test_a_search_up_to_an_event_finds_no_later_message(last, found):
    held = [
        message_facts(seq, f"e{seq}", Message(role="user", blocks=(Text(text),)))
        for seq, text in [(1, "nothing"), (66, "nothing"), (70, "git status"), (200, "git status")]
    ]
    first = MentionIndex(held, PathIndex(())).first_message(MentionKind.COMMAND, "git status", last=last)
    assert (first and first.id) == found


def test_any_form_of_a_path_may_come_first():
    index = says("see a.ts", "src/a.ts", "/repo/src/a.ts", paths=["/repo/src/a.ts"])
    assert index.first_message(MentionKind.PATH, "/repo/src/a.ts").id == "e1"


def test_a_message_without_a_text_moves_no_other():
    held = [
        message_facts(seq, f"e{seq}", Message(role="user", blocks=(Text(text),)))
        for seq, text in enumerate(["", "git status", "", "ls", ""], 1)
    ]
    index = MentionIndex(held, PathIndex(()))
    assert [index.first_message(MentionKind.COMMAND, command).id for command in ("git status", "ls")] == [
        "e2",
        "e4",
    ]


def test_what_no_message_names_has_no_first():
    assert says("text").first_message(MentionKind.SYMBOL, "parse_header") is None


@given(texts=st.lists(st.text("ab -._/\n中", max_size=12), max_size=4), value=st.text("ab -.中", max_size=4))
def test_the_search_finds_what_a_plain_expression_finds(texts, value):
    words = " ".join(value.split())
    letter = r"[^\W\u2e80-\uffff]"
    whole = re.compile(
        rf"(?<!{letter})(?<!{letter}[-./]){re.escape(words)}(?!{letter})(?![-./:=]{letter})", re.ASCII
    )
    expected = [
        f"e{seq}" for seq, text in enumerate(texts, 1) if words and whole.search(" ".join(text.split()))
    ]
    first = says(*texts).first_message(MentionKind.COMMAND, value)
    assert (first.id if first else None) == (expected[0] if expected else None)
