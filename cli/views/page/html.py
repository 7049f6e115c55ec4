"""Write a page as one HTML file that loads nothing and runs only its own script."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup, escape

from cli.output import counted, printable, thousands
from cli.views.model import FindingView
from cli.views.page.parts import Page
from cli.views.texts import dollars, fit_text, line_of, part_of, percent
from eventstore.errors import BadInputError

if TYPE_CHECKING:
    from jinja2 import Environment
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


LONGEST: Final = 50_000
"""Maximum characters of Markdown to render; a longer summary is shown as source."""
DEEPEST: Final = 40
"""Nesting levels from which a summary is shown as source."""

_PLAIN_TAGS: Final = frozenset(
    {"p", "ul", "ol", "li", "blockquote", "strong", "em", "s", "hr"}
    | {"table", "thead", "tbody", "tr", "th", "td"}
)
_Mark = Callable[[str], Markup]


def summary_html(text: str, named: Mapping[str, str]) -> Markup:
    """Render a summary as HTML, with the words in `named` marked by kind.

    Link and image URLs become text, headings become paragraphs (the page has its own), and HTML is escaped.
    """
    source = printable(text)
    if not source.strip():
        return Markup()
    mark = _marker({printable(word): kind for word, kind in named.items()})
    tokens = _parser().parse(source) if len(source) <= LONGEST else []
    if not tokens or any(token.level >= DEEPEST - 1 for token in tokens):
        # At deeper nesting the parser drops text.
        return Markup('<pre class="as-written">{}</pre>').format(mark(source))
    return Markup().join(_blocks(tokens, mark))


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    options = {"html": False, "breaks": True, "maxNesting": DEEPEST}
    # Link definitions and character references must stay visible as text.
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
    """Return the tag of a token without text; nothing for unknown ones."""
    if token.tag not in _PLAIN_TAGS:
        return Markup()
    if token.nesting < 0:
        return Markup("</{}>").format(token.tag)
    start = token.attrs.get("start") if token.tag == "ol" else None
    return Markup('<ol start="{}">').format(start) if start is not None else Markup("<{}>").format(token.tag)


def _marker(named: Mapping[str, str]) -> _Mark:
    """Return a function that escapes a text and marks the named words in it, longest first."""
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


MARKER: Final = "<!-- generated by refold report; do not edit -->"
"""The second line of every page, which identifies a file as a report."""


def refuse_other_files(target: str) -> None:
    """Raise BadInputError for an existing file that is not a report."""
    path = Path(target)
    if target == "-" or not path.is_file() or not path.stat().st_size:
        return
    with path.open("rb") as file:
        beginning = file.read(1000)
    if MARKER.encode() not in beginning:
        raise BadInputError(target, "exists and is not a refold report", "name another file with -o")


def page_bytes(page: Page) -> bytes:
    """Return the page as UTF-8."""
    return page_html(page).encode()


def page_html(page: Page) -> str:
    """Return the page's HTML. Session text is escaped; invisible characters are made visible."""
    return rendered("page.html", script=_own_file("script.js"), page=page)


def rendered(template: str, *, script: Markup = Markup(), **values: Any) -> str:  # noqa: B008  nothing, and immutable
    """Return a whole page from a template, with the style of all pages."""
    style = _own_file("style.css")
    return (
        _environment()
        .get_template(template)
        .render(
            **values,
            marker=Markup(MARKER),  # noqa: S704  the page's own
            style=style,
            script=script,
            policy=_policy(style, script),
        )
    )


def _policy(style: str, script: str) -> str:
    """Return the content security policy: this style and this script, and nothing else."""
    rules = (
        "default-src 'none'",
        f"style-src '{_hash(style)}'",
        f"script-src '{_hash(script)}'",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join(rules)


def _hash(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


def _own_file(name: str) -> Markup:
    """Return one of the page's own files, to embed unchanged."""
    return Markup(files("cli.views.page").joinpath("templates", name).read_text("utf-8"))  # noqa: S704  no text of a session


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("cli.views.page"),
        autoescape=True,
        finalize=_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "counted": counted,
        "line": line_of,
        "linked": _linked,
        "dollars": _dollars,
        "minus": lambda amount: _dollars(None if amount is None else -amount),
        "part_of": part_of,
        "percent": percent,
        "fit": fit_text,
        "thousands": thousands,
    }
    return environment


_EVENT: Final = re.compile(r"#(\d+)")
_RANGE: Final = re.compile(r"#(\d+)\N{EN DASH}#(\d+)")


def _linked(found: FindingView) -> Markup:
    """Return a finding's sentence with a link to each event that it names.

    The others follow, by what they are, except those in a range (`#3–#7`) of the sentence.
    """  # noqa: RUF002  a dash
    known = {each.seq for each in found.finding.known}
    events = known | {each.seq for each in found.finding.trouble}
    sentence = printable(found.sentence)
    ranges = [range(int(first), int(last)) for first, last in _RANGE.findall(sentence)]
    pieces, named = list[Markup](), {seq for seq in events if any(seq in each for each in ranges)}
    for place, text in enumerate(_EVENT.split(sentence)):
        if place % 2 and int(text) in events:
            named.add(int(text))
            pieces.append(_link(int(text)))
        else:
            pieces.append(escape(f"#{text}" if place % 2 else text))
    for what, others in (("Also known from", known - named), ("Also missed at", events - known - named)):
        if others:
            pieces += [escape(f" {what} "), Markup(", ").join(map(_link, sorted(others))), escape(".")]
    return Markup().join(pieces)


def _link(seq: int) -> Markup:
    return Markup('<a class="seq" href="#e-{0}">#{0}</a>').format(seq)


def _dollars(amount: float | None, *, is_signed: bool = False) -> str:
    return dollars(amount, is_signed=is_signed).replace("-$", "\N{MINUS SIGN}$")


def _visible(value: Any) -> Any:
    """Return a value with invisible and direction-changing characters made visible."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value
