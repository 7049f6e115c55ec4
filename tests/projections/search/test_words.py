from __future__ import annotations

import json
import sqlite3
import unicodedata
from contextlib import closing

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eventstore.errors import BadInputError
from eventstore.node import Node
from eventstore.views import Message, Shell, Text, Thinking, ToolCall
from projections.search.words import Query, divided_names, normalized, text_of_node

WIDTH = 60


def marked(query: str, text: str, width: int = WIDTH) -> str | None:
    """The excerpt of a text with its marks in brackets."""
    found = Query(query).excerpt(text, width)
    if found is None:
        return None
    line = found.text
    for start, stop in reversed(found.marks):
        line = f"{line[:start]}[{line[start:stop]}]{line[stop:]}"
    return line


@pytest.mark.parametrize(
    ("query", "text", "excerpt"),
    [
        ("model", "The Model.", "The [Model]."),
        ("model", "models", None),
        ("model*", "models", "[model]s"),
        ("the model", "model of the", "[model] of [the]"),
        ('"the model"', "model of the", None),
        ('"the model"', "find the\n  model", "find [the model]"),
        ("src/a.py", "see ./src/a.py:3", "see ./[src/a.py]:3"),
        ("src/a.py", "src/b.py a.py", None),
        ("find_model", "findModel find_model", "[findModel] [find_model]"),
        ("findModel", "await findModel()", "await [findModel]()"),
        ("findmodel", "findModel", "[findModel]"),
        ("model", "findModel()", "find[Model]()"),
        ("model", "é ÀfindModel()", "é Àfind[Model]()"),
        ("find", "findModelNow", "[find]ModelNow"),
        ("cafe", "Café, cafe\u0301", "[Café], [cafe]\u0301"),
        ("STRASSE", "die Straße", "die [Straße]"),
        ("検索", "全文検索です", "全文[検索]です"),
        ("検文", "全文検索です", None),
        ("naïve*", "naively", "[naive]ly"),
        ("don't", "I don't.", "I [don't]."),
        ("x", "\x1b[1m x\ud800", "\x1b[1m [x]\ud800"),
    ],
)
def test_a_query_finds_words(query: str, text: str, excerpt: str | None) -> None:
    assert marked(query, text) == excerpt
    assert Query(query).matches(text) is (excerpt is not None)


@pytest.mark.parametrize("query", ["", " ", "?!", '""', "*", "🎉"])
def test_a_query_without_words_is_an_error(query: str) -> None:
    with pytest.raises(BadInputError, match="no letter or digit"):
        Query(query)


@pytest.mark.parametrize("query", ['"', 'a "b', '"a" "b c'])
def test_a_quote_that_is_not_closed_is_an_error(query: str) -> None:
    with pytest.raises(BadInputError, match="not closed"):
        Query(query)


def test_an_excerpt_has_the_terms_that_are_near_each_other() -> None:
    text = f"{'one ' * 100} and {'x ' * 100} then one and two {'y ' * 100}"
    found = marked("one two", text)
    assert found is not None
    assert "[one] and [two]" in found
    assert found[0] == found[-1] == "…"
    assert len(found) < WIDTH * 2


def test_names_are_divided_at_capitals_unless_they_are_data() -> None:
    assert divided_names("findModel in getApiKey, find HTTPServer findModel") == "find Model get Api Key"
    assert divided_names("aB" * 100) == ""


def test_the_text_of_a_record_is_all_that_it_says() -> None:
    call = ToolCall(
        "k", "edit", json.dumps({"path": "a.py", "edits": [{"old": "é\n1"}, 7, None, True]}).encode()
    )
    message = Message(
        role="assistant",
        blocks=(Text("says"), Thinking("thinks"), call),
        tool_name="grep",
        shell=Shell(command="ls", output="none"),
    )
    words = text_of_node(Node(messages=(message,))).split("\n")
    assert words == ["grep", "says", "thinks", "edit", "a.py", "é", "1", "7", "ls", "none"]


def test_deep_arguments_have_a_text() -> None:
    arguments = b'{"a":' + b"[" * 500 + b'"deep"' + b"]" * 500 + b"}"
    message = Message(role="assistant", blocks=(ToolCall("k", "t", arguments),))
    assert "deep" in text_of_node(Node(messages=(message,)))


def tokens_of_sqlite(text: str) -> list[str]:
    """The words that FTS5 finds in a normalized text, in order."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='ascii')")
        db.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, instance)")
        db.execute("INSERT INTO t VALUES (?)", (normalized(text),))
        return [term for (term,) in db.execute("SELECT term FROM v ORDER BY offset")]


@pytest.mark.slow
@given(st.text(max_size=40))
@example("İstanbul ǅ ﬁ ½ ㍿ ｱ が")
@example("\x00a\x00")
def test_a_text_is_a_phrase_that_finds_itself(text: str) -> None:
    text = text.replace('"', " ")
    tokens = tokens_of_sqlite(text)
    if not tokens:
        with pytest.raises(BadInputError):
            Query(f'"{text}"')
        return
    query = Query(f'"{text}"')
    assert query.expression == f'"{" ".join(tokens)}"'
    assert query.matches(text)
    assert query.matches(text.upper().lower()) or not text.isascii()
    excerpt = query.excerpt(text, WIDTH)
    assert excerpt is not None
    assert all(0 <= start < stop <= len(excerpt.text) for start, stop in excerpt.marks)


@given(st.text(max_size=20).filter(lambda text: any(each.isalnum() for each in text)))
def test_whatever_has_a_letter_or_digit_has_a_word(text: str) -> None:
    assert tokens_of_sqlite(text)
    for form in ("NFC", "NFD"):
        assert tokens_of_sqlite(unicodedata.normalize(form, text))  # type: ignore[arg-type]
