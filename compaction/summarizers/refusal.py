"""What a server that answers with no success, or not at all, says in a line, and of trying again."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import urlsplit

TOO_LARGE: Final = 413
_PASSING: Final = frozenset({408, 409, 425, 429})
_SERVERS_FAULT: Final = 500
_LONGEST_LINE: Final = 160
_USER: Final = re.compile("//[^/#]*@")
_ANY_USER: Final = re.compile("//.*@", re.DOTALL)
_HTML: Final = re.compile(r"<(?:!doctype|html|head|body|title|h\d|p|br|hr|center|div)\b", re.IGNORECASE)
_UNSEEN: Final = re.compile(r"<(style|script)\b.*?</\1>|<!--.*?-->", re.IGNORECASE | re.DOTALL)
_TAG: Final = re.compile(r"<[!/]?[a-z][^<>]*>", re.IGNORECASE)
_NUMBERED: Final = re.compile(r"^\[Errno -?\d+\] ")
_NO_HTTP: Final = re.compile(r"^illegal .*: bytearray\(", re.DOTALL)


def is_passing(status: int, headers: Mapping[str, str]) -> bool:
    """Whether a request that was answered so may go through later: `x-should-retry` says, else the status."""
    said = headers.get("x-should-retry")
    if said in ("true", "false"):
        return said == "true"
    return status in _PASSING or status >= _SERVERS_FAULT


def seconds_to_wait(headers: Mapping[str, str]) -> float | None:
    """The seconds after which the server wants to be asked again; None where it does not say.

    `retry-after-ms`, else `retry-after` in seconds or as a date, which counts from the answer's own.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    after = headers.get("retry-after")
    seconds = _number(after)
    return seconds if seconds is not None else _until(after, headers.get("date"))


def one_line(text: str) -> str:
    """The beginning of what a server says, in one line; of a page, its words, each line of them once."""
    if _HTML.search(text):
        text = " ".join(dict.fromkeys(" ".join(each.split()) for each in _TAG.split(_UNSEEN.sub("", text))))
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE].rstrip()}…"


def of_connection(error: BaseException) -> str:
    """What has become of a connection, for people: without the system's numbers, and the bytes that came."""
    said = _NUMBERED.sub("", str(error)) or type(error).__name__
    return "what came back is no HTTP; check the address" if _NO_HTTP.match(said) else said


def without_secrets(address: str) -> str:
    """Return an address without user name, password, query and fragment, for errors are kept in the log.

    What is no address because of a character in its password is shown without it, too.
    """
    try:
        _ = urlsplit(address).port
        user = _USER
    except ValueError:
        user = _ANY_USER
    return user.sub("//", address).partition("?")[0].partition("#")[0]


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
