"""What providers say of a request that is too long for its model."""

from __future__ import annotations

import re
from typing import Final

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


def says_too_long(error: str) -> bool:
    """Whether an error says that a request is longer than its model takes, in whatever provider's words.

    That one asked for too much in too short a time, or for too long an answer, is another thing: a shorter
    context would not help there.
    """
    return bool(_TOO_LONG.search(error)) and not _TOO_MUCH_AT_ONCE.search(error)
