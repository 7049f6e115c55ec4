from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.views.page.html import DEEPEST, LONGEST, summary_html
from tests.pages.hostile import EVERYTHING, PAYLOADS
from tests.support.growth import NO_SQUARE, times_as_long

TAGS = {
    *("p", "ul", "ol", "li", "blockquote", "strong", "em", "s", "hr", "br", "code", "pre", "mark", "span"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}


def tags(html: str) -> set[str]:
    return set(re.findall(r"<([a-z0-9]+)", html))


def attributes(html: str) -> set[str]:
    return set(re.findall(r' ([a-z-]+)="', "".join(re.findall(r"<[a-z][^>]*>", html))))


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("a **b** *c* ~~d~~", "<p>a <strong>b</strong> <em>c</em> <s>d</s></p>"),
        ("# Goal", '<p class="heading h1">Goal</p>'),
        ("- a\n- b", "<ul><li>a</li><li>b</li></ul>"),
        ("3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>'),
        ("`x < y`", "<p><code>x &lt; y</code></p>"),
        ("```py\nx = 1\n```", "<pre><code>x = 1\n</code></pre>"),
        ("a\nb", "<p>a<br>b</p>"),
        ("> a", "<blockquote><p>a</p></blockquote>"),
        (
            "|a|\n|-|\n|b|",
            "<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>b</td></tr></tbody></table>",
        ),
    ],
)
def test_markdown_is_laid_out(markdown: str, html: str) -> None:
    assert summary_html(markdown, {}) == html


def test_html_is_shown_and_not_obeyed() -> None:
    assert summary_html("<b>x</b>\n\n<read-files>\na.py\n</read-files>", {}) == (
        "<p>&lt;b&gt;x&lt;/b&gt;</p><p>&lt;read-files&gt;<br>a.py<br>&lt;/read-files&gt;</p>"
    )


def test_a_link_is_its_text_and_its_address() -> None:
    assert summary_html("[here](https://a.example/b)", {}) == (
        '<p>here <span class="address">(https://a.example/b)</span></p>'
    )


def test_an_address_by_itself_is_shown_once() -> None:
    assert summary_html("<https://a.example>", {}) == "<p>https://a.example</p>"


def test_a_picture_is_what_it_is_called_and_its_address() -> None:
    assert summary_html("![a graph](https://a.example/g.png)", {}) == (
        '<p>[a graph] <span class="address">(https://a.example/g.png)</span></p>'
    )


def test_what_would_define_a_link_or_name_a_character_is_text() -> None:
    assert summary_html("[a]: b\n\n&amp; x", {}) == "<p>[a]: b</p><p>&amp;amp; x</p>"


def test_words_that_are_named_are_marked_wherever_they_stand_by_themselves() -> None:
    html = summary_html("run `run` runs", {"run": "symbol"})
    marked = '<mark title="symbol">run</mark>'
    assert html == f"<p>{marked} <code>{marked}</code> runs</p>"


def test_of_two_words_that_begin_alike_the_longer_is_marked() -> None:
    html = summary_html("src/a.py", {"src": "path", "src/a.py": "path"})
    assert html == '<p><mark title="path">src/a.py</mark></p>'


def test_a_marked_word_is_escaped() -> None:
    assert summary_html("x <b> y", {"<b>": '"'}) == '<p>x <mark title="&#34;">&lt;b&gt;</mark> y</p>'


def test_what_cannot_be_seen_is_spelled_out() -> None:
    assert summary_html("a\x00\u202eb\ud83d", {}) == r"<p>a\x00\u202eb\ud83d</p>"


def test_an_empty_summary_is_empty() -> None:
    assert summary_html("", {}) == ""
    assert summary_html(" \n ", {}) == ""


@pytest.mark.parametrize("opening", [">", "- ", "  - \n", "1. ", "*a **b "])
def test_nesting_without_end_loses_no_text(opening: str) -> None:
    assert "the end" in summary_html(opening * 10_000 + "the end", {})


def test_a_summary_nested_too_deep_is_shown_as_it_is_written() -> None:
    text = ">" * DEEPEST + " deep"
    assert summary_html(text, {"deep": "symbol"}) == (
        f'<pre class="as-written">{"&gt;" * DEEPEST} <mark title="symbol">deep</mark></pre>'
    )


def test_a_summary_that_is_too_long_is_shown_as_it_is_written() -> None:
    assert summary_html("*" + "x" * LONGEST, {}).startswith('<pre class="as-written">*x')


@pytest.mark.parametrize(
    "repeated", ["[", "![", "*a_ ", "`", "<", "&", "[a](", "~~a ", "\\", "|a|b|\n|-|-|\n", "[a]: b\n", "<a "]
)
def test_a_text_is_shown_in_time_that_grows_with_it(repeated: str) -> None:
    def shown(length: int) -> str:
        return summary_html((repeated * length)[:length], {"a": "symbol"})

    assert times_as_long(shown, LONGEST // 20, LONGEST * 8 // 20) < NO_SQUARE


@pytest.mark.parametrize("payload", [*PAYLOADS, EVERYTHING])
def test_nothing_hostile_becomes_a_tag_or_an_attribute(payload: str) -> None:
    html = summary_html(payload, {payload: "path", "script": "symbol", "=": "symbol"})
    assert tags(html) <= TAGS
    assert attributes(html) <= {"class", "title", "start"}


@given(st.text(alphabet="<>&\"'`*_[]()!#-|~\\\n ax:/1.={}", max_size=200))
def test_no_text_becomes_a_tag_or_an_attribute(text: str) -> None:
    html = summary_html(text, {"a": "symbol"})
    assert tags(html) <= TAGS
    assert attributes(html) <= {"class", "title", "start"}
