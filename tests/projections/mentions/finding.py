"""Find the mentions in a text, of one kind or of all."""

from __future__ import annotations

from projections.mentions import MentionKind, mentions


def values(kind: MentionKind, text: str) -> list[str]:
    """The values of one kind, in order."""
    return [mention.value for mention in mentions(text) if mention.kind is kind]


def pieces(kind: MentionKind, text: str) -> list[str]:
    """The pieces of a text that name something of one kind, as they stand in it."""
    return [text[mention.start : mention.stop] for mention in mentions(text) if mention.kind is kind]


def kinds(text: str) -> list[tuple[str, str]]:
    """Every mention's kind and piece, in order."""
    return [(mention.kind.value, text[mention.start : mention.stop]) for mention in mentions(text)]
