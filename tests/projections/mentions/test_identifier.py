"""Hashes, ids and numbers of issues that a text names."""

from __future__ import annotations

import pytest

from projections.mentions import MentionKind
from tests.projections.mentions.finding import values


def identifiers(text):
    return values(MentionKind.IDENTIFIER, text)


def test_an_identifier_is_found():
    rows = [
        "123e4567-e89b-12d3-a456-426614174000",
        "3fd1c0e",
        "9f2b7c41d0e5a6b8c3d2e1f0a9b8c7d6e5f4a3b2",
        "9F2B7C41D0E5",
        "sha256:0123abcd4567ef89",
        "toolu_01AbCdEfGhIjKlMn",
        "call_a1B2c3D4e5F6g7",
        "msg_01XyZabc123DEF456",
        "req_011CShoEeqs5C35K",
        "chatcmpl-9aBcDeFgHiJkLm",
        "ghp_0123456789abcdefABCDEF",
        "#123",
        "GH-42",
        "PROJ-1234",
    ]
    assert {identifier: identifiers(f"see {identifier}, please") for identifier in rows} == {
        identifier: [identifier] for identifier in rows
    }


def test_what_only_looks_like_an_identifier_is_none():
    rows = [
        "12345678 20260102 1e10 12e4567 6.02e23",
        "defaced feedface facade effaced",
        "#a1b2c3 #000000 #12ab34cd '#333' color: #333;",
        "0xdeadbeef1 x1b2c3d4e",
        "1a2b3c",
        "agent-4f5e6d7c 4f5e6d7c-agent",
        "v0.0.0-20190902080502-41f04d3bba15",
        "UTF-8 SHA-256 ISO-8601 GPT-4 RFC-2119 ES-2015 HTTP-2 GPT-5.4",
        "call_with_retry run_all_the_tests msg_of_the_day_text",
        "&#39; page#12 &#x27;",
        "2026-01-02 A-1 x-12 U-2",
    ]
    assert {text: found for text in rows if (found := identifiers(text))} == {}


def test_both_ends_of_a_range_of_commits_are_found():
    assert identifiers("git diff ab12cd3..de45fa6 and ab12cd3...de45fa6") == ["ab12cd3", "de45fa6"] * 2


@pytest.mark.parametrize(
    "before", ["issue ", "PR ", "pull request ", "task ", "fixes ", "Closes: ", "see ", "issues #4 and ", "("]
)
def test_a_number_of_one_digit_is_one_of_an_issue_where_the_text_says_so(before):
    after = ")" if before == "(" else ""
    assert identifiers(f"{before}#7{after}")[-1:] == ["#7"]


@pytest.mark.parametrize("before", ["my ", "step ", "the biggest would be ", ""])
def test_a_number_of_one_digit_is_an_ordinal_elsewhere(before):
    assert identifiers(f"{before}#1 of all") == []
