"""A summary's Markdown as HTML in which nothing of it can run, load or lead anywhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Final

from markupsafe import Markup, escape

from cli.output import printable

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LONGEST: Final = 50_000
"""Characters of Markdown that are laid out; a longer summary is shown as it is written."""
DEEPEST: Final = 40
"""Levels of nesting from which on a summary is shown as it is written."""

_PLAIN_TAGS: Final = frozenset(
    {"p", "ul", "ol", "li", "blockquote", "strong", "em", "s", "hr"}
    | {"table", "thead", "tbody", "tr", "th", "td"}
)
_Mark = Callable[[str], Markup]


def summary_html(text: str, named: Mapping[str, str]) -> Markup:
    """A summary as HTML, the words in `named` marked, each with its kind.

    Addresses of links and images become text, headings paragraphs (the page has its own); HTML is shown, not obeyed.
    """
    source = printable(text)
    if not source.strip():
        return Markup()
    mark = _marker({printable(word): kind for word, kind in named.items()})
    tokens = _parser().parse(source) if len(source) <= LONGEST else []
    if not tokens or any(token.level >= DEEPEST - 1 for token in tokens):
        # Deeper than that, the parser leaves texts out.
        return Markup('<pre class="as-written">{}</pre>').format(mark(source))
    return Markup().join(_blocks(tokens, mark))


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    options = {"html": False, "breaks": True, "maxNesting": DEEPEST}
    # What a definition of a link or a character's name stands for is text that a reader is to see.
    return (
        MarkdownIt("commonmark", options).enable(["table", "strikethrough"]).disable(["reference", "entity"])
    )


def _blocks(tokens: Iterable[Token], mark: _Mark) -> Iterator[Markup]:
    for token in tokens:
        if token.type == "inline":
            yield from _inline(token.children or (), mark)
        elif token.type in ("fence", "code_block"):
            yield Markup("<pre><code>{}</code></pre>").format(mark(token.content))
        elif token.type == "heading_open":
            yield Markup('<p class="heading {}">').format(token.tag)
        elif token.type == "heading_close":
            yield Markup("</p>")
        elif not token.hidden:
            yield _tag(token)


def _inline(tokens: Iterable[Token], mark: _Mark) -> Iterator[Markup]:
    addresses: list[str] = []
    for token in tokens:
        if token.type in ("text", "code_inline"):
            marked = mark(token.content)
            yield Markup("<code>{}</code>").format(marked) if token.type == "code_inline" else marked
        elif token.type in ("softbreak", "hardbreak"):
            yield Markup("<br>")
        elif token.type == "link_open":
            addresses.append("" if token.info == "auto" else str(token.attrs.get("href", "")))
        elif token.type == "link_close":
            yield _address(addresses.pop())
        elif token.type == "image":
            yield Markup("[{}]").format(mark(token.content or "image"))
            yield _address(str(token.attrs.get("src", "")))
        else:
            yield _tag(token)


def _address(address: str) -> Markup:
    return Markup(' <span class="address">({})</span>').format(address) if address else Markup()


def _tag(token: Token) -> Markup:
    """The tag of a token without a text of its own; nothing for one that this page does not know."""
    if token.tag not in _PLAIN_TAGS:
        return Markup()
    if token.nesting < 0:
        return Markup("</{}>").format(token.tag)
    start = token.attrs.get("start") if token.tag == "ol" else None
    return Markup('<ol start="{}">').format(start) if start is not None else Markup("<{}>").format(token.tag)


def _marker(named: Mapping[str, str]) -> _Mark:
    """What escapes a text and marks the words that are named in it, the longest first."""
    if not named:
        return escape
    words = "|".join(map(re.escape, sorted(named, key=len, reverse=True)))
    pattern = re.compile(rf"(?<!\w)(?:{words})(?!\w)")

    def mark(text: str) -> Markup:
        pieces, done = list[Markup](), 0
        for found in pattern.finditer(text):
            pieces.append(escape(text[done : found.start()]))
            pieces.append(Markup('<mark title="{}">{}</mark>').format(named[found[0]], found[0]))
            done = found.end()
        return Markup().join([*pieces, escape(text[done:])])

    return mark
