"""Addresses that a text names."""

from __future__ import annotations

import pytest

from projections.mentions import MentionKind
from tests.projections.mentions.finding import kinds, values


def urls(text):
    return values(MentionKind.URL, text)


def test_an_address_with_a_scheme_is_found():
    rows = [
        "https://example.com",
        "http://localhost:8080/health",
        "https://example.com/a/b?c=d&e=f,g#h",
        "https://example.com/x_(y)",
        "https://user@example.com/a-b/~c",
        "file:///tmp/x.html",
        "ssh://git@example.com/a/b.git",
        "git+https://example.com/a",
        "s3://bucket/key.parquet",
        "http://[::1]:80/",
    ]
    assert {url: urls(f"go to {url} now") for url in rows} == {url: [url] for url in rows}


def test_what_follows_an_address_is_no_part_of_it():
    rows = [".", ",", "!", "?", ":", ";", ")", "]", "**", '"', "'", "`", ">", "|", ").", "\\n", "…"]
    found = {end: urls(f"see https://example.com/a{end} next") for end in rows}
    assert {end: each for end, each in found.items() if each != ["https://example.com/a"]} == {}


def test_an_address_of_a_link_ends_with_it():
    assert urls("[docs](https://example.com/a(b))c, [x](http://x.org)y") == [
        "https://example.com/a(b)",
        "http://x.org",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "https://",
        "http://.",
        "://x",
        "a://",
        "http://{host}/x",
        "https://api.example.com/${id}",
        "example.com/a",
    ],
)
def test_an_address_that_is_not_all_there_is_none(text):
    assert urls(text) == []


def test_nothing_else_is_looked_for_in_an_address():
    assert kinds("https://example.com/src/a.ts?fooBar=1a2b3c4") == [
        ("url", "https://example.com/src/a.ts?fooBar=1a2b3c4")
    ]
