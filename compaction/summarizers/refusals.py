"""Read servers' error messages: mask secrets, shorten them, find out when to retry."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlsplit

MASK: Final = "[masked]"
_MAX_READ: Final = 16_384
"""Characters that are searched for secrets; the rest is dropped."""
_LONG: Final = 8
"""Minimum length of a secret that is masked inside words too."""
_SENSITIVE: Final = r"key|token|secret|passw|auth|signature|credential|cookie"
_SENSITIVE_NAME: Final = re.compile(_SENSITIVE, re.IGNORECASE)
_KEY: Final = re.compile(
    r"\b(?:sk|pk|rk)-[\w-]{8,}"
    r"|\bgh[oprsu]_\w{16,}|\bgithub_pat_\w{16,}|\bglpat-[\w-]{16,}|\bhf_\w{16,}|\bxox[a-z]-[\w-]{8,}"
    r"|\bAKIA[A-Z0-9]{12,}|\bAIza[\w-]{20,}"
    r"|\beyJ[\w-]{6,}\.[\w-]{6,}(?:\.[\w-]+)?"
)
"""Well-known prefixes of providers' keys, and JSON web tokens."""
_AFTER_NAME: Final = re.compile(
    r"(?P<name>\b(?:bearer|basic)\s+(?=\S{0,200}\d)"
    r"|\b(?:authorization|(?:x-)?api[_-]?key|(?:access|auth|refresh)[_-]?token|client[_-]?secret|password)"
    r"""["']?\s{0,9}[:=]\s{0,9}["']?(?:bearer\s+|basic\s+)?+"""
    rf"|[?&;][\w.-]{{0,40}}(?:{_SENSITIVE}|sig)[\w.-]{{0,40}}=)"
    rf"""(?!{re.escape(MASK)})[^\s"'<>&,;]{{4,}}""",
    re.IGNORECASE,
)
"""The value after the name of a secret header, field or URL parameter."""
_USER: Final = re.compile(r"(?<=://)[^\s/?#@]+@")


def mask_secrets(text: str, secrets: Iterable[str] = ()) -> str:
    """Replace secrets, and everything that looks like a key or token, by `[masked]`.

    A secret under 8 characters is masked only as a whole word. A very long text is truncated.
    """
    forms = {form for secret in secrets for form in _forms(secret)}
    if forms:
        text = re.sub("|".join(map(_pattern, sorted(forms, key=len, reverse=True))), MASK, text)
    text = _USER.sub(f"{MASK}@", text[:_MAX_READ])
    return _AFTER_NAME.sub(rf"\g<name>{MASK}", _KEY.sub(MASK, text))


def find_secrets(address: str, headers: Mapping[str, str]) -> frozenset[str]:
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
        if len(value) >= _LONG or _SENSITIVE_NAME.search(name):
            yield value


def _in_headers(headers: Mapping[str, str]) -> Iterator[str]:
    for name, value in headers.items():
        if _SENSITIVE_NAME.search(name):
            yield value
            yield value.rpartition(" ")[2]


def _forms(secret: str) -> tuple[str, ...]:
    """Return a secret as it is, URL-encoded, and JSON-encoded."""
    return secret, quote(secret, safe=""), json.dumps(secret)[1:-1]


def _pattern(secret: str) -> str:
    pattern = re.escape(secret)
    return pattern if len(secret) >= _LONG else rf"(?<![\w-]){pattern}(?![\w-])"


_TOO_LONG: Final = re.compile(
    r"(?:prompt|input|request) (?:is )?too (?:long|large)"
    r"|request_too_large|request exceeds the maximum size"
    r"|context[ _]?(?:length|window|size|limit)[ _]?exceeded"
    r"|exceed\w* (?:the |max |maximum |available |model'?s )*(?:context|token limit|model token limit|input length)"
    r"|maximum (?:context|prompt) length"
    r"|context window exceeds limit|greater than the context length|reduce the length of the (?:messages|prompt|input)"
    r"|(?:input|prompt) token count\b.{0,80}\bexceeds"
    r"|input tokens exceed|too many (?:input|prompt) tokens|context_window_exceeded",
    re.IGNORECASE,
)
_TOO_MUCH_AT_ONCE: Final = re.compile(
    r"rate.?limit|throttl|per (?:min|day|hour)|\b[tr]pm\b|quota|please wait", re.IGNORECASE
)


def is_context_overflow(error: str) -> bool:
    """Return True if an error says that a request exceeds its model's window.

    Rate limits and limits of the answer's length do not count, because a shorter context would not help.
    """
    return bool(_TOO_LONG.search(error)) and not _TOO_MUCH_AT_ONCE.search(error)


TOO_LARGE: Final = 413
_PASSING: Final = frozenset({408, 409, 425, 429})
_SERVER_ERROR: Final = 500
_MAX_LINE_LENGTH: Final = 160
_USER_AND_PASSWORD: Final = re.compile("//[^/#]*@")
_HTML: Final = re.compile(r"<(?:!doctype|html|head|body|title|h\d|p|br|hr|center|div)\b", re.IGNORECASE)
_INVISIBLE: Final = re.compile(
    r"<(style|script)\b.*?(?:</\1>|\Z)|<!--.*?(?:-->|\Z)", re.IGNORECASE | re.DOTALL
)
_TAG: Final = re.compile(r"<[!/]?[a-z][^<>]*>", re.IGNORECASE)
_NUMBERED: Final = re.compile(r"^\[Errno -?\d+\] ")
_NO_HTTP: Final = re.compile(r"^illegal .*: bytearray\(", re.DOTALL)


def is_transient(status: int, headers: Mapping[str, str]) -> bool:
    """Return True if the request may succeed later, by `x-should-retry`, else by the status."""
    advice = headers.get("x-should-retry")
    if advice in ("true", "false"):
        return advice == "true"
    return status in _PASSING or status >= _SERVER_ERROR


def seconds_to_wait(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait before a retry, None if the server does not say.

    Read `retry-after-ms`, else `retry-after` in seconds or as a date relative to the answer's own.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    after = headers.get("retry-after")
    seconds = _number(after)
    return seconds if seconds is not None else _until(after, headers.get("date"))


def single_line_message(text: str) -> str:
    """Return the beginning of a server's message in one line; of HTML, only its words."""
    if _HTML.search(text):
        text = " ".join(
            dict.fromkeys(" ".join(each.split()) for each in _TAG.split(_INVISIBLE.sub("", text)))
        )
    line = " ".join(text.split())
    return line if len(line) <= _MAX_LINE_LENGTH else f"{line[:_MAX_LINE_LENGTH].rstrip()}…"


def error_message(reply: str) -> str:
    """Return the message in a server's JSON error, else the whole reply."""
    try:
        found = json.loads(reply)
    except (ValueError, RecursionError):
        return reply
    while isinstance(found, dict):
        found = next((found[name] for name in ("error", "message", "detail") if found.get(name)), None)
    return found if isinstance(found, str) else reply


def connection_problem(error: BaseException) -> str:
    """Describe a connection error for people, without error numbers and raw bytes."""
    problem = _NUMBERED.sub("", str(error)) or type(error).__name__
    return "the answer is not HTTP; check the address" if _NO_HTTP.match(problem) else problem


def has_connected(error: BaseException) -> bool:
    """Return False if an error says that no connection was made, so that no request was sent."""
    import httpx2  # noqa: PLC0415  heavy

    return not isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.UnsupportedProtocol)


def strip_credentials(address: str) -> str:
    """Remove user name, password, query and fragment from an address, for the log.

    This also works if a character in the password makes the address invalid.
    """
    try:
        _ = urlsplit(address).port
        shown = _USER_AND_PASSWORD.sub("//", address)
    except ValueError:
        scheme, slashes, rest = address.partition("//")
        shown = f"{scheme}{slashes}{rest.rpartition('@')[2]}"
    return shown.partition("?")[0].partition("#")[0]


def _number(header: str | None) -> float | None:
    try:
        number = float(header or "")
    except ValueError:
        return None
    return max(number, 0.0) if math.isfinite(number) else None


def _until(date: str | None, now: str | None) -> float | None:
    try:
        return max((parsedate_to_datetime(date or "") - parsedate_to_datetime(now or "")).total_seconds(), 0)
    except (ValueError, TypeError):
        return None
