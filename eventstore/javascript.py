"""JSON as JavaScript programs write it: lengths, orders, numbers, dates; and how deep it may be nested."""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

import msgspec

from eventstore.errors import RefoldError

DEEPEST_RECORD: Final = 500
"""Levels of a record that enters a log. Readers take about a thousand, less what their callers have on the stack."""
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
"""One that is never closed reaches to the end: else each quote within it would be tried as its beginning."""
_AS_LISTS: Final = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))


class TooDeepError(RefoldError, msgspec.DecodeError):
    """A stored record is nested deeper than what reads it can follow: it came before there was a limit."""

    def __init__(self) -> None:
        super().__init__(
            f"a stored record is nested deeper than {DEEPEST_RECORD} levels, and cannot be read here; "
            "'refold export' writes it as it came, 'refold show' with --raw prints it"
        )


def is_deeper(raw: bytes, levels: int) -> bool:
    """Return True if lists and objects in a JSON value are nested deeper than so many levels."""
    if raw.count(b"[") + raw.count(b"{") <= levels:
        return False
    brackets = _STRING.sub(b"", raw).translate(_AS_LISTS, _NO_BRACKETS)
    # Without the innermost ones it is a level less deep; what is left where none is removed was never closed.
    for level in range(levels):
        without = brackets.replace(b"[]", b"")
        if len(without) == len(brackets):
            return level + brackets.count(b"[") > levels
        brackets = without
    return bool(brackets)


_MAX_SAFE_INTEGER: Final = 2**53 - 1
_LARGEST_INDEX: Final = 2**32 - 2
_PRINTED_OTHERWISE: Final = (b"\\u", b"\\/", b"-0")
"""Marks of what JavaScript prints otherwise than it stands in a JSON text: escapes that it does not use, -0."""
_decode: Final = msgspec.json.Decoder().decode
_quoted: Final = json.JSONEncoder(ensure_ascii=False).encode
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_MAX_DIGITS: Final = 400
"""More digits than any double has before its point."""
_ISO_DATE: Final = re.compile(
    r"[+-]?\d{4,6}-\d\d(?:-\d\d)?(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
)


def utf16_length(text: str) -> int:
    """Return how many UTF-16 code units a text has: JavaScript's `text.length`."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf8_length(text: str) -> int:
    """Return how many bytes of UTF-8 a text has; a lone surrogate counts three, as its replacement does."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def utf16_order(text: str) -> bytes:
    """Return a sort key: JavaScript's default order of strings."""
    return text.encode("utf-16-be", "surrogatepass")


def cut_utf16(text: str, units: int) -> str:
    """Return the first `units` UTF-16 code units: JavaScript's `text.slice(0, units)`. May end in half a pair."""
    if text.isascii():
        return text[:units]
    return text.encode("utf-16-le", "surrogatepass")[: units * 2].decode("utf-16-le", "surrogatepass")


def well_formed(text: str) -> str:
    """JavaScript's `text.toWellFormed()`: each half of a surrogate pair that stands alone becomes U+FFFD.

    Two halves that have come together, as where pieces of a text are joined, are the character that they stand for.
    """
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def trim_whitespace(text: str) -> str:
    """JavaScript's `text.trim()`: ECMAScript's white space and line ends, the byte order mark among them."""
    return text.strip(_WHITE_SPACE)


_WHITE_SPACE: Final = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)


def parse_json(text: str) -> Any:
    """`JSON.parse(text)`: lone surrogates pass. Raises ValueError, and RecursionError for what is nested too deeply.

    Integers have all their digits; other numbers beyond all doubles are infinite.
    """
    try:
        return _decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        # Half a surrogate pair, a number beyond all doubles, or no JSON.
        return _parser.decode(text)


def parse_at(text: str, at: int) -> tuple[Any, int]:
    """Return the JSON value that begins at an index of a text, and the index behind it. Raises ValueError."""
    return _parser.raw_decode(text, at)


def _integer(digits: str) -> float:
    return int(digits) if len(digits) < _MAX_DIGITS else float(digits)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_parser: Final = json.JSONDecoder(parse_int=_integer, parse_constant=_no_constant)


def compact_json(raw: bytes | memoryview) -> str:
    """Return a JSON text as `JSON.stringify(JSON.parse(raw))` prints it. `raw` is valid JSON, its keys differ."""
    text = bytes(raw)
    if not any(mark in text for mark in _PRINTED_OTHERWISE):
        try:
            if _prints_alike(_decode(text)):
                return msgspec.json.format(text, indent=-1).decode()
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
    return stringify(parse_json(text.decode("utf-8", "replace")))


def _prints_alike(value: Any) -> bool:
    """Return True if JavaScript prints a value as its text has it: no fractions, large numbers or indexes as keys."""
    if isinstance(value, str | bool) or value is None:
        return True
    if isinstance(value, dict):
        return not any(map(str.isdigit, value)) and all(map(_prints_alike, value.values()))
    if isinstance(value, list):
        return all(map(_prints_alike, value))
    return isinstance(value, int) and abs(value) <= _MAX_SAFE_INTEGER


def stringify(value: Any) -> str:
    """`JSON.stringify(value)` for what JSON decodes to: integer-like keys first, numbers as JavaScript prints them."""
    if isinstance(value, str):
        return _quote(value)
    printed: list[str] = []
    # No recursion, for values may be nested deeply: what is left to print, the next one last, texts as tuples.
    pending: list[Any] = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, tuple):
            printed += item
        elif isinstance(item, dict):
            keys = key_order(item)
            printed.append("{")
            pending.append(("}",))
            for at in range(len(keys) - 1, -1, -1):
                pending += (item[keys[at]], ("," if at else "", _quote(keys[at]), ":"))
        elif isinstance(item, list):
            printed.append("[")
            pending.append(("]",))
            for at in range(len(item) - 1, -1, -1):
                pending += (item[at], ("," if at else "",))
        else:
            printed.append(_scalar(item))
    return "".join(printed)


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return _quote(value)
    if value is None or isinstance(value, bool):
        return "null" if value is None else "true" if value else "false"
    return format_number(value)


def format_number(value: float) -> str:
    """Return a number as JavaScript prints it: as a double, in full digits below 1e21, `null` if not finite."""
    try:
        double = float(value)
    except OverflowError:
        return "null"
    if not math.isfinite(double):
        return "null"
    if double == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(double)).normalize().as_tuple()
    assert isinstance(exponent, int)  # noqa: S101  finite, so the exponent is a number
    text = "".join(map(str, digits))
    point = len(text) + exponent
    if 0 < point <= 21:  # noqa: PLR2004  the bounds are ECMAScript's
        body = text.ljust(point, "0") if len(text) <= point else f"{text[:point]}.{text[point:]}"
    elif -6 < point <= 0:  # noqa: PLR2004
        body = "0." + "0" * -point + text
    else:
        mantissa = text[0] + (f".{text[1:]}" if len(text) > 1 else "")
        body = f"{mantissa}e{point - 1:+d}"
    return ("-" if sign else "") + body


def key_order(mapping: dict[str, Any]) -> list[str]:
    """JavaScript's order of an object's keys: those that are array indexes first, by their numbers."""
    indexes = [key for key in mapping if _is_index(key)]
    if not indexes:
        return list(mapping)
    taken = set(indexes)
    return sorted(indexes, key=int) + [key for key in mapping if key not in taken]


def _is_index(key: str) -> bool:
    return key.isascii() and key.isdigit() and (key == "0" or key[0] != "0") and int(key) <= _LARGEST_INDEX


def _quote(text: str) -> str:
    quoted = _quoted(text)
    # Well-formed JSON.stringify escapes what has no UTF-8: lone surrogates.
    return quoted if quoted.isascii() else _SURROGATE.sub(lambda lone: f"\\u{ord(lone[0]):04x}", quoted)


def epoch_ms(date: Any) -> int | None:
    """Return `new Date(date).getTime()` for ISO texts and numbers; None for what is no date.

    A text without an offset is read as UTC: the result may not depend on the machine's time zone.
    """
    if isinstance(date, bool) or not isinstance(date, str | int | float):
        return None
    if not isinstance(date, str):
        return int(date) if abs(date) <= 8.64e15 else None  # noqa: PLR2004  ECMAScript's range of dates
    if not _ISO_DATE.fullmatch(date):
        return None
    try:
        moment = datetime.fromisoformat(f"{date}-01" if len(date) == 7 else date)  # noqa: PLR2004  yyyy-mm
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // _MILLISECOND


_MILLISECOND: Final = datetime.resolution * 1000


def iso_time(milliseconds: int | None) -> str | None:
    """Epoch milliseconds as an RFC 3339 time in UTC with milliseconds, as `toISOString` prints it."""
    if milliseconds is None:
        return None
    try:
        moment = datetime.fromtimestamp(milliseconds // 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return f"{moment.year:04d}-{moment:%m-%dT%H:%M:%S}.{milliseconds % 1000:03d}Z"


def tolerant_json(body: bytes) -> Any:
    """Return what JavaScript makes of a JSON text: invalid UTF-8 is replaced, lone surrogates pass, big numbers too.

    Raises msgspec.DecodeError.
    """
    try:
        return parse_json(body.decode("utf-8", "replace"))
    except RecursionError:
        raise TooDeepError from None
    except ValueError as error:
        raise msgspec.DecodeError(str(error)) from None
