"""Handle JSON as JavaScript does: lengths, orders, dates; read it leniently; limit depth."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_args

import msgspec

from eventstore.errors import RefoldError

if TYPE_CHECKING:
    import json

DEEPEST_RECORD: Final = 500
"""Maximum levels of a stored record: readers manage about a thousand, less their callers'."""
_AS_LISTS: Final = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
_NOT_OPENING: Final = bytes(set(range(256)) - set(b"[{"))


class TooDeepError(RefoldError, msgspec.DecodeError):
    """A stored record is nested deeper than readers can follow; it predates the limit."""

    def __init__(self) -> None:
        super().__init__(
            f"a stored record is nested deeper than {DEEPEST_RECORD} levels, and cannot be read here; "
            "'refold export' writes it as it came, 'refold show' with --raw prints it"
        )


def is_deeper(raw: bytes, levels: int) -> bool:
    """Return True if lists and objects in a JSON text are nested deeper than `levels`."""
    if len(raw) <= levels or len(raw.translate(None, _NOT_OPENING)) <= levels:
        return False
    outside, is_text = [], False
    for part in raw.split(b'"'):
        if not is_text:
            outside.append(part)
            is_text = True
        elif not part.endswith(b"\\") or (len(part) - len(part.rstrip(b"\\"))) % 2 == 0:
            # The quote behind it is not escaped.
            is_text = False
    brackets = b"".join(outside).translate(_AS_LISTS, _NO_BRACKETS)
    # Removing the innermost brackets reduces the depth by one; brackets that remain are unclosed.
    for level in range(levels):
        without = brackets.replace(b"[]", b"")
        if len(without) == len(brackets):
            return level + brackets.count(b"[") > levels
        brackets = without
    return bool(brackets)


_decode: Final = msgspec.json.Decoder().decode
_encode: Final = msgspec.json.Encoder().encode
_SURROGATE: Final = "[\ud800-\udfff]"
_MAX_DIGITS: Final = 400
"""More digits than any double has before its decimal point."""
_ISO_DATE: Final = r"[+-]?\d{4,6}-\d\d(?:-\d\d)?(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"


def utf16_length(text: str) -> int:
    """Return the number of UTF-16 code units of a text: JavaScript's `text.length`."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf8_length(text: str) -> int:
    """Return the number of UTF-8 bytes of a text; a lone surrogate counts as U+FFFD, three."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def lengths(text: str) -> tuple[int, int]:
    """Return `utf16_length` and `utf8_length` of a text, encoding it once."""
    if text.isascii():
        return len(text), len(text)
    encoded = text.encode("utf-8", "surrogatepass")
    # A character of two units begins with one of these bytes. A loop over them would take longer than the encoding.
    has_pairs = 0xF0 in encoded or 0xF1 in encoded or 0xF2 in encoded or 0xF3 in encoded or 0xF4 in encoded  # noqa: PLR2004  bytes of UTF-8
    return utf16_length(text) if has_pairs else len(text), len(encoded)


def utf16_order(text: str) -> bytes:
    """Return a sort key for JavaScript's default order of strings."""
    return text.encode("utf-16-be", "surrogatepass")


def cut_utf16(text: str, units: int) -> str:
    """Return the first `units` UTF-16 code units, as `text.slice(0, units)` does.

    The result may end in half a surrogate pair.
    """
    if text.isascii():
        return text[:units]
    return text.encode("utf-16-le", "surrogatepass")[: units * 2].decode("utf-16-le", "surrogatepass")


def well_formed(text: str) -> str:
    """Replace lone surrogates by U+FFFD, as `text.toWellFormed()` does.

    Two adjacent halves, as from joined pieces of a text, become their character.
    """
    if re.search(_SURROGATE, text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def parse_json(text: str) -> Any:
    """Parse JSON as `JSON.parse(text)` does: lone surrogates pass.

    Integers keep all digits; other numbers beyond doubles become infinite. Raises ValueError, and
    RecursionError for deep nesting.
    """
    try:
        return _decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        # A lone surrogate, a number beyond doubles, or invalid JSON.
        return _parser().decode(text)


def parse_at(text: str, at: int) -> tuple[Any, int]:
    """Return the JSON value at an index of a text, and the index after it. Raises ValueError."""
    return _parser().raw_decode(text, at)


def _integer(digits: str) -> float:
    return int(digits) if len(digits) < _MAX_DIGITS else float(digits)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


@cache
def _parser() -> json.JSONDecoder:
    # Almost no text needs it, and its module takes a millisecond.
    import json  # noqa: PLC0415

    return json.JSONDecoder(parse_int=_integer, parse_constant=_no_constant)


def compact_json(raw: bytes | memoryview) -> str:
    """Return a JSON text without spaces and needless escapes.

    `raw` must be valid JSON, but may have bytes that are not UTF-8.
    """
    try:
        return _encode(_decode(raw)).decode()
    except (msgspec.DecodeError, UnicodeError):
        return stringify(parse_json(bytes(raw).decode("utf-8", "replace")))


def compact_lengths(raw: bytes | memoryview) -> tuple[int, int]:
    """Return the `lengths` of what `compact_json` returns."""
    try:
        compact = _encode(_decode(raw))
    except (msgspec.DecodeError, UnicodeError):
        return lengths(compact_json(raw))
    return (len(compact), len(compact)) if compact.isascii() else lengths(compact.decode())


def stringify(value: Any) -> str:
    """Print a decoded JSON value: infinite numbers as null, lone surrogates escaped."""
    try:
        return _encode(value).decode()
    except UnicodeEncodeError:
        import json  # noqa: PLC0415

        printed = json.dumps(
            json.loads(json.dumps(value), parse_constant=_null), ensure_ascii=False, separators=(",", ":")
        )
        return re.sub(_SURROGATE, lambda lone: f"\\u{ord(lone[0]):04x}", printed)


def _null(_constant: str) -> None:
    """Stand for a number that JSON does not have."""


def epoch_ms(date: Any) -> int | None:
    """Return `new Date(date).getTime()` for ISO texts and numbers, None for other values.

    A text without an offset is read as UTC, so that the result does not depend on the time zone.
    """
    if not isinstance(date, str):
        is_number = isinstance(date, int | float) and not isinstance(date, bool)
        return int(date) if is_number and abs(date) <= 8.64e15 else None  # noqa: PLR2004  ECMAScript's range of dates
    # Almost all dates have this shape, which takes a fraction of the expression's time; a "W" would be a week's.
    is_plain = (
        len(date) == _PLAIN_DATE
        and (date[4] == "-" and date[5] != "W" and date[10] == "T" and date[19] == "." and date[23] == "Z")
        and date.isascii()
    )
    if not is_plain and not re.fullmatch(_ISO_DATE, date):
        return None
    try:
        moment = datetime.fromisoformat(f"{date}-01" if len(date) == 7 else date)  # noqa: PLR2004  yyyy-mm
    except ValueError:
        return None
    since = (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)) - _EPOCH
    return since.days * 86_400_000 + since.seconds * 1000 + since.microseconds // 1000


_PLAIN_DATE: Final = len("2000-01-01T00:00:00.000Z")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def iso_time(milliseconds: int | None) -> str | None:
    """Format epoch milliseconds in UTC as `toISOString` does."""
    if milliseconds is None:
        return None
    try:
        moment = datetime.fromtimestamp(milliseconds // 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return f"{moment.isoformat().removesuffix('+00:00')}.{milliseconds % 1000:03d}Z"


def tolerant_json(body: bytes) -> Any:
    """Parse JSON bytes as JavaScript does; replace invalid UTF-8, allow lone surrogates.

    Raises msgspec.DecodeError.
    """
    try:
        return _decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        pass
    try:
        return parse_json(body.decode("utf-8", "replace"))
    except RecursionError:
        raise TooDeepError from None
    except ValueError as error:
        raise msgspec.DecodeError(str(error)) from None


def exact_json(body: bytes) -> Any:
    """Parse JSON as `tolerant_json` does; fractions are `Raw`, with the digits to print."""
    try:
        return _decode_exactly(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return tolerant_json(body)


_decode_exactly: Final = msgspec.json.Decoder(float_hook=lambda digits: msgspec.Raw(digits.encode())).decode


def is_utf8(data: bytes) -> bool:
    """Return True if all of a record's bytes are UTF-8."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


S = TypeVar("S", bound=msgspec.Struct)


def tolerant_decoder(type_: type[S]) -> Callable[[bytes], S]:
    """Return a decoder of a type's fields that also accepts lenient JSON (`tolerant_json`).

    Fields of the type `Raw` stay JSON; a field whose value is of another type is missing. Anything but an object has
    none of the fields. Raises TooDeepError.
    """

    @cache
    def of_type() -> tuple[Callable[[bytes], S], Mapping[str, Any], bool]:
        # On first use, because it takes longer than the rest of most modules.
        types = {field.name: field.type for field in msgspec.structs.fields(type_)}
        return msgspec.json.Decoder(type_).decode, types, any(map(_is_raw, types.values()))

    def decoded(record: bytes) -> S:
        decode, types, has_raw = of_type()
        try:
            if has_raw and not record.isascii():
                # The decoder does not look at bytes that stay raw.
                record.decode()
            return decode(record)
        except RecursionError:
            raise TooDeepError from None
        except (msgspec.DecodeError, UnicodeDecodeError):
            return type_(**dict(_fitting(record, types)))

    return decoded


def _is_raw(type_: Any) -> bool:
    return msgspec.Raw in (type_, *get_args(type_))


def _fitting(record: bytes, types: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of those fields of a record that are of their types."""
    given: Mapping[str, bytes | msgspec.Raw]
    try:
        record.decode()
        given = _decode_fields(record)
    except (msgspec.DecodeError, UnicodeDecodeError):
        found = tolerant_json(record)
        fields = found.items() if isinstance(found, dict) else ()
        given = {name: stringify(value).encode() for name, value in fields if name in types}
    for name in given.keys() & types.keys():
        raw, type_ = bytes(given[name]), types[name]
        try:
            yield name, msgspec.Raw(raw) if _is_raw(type_) else msgspec.convert(tolerant_json(raw), type_)
        except (msgspec.ValidationError, UnicodeEncodeError):
            continue


_decode_fields: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def text_or_empty(value: Any) -> str:
    """Return a decoded value if it is a text, otherwise ""."""
    return value if isinstance(value, str) else ""
