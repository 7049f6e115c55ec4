"""Mark words of a summary in its HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import unescape
from itertools import pairwise
from typing import Final, NamedTuple

from markupsafe import Markup

_PIECE: Final = re.compile(r"<[^<>]*>|&[#\w]+;|.", re.DOTALL)


class Marked(NamedTuple):
    """Words to mark, and what to call them; `anchor` is the id of the mark."""

    words: str
    label: str
    anchor: str


def marked(html: Markup, wanted: Sequence[Marked]) -> Markup:
    """Return HTML in which the first place of some words is marked, where it has them.

    Only letters and digits are compared, because signs of Markdown are not in the HTML.
    """
    letters, places = list[str](), list[tuple[int, int]]()
    for found in _PIECE.finditer(html):
        text = unescape(found[0])
        if len(text) == 1 and text.isalnum():
            letters.append(text)
            places.append(found.span())
    whole, spans = "".join(letters), list[tuple[int, int, Marked]]()
    for each in wanted:
        sought = "".join(filter(str.isalnum, each.words))
        if sought and (at := whole.find(sought)) >= 0:
            spans.append((places[at][0], places[at + len(sought) - 1][1], each))
    return Markup("".join(_pieces(html, spans)))  # noqa: S704  only marks are added, around whole characters


def _pieces(html: str, spans: Sequence[tuple[int, int, Marked]]) -> Iterator[str]:
    """Yield the HTML with marks, none of which reaches over a tag."""
    edges = {0, len(html), *(edge for start, end, _ in spans for edge in (start, end))}
    edges |= {edge for found in re.finditer(r"<[^<>]*>", html) for edge in found.span()}
    ordered = sorted(edges)
    for start, end in pairwise(ordered):
        text = html[start:end]
        over = [each for first, last, each in spans if first <= start < last]
        if not over or text.startswith("<") or not text.strip():
            yield text
            continue
        begun = [each for first, _, each in spans if first == start]
        yield "".join(
            Markup('<b class="label" id="{}">{}</b>').format(each.anchor, each.label) for each in begun
        )
        yield f"<mark>{text}</mark>"
