"""The HTML of the page: safe, self-contained, the same for the same session."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from cli.views.model import audit_view
from cli.views.page.build import build_page
from cli.views.page.html import DEEPEST, LONGEST, MARKER, page_bytes, page_html, summary_html
from cli.views.page.material import Material
from cli.views.page.parts import Page
from eventstore import EventLog
from eventstore.files.importing import import_sessions
from eventstore.records import Decision
from projections.audit.session import TokensAfter
from tests.cli.views.page.reading import material_of
from tests.pages.hostile import EVERYTHING, PAYLOADS, hostile
from tests.support import codex
from tests.support.growth import NO_SQUARE, times_as_long
from tests.support.measured import ref
from tests.support.pi_files import bring
from tests.support.talk import Story, user


@pytest.fixture(scope="module")
def html(demo_page: Page) -> str:
    return page_html(demo_page)


def test_sizes_are_those_that_the_terminal_shows(demo: Material) -> None:
    after = TokensAfter(claimed=None, measured=5_000, measured_at="e", recomputed=1)
    first = demo.view.audit.compactions[0]
    before = structs.replace(first.before, measured=90_000)
    only = structs.replace(first, before=before, after=after)
    view = audit_view(structs.replace(demo.view.audit, compactions=[only], branch_summaries=[], rewrites=[]))
    html = page_html(build_page(structs.replace(demo, view=view)))
    shown = re.findall(r'data-name="tokens (before|after)">([\d,]+)<', html)
    assert shown == [("before", "90,000"), ("after", "5,000")]


def test_a_remark_links_its_events(demo: Material) -> None:
    first, *others = demo.view.audit.compactions
    shown = structs.replace(first, uncovered=[ref(3), ref(7)], conditions=["uncovered"])
    view = audit_view(structs.replace(demo.view.audit, compactions=[shown, *others]))
    html = page_html(build_page(structs.replace(demo, view=view)))
    (item,) = re.findall(r"<li>(?:(?!</li>).)*left the context.*?</li>", html)
    assert re.findall(r'href="#e-(\d+)"', item) == ["3", "7"]


class Reader(HTMLParser):
    """Collect a page's tags, attributes, ids and links, and check that tags close in order."""

    VOID = ("meta", "input", "br", "col", "rect", "line", "circle", "path", "hr")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.update(name for name, _ in attrs)
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "action")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes something else"


def hostile_html(store: EventLog, folder) -> str:
    session = bring(store, folder, hostile(PAYLOADS[0])).id
    return page_html(build_page(material_of(store, session), is_full=True))


def test_the_second_line_tells_that_it_is_a_report(html: str) -> None:
    assert html.splitlines()[:2] == ["<!doctype html>", MARKER]


def test_the_policy_allows_this_style_and_this_script_alone(html: str) -> None:
    def digest(tag: str) -> str:
        content = re.search(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        assert content is not None
        return "'sha256-" + b64encode(sha256(content[1].encode()).digest()).decode() + "'"

    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    assert policy[1].replace("&#39;", "'") == (
        f"default-src 'none'; style-src {digest('style')}; script-src {digest('script')}; "
        "base-uri 'none'; form-action 'none'"
    )


def test_there_is_one_style_one_script_and_nothing_that_loads(html: str) -> None:
    tags = Reader(html).tags
    assert (tags.count("style"), tags.count("script")) == (1, 1)
    assert not {"link", "img", "iframe", "base", "form", "object", "embed", "image", "use"} & set(tags)


@pytest.mark.slow
def test_no_element_has_a_style_or_a_handler_of_its_own(html: str) -> None:
    assert not [name for name in Reader(html).attributes if name == "style" or name.startswith("on")]


def test_every_tag_is_closed_in_its_place(html: str) -> None:
    assert Reader(html).open == []


def test_no_id_stands_twice(html: str) -> None:
    ids = Reader(html).ids
    assert len(ids) == len(set(ids))


def test_every_link_leads_to_something_on_the_page(html: str) -> None:
    found = Reader(html)
    assert {link.removeprefix("#") for link in found.links} <= set(found.ids)
    assert all(link.startswith("#") for link in found.links)


def test_headings_leave_no_level_out(html: str) -> None:
    levels = [int(tag[1]) for tag in Reader(html).tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_every_event_has_its_anchor(html: str, demo_page: Page) -> None:
    assert [f"e-{seq}" for seq in range(1, demo_page.events + 1)] == [
        each for each in Reader(html).ids if each.startswith("e-")
    ]


def test_a_text_is_as_it_was_said_but_escaped(store: EventLog) -> None:
    story = Story(store)
    story.says(user("\n  if a < b && c:\n\treturn {{ x }}\n"))
    html = page_html(build_page(material_of(store)))
    assert "\n\n  if a &lt; b &amp;&amp; c:\n\treturn {{ x }}\n</pre>" in html


def test_an_empty_session_has_a_page(store: EventLog) -> None:
    Story(store).add(Decision(outcome="skip", reason="small"))
    html = page_html(build_page(material_of(store)))
    assert Reader(html).open == []


def test_a_sealed_history_is_no_empty_summary(store: EventLog, tmp_path: Path) -> None:
    sealed = codex.item("compaction", encrypted_content="x" * 900)
    readable = codex.said("one"), codex.said("two")
    content = codex.rollout(*readable, codex.answered("1"), codex.compacted("", *readable, sealed))
    (tmp_path / codex.name_of()).write_bytes(content)
    (found,) = import_sessions(store, tmp_path / codex.name_of())
    page = build_page(material_of(store, found.id))
    html = page_html(page)
    assert "Sealed: only openai can read it." in html
    assert "History that only openai can read was sent after it, too" in html
    assert "It is empty." not in html
    (view,) = page.worst
    told = {fact.name: fact.value for fact in view.facts}
    assert told["messages"] == "sealed: only openai can read what stands for them"
    size = view.replacement.metrics.size
    assert [row.text for row in view.after] == ["one", "two", "history that only openai can read"]
    assert [row.fate for row in view.before] == ["summarized"] * 3
    assert [sum(row.tokens for row in rows) for rows in (view.before, view.after)] == [
        size.before,
        size.after,
    ]


@pytest.mark.slow
def test_nothing_hostile_becomes_a_tag_an_attribute_an_id_or_a_link(
    store: EventLog, tmp_path, html: str
) -> None:
    found, plain = Reader(hostile_html(store, tmp_path)), Reader(html)
    marks = {"blockquote", "hr", "strong", "em", "s"}
    assert set(found.tags) <= set(plain.tags) | marks
    assert found.attributes <= plain.attributes
    assert found.open == []
    assert len(found.ids) == len(set(found.ids))
    assert {link.removeprefix("#") for link in found.links} <= set(found.ids)


@pytest.mark.slow
def test_what_cannot_be_seen_is_spelled_out(store: EventLog, tmp_path) -> None:
    html = hostile_html(store, tmp_path)
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", html
    )
    for spelled in (r"\x00b\x1b[31m", r"left \u202eright\u202c", r"lone \ud83d surrogate \udc00"):
        assert spelled in html


@pytest.mark.slow
def test_the_file_is_utf_8_whatever_the_session_holds(store: EventLog, tmp_path) -> None:
    session = bring(store, tmp_path, hostile("s")).id
    assert page_bytes(build_page(material_of(store, session))).decode("utf-8").startswith("<!doctype html>")


def test_the_same_session_gives_the_same_page(demo_page: Page, html: str) -> None:
    assert page_html(demo_page) == html


def test_a_text_of_a_megabyte_on_one_line_is_cut(store: EventLog) -> None:
    story = Story(store)
    story.says(user("x" * 1_000_000), user("<" * 1_000_000))
    html = page_html(build_page(material_of(store)))
    assert len(html) < 150_000
    assert "996,000" in html


TAGS = {
    *("p", "ul", "ol", "li", "blockquote", "strong", "em", "s", "hr", "br", "code", "pre", "span"),
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
    assert summary_html(markdown) == html


def test_html_is_shown_and_not_obeyed() -> None:
    assert summary_html("<b>x</b>\n\n<read-files>\na.py\n</read-files>") == (
        "<p>&lt;b&gt;x&lt;/b&gt;</p><p>&lt;read-files&gt;<br>a.py<br>&lt;/read-files&gt;</p>"
    )


def test_a_link_is_its_text_and_its_address() -> None:
    assert summary_html("[here](https://a.example/b)") == (
        '<p>here <span class="address">(https://a.example/b)</span></p>'
    )


def test_an_address_by_itself_is_shown_once() -> None:
    assert summary_html("<https://a.example>") == "<p>https://a.example</p>"


def test_a_picture_is_what_it_is_called_and_its_address() -> None:
    assert summary_html("![a graph](https://a.example/g.png)") == (
        '<p>[a graph] <span class="address">(https://a.example/g.png)</span></p>'
    )


def test_what_would_define_a_link_or_name_a_character_is_text() -> None:
    assert summary_html("[a]: b\n\n&amp; x") == "<p>[a]: b</p><p>&amp;amp; x</p>"


def test_what_cannot_be_seen_in_a_summary_is_spelled_out() -> None:
    assert summary_html("a\x00\u202eb\ud83d") == r"<p>a\x00\u202eb\ud83d</p>"


def test_an_empty_summary_is_empty() -> None:
    assert summary_html("") == ""
    assert summary_html(" \n ") == ""


@pytest.mark.parametrize("opening", [">", "- ", "  - \n", "1. ", "*a **b "])
def test_nesting_without_end_loses_no_text(opening: str) -> None:
    assert "the end" in summary_html(opening * 10_000 + "the end")


def test_a_summary_nested_too_deep_is_shown_as_it_is_written() -> None:
    text = ">" * DEEPEST + " deep"
    assert summary_html(text) == (f'<pre class="as-written">{"&gt;" * DEEPEST} deep</pre>')


def test_a_summary_that_is_too_long_is_shown_as_it_is_written() -> None:
    assert summary_html("*" + "x" * LONGEST).startswith('<pre class="as-written">*x')


@pytest.mark.slow
@pytest.mark.parametrize(
    "repeated", ["[", "![", "*a_ ", "`", "<", "&", "[a](", "~~a ", "\\", "|a|b|\n|-|-|\n", "[a]: b\n", "<a "]
)
def test_a_text_is_shown_in_time_that_grows_with_it(repeated: str) -> None:
    def shown(length: int) -> str:
        return summary_html((repeated * length)[:length])

    assert times_as_long(shown, LONGEST // 20, LONGEST * 8 // 20) < NO_SQUARE


@pytest.mark.parametrize("payload", [*PAYLOADS, EVERYTHING])
def test_nothing_hostile_becomes_a_tag_or_an_attribute(payload: str) -> None:
    html = summary_html(payload)
    assert tags(html) <= TAGS
    assert attributes(html) <= {"class", "title", "start"}


@given(st.text(alphabet="<>&\"'`*_[]()!#-|~\\\n ax:/1.={}", max_size=200))
def test_no_text_becomes_a_tag_or_an_attribute(text: str) -> None:
    html = summary_html(text)
    assert tags(html) <= TAGS
    assert attributes(html) <= {"class", "title", "start"}
