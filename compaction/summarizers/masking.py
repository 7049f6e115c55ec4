"""Mask keys and tokens in what is recorded or printed of a failure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlsplit

MASK: Final = "[masked]"
_MOST_READ: Final = 16_384
"""Characters of a text that are searched for what looks like a key; the rest is dropped."""
_LONG: Final = 8
"""Characters from which on a secret is masked inside of words, too."""
_TELLING: Final = r"key|token|secret|passw|auth|signature|credential|cookie"
_TELLING_NAME: Final = re.compile(_TELLING, re.IGNORECASE)
_KEY: Final = re.compile(
    r"\b(?:sk|pk|rk)-[\w-]{8,}"
    r"|\bgh[oprsu]_\w{16,}|\bgithub_pat_\w{16,}|\bglpat-[\w-]{16,}|\bhf_\w{16,}|\bxox[a-z]-[\w-]{8,}"
    r"|\bAKIA[A-Z0-9]{12,}|\bAIza[\w-]{20,}"
    r"|\beyJ[\w-]{6,}\.[\w-]{6,}(?:\.[\w-]+)?"
)
"""Keys by the beginnings that providers give theirs; JSON web tokens."""
_AFTER_NAME: Final = re.compile(
    r"(?P<name>\b(?:bearer|basic)\s+(?=\S{0,200}\d)"
    r"|\b(?:authorization|(?:x-)?api[_-]?key|(?:access|auth|refresh)[_-]?token|client[_-]?secret|password)"
    r"""["']?\s{0,9}[:=]\s{0,9}["']?(?:bearer\s+|basic\s+)?+"""
    rf"|[?&;][\w.-]{{0,40}}(?:{_TELLING}|sig)[\w.-]{{0,40}}=)"
    rf"""(?!{re.escape(MASK)})[^\s"'<>&,;]{{4,}}""",
    re.IGNORECASE,
)
"""What follows the name of a header, of a field or of a URL's parameter that holds a secret."""
_USER: Final = re.compile(r"(?<=://)[^\s/?#@]+@")


def masked(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a text with `[masked]` in place of these secrets, and of whatever looks like a key or a token.

    A secret of fewer than 8 characters is masked where it stands as a word. Of a text without end, the beginning is
    returned.
    """
    forms = {form for secret in secrets for form in _forms(secret)}
    if forms:
        text = re.sub("|".join(map(_pattern, sorted(forms, key=len, reverse=True))), MASK, text)
    text = _USER.sub(f"{MASK}@", text[:_MOST_READ])
    return _AFTER_NAME.sub(rf"\g<name>{MASK}", _KEY.sub(MASK, text))


def secrets_of(address: str, headers: Mapping[str, str]) -> frozenset[str]:
    """Return the keys, tokens and passwords in a request's address and headers."""
    return frozenset(
        secret for secret in (*_in_address(address), *_in_headers(headers)) if secret.strip(" :")
    )


def _in_address(address: str) -> Iterator[str]:
    try:
        parts = urlsplit(address)
    except ValueError:
        return
    for part in parts.netloc.rpartition("@")[0].partition(":"):
        yield from (part, unquote(part))
    for name, value in parse_qsl(parts.query):
        if len(value) >= _LONG or _TELLING_NAME.search(name):
            yield value


def _in_headers(headers: Mapping[str, str]) -> Iterator[str]:
    for name, value in headers.items():
        if _TELLING_NAME.search(name):
            yield value
            yield value.rpartition(" ")[2]


def _forms(secret: str) -> tuple[str, ...]:
    """Return a secret as it is, as a URL has it, and as JSON has it."""
    return secret, quote(secret, safe=""), json.dumps(secret)[1:-1]


def _pattern(secret: str) -> str:
    pattern = re.escape(secret)
    return pattern if len(secret) >= _LONG else rf"(?<![\w-]){pattern}(?![\w-])"
