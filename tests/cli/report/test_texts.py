from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cli.views.texts import cut, line_of


def test_a_short_text_is_whole() -> None:
    assert cut("abc", 3) == ("abc", 0)


def test_of_a_long_text_the_beginning_is_shown_and_the_rest_counted() -> None:
    assert cut("abcdef", 4) == ("abcd", 2)


def test_a_line_has_single_spaces_and_no_line_ends() -> None:
    assert line_of("  a\n\tb   c ", 20) == "a b c"


def test_a_longer_line_ends_in_an_ellipsis() -> None:
    assert line_of("abcdef", 4) == "abc…"


def test_a_line_of_which_only_the_beginning_was_looked_at_ends_in_an_ellipsis() -> None:
    assert line_of(" " * 5000 + "x", 10) == "…"


def test_of_a_long_path_the_end_stands_where_the_page_has_room() -> None:
    path = f"/{'folder/' * 30}parser.py"
    assert line_of(f"→ read {path}") == "→ read …/folder/parser.py"


@given(st.text(max_size=300), st.integers(1, 40))
def test_a_line_is_never_longer_than_asked(text: str, longest: int) -> None:
    assert len(line_of(text, longest)) <= longest
