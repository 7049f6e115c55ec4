"""What became of each message at a replacement, and what its summary still names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from eventstore.estimates import fragments
from eventstore.formats import view_of_message
from eventstore.views import Message
from projections.context.parts import Part
from projections.diff import Change
from projections.mentions import Kind, mentions
from projections.replacement import Replacement
from projections.tokens import Counter


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a context, and what became of it. `message` is what stands there in place of the recorded one."""

    seq: int
    tokens: int
    change: Change
    message: Message | None


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """The contexts before and after a replacement.

    `named` are the words of the summary that name what the removed messages named, and of which kind that is.
    """

    before: tuple[Shown, ...]
    after: tuple[Shown, ...]
    named: Mapping[str, Kind]


def exchange(replacement: Replacement, *, dropped: Iterable[str], tokens: Counter) -> Exchange:
    """The exchange that a replacement made; `dropped` are the ids of messages that no summary covers."""
    shown_after = {part.seq for part in replacement.after.parts}
    kept = {part.seq for part in replacement.kept}
    rewritten = {part.seq for part in replacement.removed} & shown_after
    gone = frozenset(dropped)

    def before(part: Part) -> Change:
        if part.seq in kept:
            return Change.KEPT
        if part.seq in rewritten:
            return Change.REWRITTEN
        return Change.GONE if part.id in gone else Change.SUMMARIZED

    def after(part: Part) -> Change:
        if part.seq in kept:
            return Change.KEPT
        return Change.REWRITTEN if part.seq in rewritten else Change.NEW

    return Exchange(
        before=tuple(
            _shown(part, count, before(part)) for part, count in _counted(replacement.before.parts, tokens)
        ),
        after=tuple(
            _shown(part, count, after(part), is_after=True)
            for part, count in _counted(replacement.after.parts, tokens)
        ),
        named=_named(replacement),
    )


def _counted(parts: tuple[Part, ...], tokens: Counter) -> Iterable[tuple[Part, int]]:
    return zip(parts, tokens.count(parts), strict=True)


def _shown(part: Part, count: int, change: Change, *, is_after: bool = False) -> Shown:
    is_other = is_after and change is Change.REWRITTEN
    return Shown(
        seq=part.seq,
        tokens=count,
        change=change,
        message=view_of_message(part.raw) if is_other else None,
    )


def _named(replacement: Replacement) -> dict[str, Kind]:
    summary = replacement.summary
    if summary is None:
        return {}
    text = view_of_message(summary.raw).text
    words = {text[mention.start : mention.stop]: mention.kind for mention in mentions(text)}
    removed = (view_of_message(part.raw) for part in replacement.removed) if words else ()
    texts = [text for message in removed for text in fragments(message)]
    return {word: kind for word, kind in words.items() if any(_stands_in(text, word) for text in texts)}


def _stands_in(text: str, word: str) -> bool:
    """Whether a word stands in a text by itself. Faster than a regular expression, in texts of megabytes."""
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not (at and _goes_on(text[at - 1])) and not (end < len(text) and _goes_on(text[end])):
            return True
        at = text.find(word, at + 1)
    return False


def _goes_on(character: str) -> bool:
    return character.isalnum() or character == "_"
