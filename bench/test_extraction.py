"""Compare extracting all mentions in a session to finding words with a regular expression."""

from __future__ import annotations

import re

import msgspec
import pytest

from bench.sessions import lines
from projections.mentions import mentions

GROUP = "extraction"
WORD = re.compile(r"\w+")


@pytest.fixture(scope="module")
def texts():
    """Return every text of a generated session of a thousand events."""
    entries = [msgspec.json.decode(line) for line in lines(1_024, 1_000)]
    blocks = [block for entry in entries for block in entry.get("message", {}).get("content", ())]
    return [text for block in blocks for text in texts_of(block)]


def texts_of(block):
    if block["type"] == "toolCall":
        return [block["arguments"]["text"]]
    return [block["text" if block["type"] == "text" else "thinking"]]


def size(texts):
    return sum(len(text.encode()) for text in texts) / 1e6


def find_mentions(texts):
    return sum(len(mentions(text)) for text in texts)


def find_words(texts):
    return sum(len(WORD.findall(text)) for text in texts)


def test_refold_finds_mentions(measure, texts):
    assert 0 < find_mentions(texts) < find_words(texts)
    measure(GROUP, "refold", find_mentions, texts, rounds=7, megabytes=round(size(texts), 2))


def test_a_regular_expression_finds_words(measure, texts):
    measure(GROUP, "words", find_words, texts, rounds=7)
