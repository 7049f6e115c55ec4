"""Find names in code by their shape."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from projections.mentions.mention import Match, word_set

BRANDS: Final = word_set(
    "GitHub GitLab BitBucket JavaScript TypeScript CoffeeScript macOS iOS iPadOS tvOS iPhone iPad iTerm OpenAI"
    " OpenRouter DeepSeek YouTube LinkedIn PayPal eBay PostgreSQL MySQL MariaDB SQLite NoSQL MongoDB DynamoDB"
    " GraphQL OAuth VSCode JetBrains IntelliJ WebStorm PyCharm PhpStorm PowerShell PyPI PyTorch TensorFlow NumPy"
    " SciPy WordPress DevOps DevTools ChatGPT LaTeX FreeBSD OpenBSD OpenSSL OpenSSH OpenAPI OpenTelemetry CircleCI"
    " jQuery gRPC mTLS FastAPI RabbitMQ CloudFlare DockerHub HuggingFace LangChain LangGraph LlamaIndex MacBook"
    " AirPods WiFi DocBlock PHPDoc JavaDoc McDonald PhD kWh"
)
"""Products, techniques and people with names that look like code: a short, incomplete list."""
LITERALS: Final = word_set("true false null nil none None True False undefined NaN")
"""Values in backticks that name nothing."""
KEYWORDS: Final = word_set("if for while switch catch return function async await super def fn func")
"""Keywords that brackets may follow."""
RESERVED: Final = word_set(
    "__dirname __filename __construct __destruct __call __callStatic __get __set __isset __unset __toString"
    " __invoke __clone __sleep __wakeup __serialize __unserialize __debugInfo"
)
"""Names whose meaning PHP or Node defines; those of Python and C end in underscores as well."""
HOSTS: Final = word_set("com org net io dev edu gov example invalid")
"""Top-level domains."""
NO_LEFT: Final = word_set("e i eg ie ph etc vs cf ca approx fig no a.k.a")
NO_RIGHT: Final = word_set(
    "a actually also and as at because but can do don for from great he here how however i if in instead it its let"
    " lets looking next no not now of ok on once only or perfect please she should since so still that the then there"
    " these they this those to we what when where which while why will with yes you your e g git js json md ts txt"
)
"""Words that start a sentence after a full stop without a space, or are file extensions."""


_OPTION: Final = r"(?<![\w!-])--[A-Za-z][\w-]++"
_PACKAGE: Final = r"(?<![\w@])@[a-z][\w.-]*+/[a-z][\w.-]*+"
_LINK: Final = r"(?:::|\??\.)"
_NAME: Final = r"[A-Za-z_][\w$]*+"
# The text after a name says much: the brackets of a call, the end of a quotation.
_CHAIN: Final = rf"(?<![\w@]){_NAME}(?>(?:{_LINK}\#?[A-Za-z_$][\w$]*+)*)(?>(?:\(\)?|`)?)"

SYMBOL: Final = rf"(?:{_OPTION}|{_PACKAGE}|{_CHAIN})"

_SHAPE: Final = re.compile(
    r"_*(?:"
    r"[a-zA-Z0-9$]+(?:_+[a-zA-Z0-9$]+)+_?"  # snake_case, SCREAMING_SNAKE
    r"|[a-z][a-z0-9$]*[A-Z][\w$]*"  # camelCase
    r"|[A-Z][a-z0-9]+[A-Z][\w$]*"  # PascalCase
    r"|[A-Z]{2,}[a-z]{2,}[\w$]*"  # HTTPServer
    r")"
)
"""Not `_word_` (emphasis), `_word` (which may start emphasis), or a line of underscores."""
_RESERVED: Final = re.compile(r"__\w+__")
_PROSE: Final = re.compile(r"Ma?c[A-Z][a-z]+|(?:[A-Z]{2,}|[a-z]?[A-Z]+)s|[A-Z]{2,}(?:ed|ing)")
"""People (`McAdams`), and abbreviations in prose (`URLs`, `APIs`)."""
_NEXT_WORD: Final = re.compile(r" [a-z]")
_SHORT_OPTION: Final = re.compile(r"[^\w\n]-$")
_ESCAPES: Final = "bnrt"
_LONGEST: Final = 80
"""Characters of a name; anything longer is encoded data."""
_AROUND: Final = 2
"""Characters on either side of a name that decide what it is."""
_DECISIVE: Final = ("\\", "-", "`", "$")
"""Characters before a name that decide what it is."""
_REMEMBERED: Final = 1 << 14
"""Names to cache with their surroundings: a few make up most of a program."""


def find_symbol(text: str, start: int, stop: int) -> Match:
    """Return the name without call brackets, or None for an ordinary word, a product or a host.

    A command's option names nothing: options belong to programs, not to the work.
    """
    raw = text[start:stop]
    if raw[0] == "-":
        return start, stop, ""
    if raw[0] == "@":
        name = raw.rstrip("-.")
        return start, start + len(name), name
    if len(raw) > _LONGEST + len("n()`"):
        return None
    # Most names stand between signs that decide nothing; leaving those out makes the cache hit more often.
    before = text[max(0, start - _AROUND) : start] if text[start - 1 : start] in _DECISIVE else ""
    behind = text[stop : stop + _AROUND] if "." in raw else ""
    named = _named(before, raw, behind)
    return (start + named[0], start + named[1], named[2]) if named else None


@lru_cache(maxsize=_REMEMBERED)
def _named(before: str, raw: str, behind: str) -> Match:
    """Return a name's symbol, judged by the text around it; offsets are from its start."""
    start = 0
    if before[-1:] == "\\" and raw[0] in _ESCAPES and not before[:-1].isalnum():
        # `\bfooBar` in a regular expression, `"\nfooBar"` in a quoted text.
        start, raw, before = 1, raw[1:], ""
    name = raw.rstrip("()`")
    if not name or len(name) > _LONGEST or _is_cut(before, name):
        return None
    is_chain = "." in name or "::" in name
    if is_chain:
        is_named = _is_chain(name, raw, before[-1:], raw[len(name) :] + behind)
    else:
        is_named = _is_name(name, raw, before[-1:])
    return (start, start + len(name), name.replace("?", "")) if is_named else None


def _is_cut(before: str, name: str) -> bool:
    r"""Return True if a name is part of a longer token: `-sSfL`, or the `name` of `a\name`."""
    if before[-1:] == "\\":
        return name[0] in _ESCAPES
    return _SHORT_OPTION.search(before) is not None


def is_language_name(name: str) -> bool:
    """Return True if a language defines a name: `__init__` is in every program and says nothing."""
    return name in RESERVED or _RESERVED.fullmatch(name) is not None


def _is_name(name: str, raw: str, before: str) -> bool:
    if is_language_name(name):
        return False
    if raw[-1] == "`" and before in ("`", "$") and name not in LITERALS:
        return True
    if raw[-1] == ")" and before != "-" and name not in KEYWORDS:
        return True
    if name in BRANDS or name.rstrip("s0123456789") in BRANDS:
        return raw[-1] == "("
    return _SHAPE.fullmatch(name) is not None and not _PROSE.fullmatch(name)


def _is_chain(name: str, raw: str, before: str, behind: str) -> bool:
    if "::" in name or raw[-1] in "()" or raw[-1] == before == "`":
        return True
    parts = name.replace("?", "").split(".")
    first, last = parts[0].lower(), parts[-1].lower()
    if any(_SHAPE.fullmatch(part) and part not in BRANDS for part in parts):
        return last not in NO_RIGHT
    if all(len(part) == 1 for part in parts) or behind[:1] in ("-", "@"):
        return False
    if first in NO_LEFT or last in NO_RIGHT or last in HOSTS:
        return False
    # "It is done.Next we" is two sentences.
    return not (parts[-1][0].isupper() and len(parts[1:]) == 1 and _NEXT_WORD.match(behind))
