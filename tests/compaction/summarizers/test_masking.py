"""Mask secrets in a text, and leave the rest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.summarizers import SummarizerError
from compaction.summarizers.refusals import MASK, find_secrets, mask_secrets


@pytest.mark.parametrize(
    "secret",
    [
        "sk-ant-api03-Ab_cdefghij",
        "sk-proj-0123456789",
        "ghp_0123456789abcdefghij",
        "AKIAIOSFODNN7EXAMPLE",
        "xoxb-123456789012-abc",
        "eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl",
    ],
)
def test_a_key_is_known_by_its_beginning(secret):
    assert mask_secrets(f"no such key: {secret}.") == f"no such key: {MASK}."


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Authorization: Bearer abc.def", f"Authorization: Bearer {MASK}"),
        ("got Bearer abcdef123456 for it", f"got Bearer {MASK} for it"),
        ('{"x-api-key": "hunter22"}', f'{{"x-api-key": "{MASK}"}}'),
        ("at https://me:word@host/a", f"at https://{MASK}@host/a"),
        ("at /a?v=1&access_token=abcd&b=2", f"at /a?v=1&access_token={MASK}&b=2"),
    ],
)
def test_a_secret_is_known_by_what_stands_before_it(text, told):
    assert mask_secrets(text) == told


@pytest.mark.parametrize(
    "text",
    [
        "invalid x-api-key",
        "Bearer token is missing",
        "Basic authentication required",
        "max_tokens: 99 > 64",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "what is at https://host/@me?page=2",
    ],
)
def test_other_words_stay(text):
    assert mask_secrets(text) == text


def test_what_is_masked_stays_as_it_is_when_it_is_masked_again():
    once = mask_secrets("Authorization: Bearer abc.def https://me:word@host/?key=abcd sk-0123456789")
    assert mask_secrets(once) == once


def test_a_short_secret_is_masked_as_a_word_only():
    assert mask_secrets("key in x-api-key and keys", ["key"]) == f"{MASK} in x-api-key and keys"


@given(secret=st.text(min_size=8).filter(str.strip), before=st.text(), after=st.text())
def test_a_configured_secret_is_masked_wherever_it_stands(secret, before, after):
    if secret not in MASK:
        assert secret not in mask_secrets(before + secret + after, [secret]).replace(MASK, "")


def test_secrets_of_a_request_are_its_keys_its_password_and_its_tokens():
    headers = {"Authorization": "Bearer abcdefgh", "X-Api-Key": "k", "content-type": "text/plain"}
    found = find_secrets("https://me:se%20cret@host/a?key=abc&v=1&x=0123456789", headers)
    assert found == {
        "Bearer abcdefgh",
        "abcdefgh",
        "k",
        "me",
        "se%20cret",
        "se cret",
        "abc",
        "0123456789",
    }


def test_an_address_that_is_none_has_no_secrets():
    assert find_secrets("http://[::1", {}) == frozenset()


def test_errors_of_any_summarizer_are_masked():
    assert "0123" not in str(SummarizerError("mine", "no key sk-0123456789"))
