"""Values of TOML that are no tables: whether they are what a key wants, and what that is called."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import inspect

from compaction.faults.names import names_of, there_are, unknown

_brief: Final = reprlib.Repr()
_brief.maxstring = 60


class _Sort(msgspec.Struct, frozen=True):
    """Whether a value is one of a type, and what such values are called."""

    has: Callable[[Any, Any], bool]
    called: Callable[[Any], str]


def _is_whole(value: Any, kind: inspect.IntType) -> bool:
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return (kind.ge is None or value >= kind.ge) and (kind.le is None or value <= kind.le)


def _is_number(value: Any, kind: inspect.FloatType) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return (kind.ge is None or value >= kind.ge) and (kind.le is None or value <= kind.le)


def _is_text(value: Any, kind: inspect.StrType) -> bool:
    return isinstance(value, str) and len(value) >= (kind.min_length or 0)


def _whole(kind: inspect.IntType) -> str:
    if kind.ge is None:
        return "a whole number"
    return (
        f"a whole number, {kind.ge} or more" if kind.le is None else f"a whole number, {kind.ge} to {kind.le}"
    )


def _number(kind: inspect.FloatType) -> str:
    return "a number" if kind.ge is None or kind.le is None else f"a number from {kind.ge} to {kind.le}"


def _text(kind: inspect.StrType) -> str:
    return "a text that is not empty" if kind.min_length else "a text"


_SORTS: Final[Mapping[type[inspect.Type], _Sort]] = {
    inspect.IntType: _Sort(_is_whole, _whole),
    inspect.FloatType: _Sort(_is_number, _number),
    inspect.StrType: _Sort(_is_text, _text),
    inspect.BoolType: _Sort(lambda value, _: isinstance(value, bool), lambda _: "true or false"),
    inspect.LiteralType: _Sort(
        lambda value, kind: value in kind.values, lambda kind: f"one of {', '.join(map(str, kind.values))}"
    ),
    inspect.Metadata: _Sort(
        lambda value, kind: isinstance(value, str) and value in names_of(kind)[1],
        lambda kind: f"one of {', '.join(names_of(kind)[1])}",
    ),
    inspect.VarTupleType: _Sort(lambda value, _: isinstance(value, list), lambda _: "a list"),
    inspect.StructType: _Sort(lambda value, _: isinstance(value, dict), lambda _: "a table"),
}


def wanted(kind: inspect.Type) -> str:
    """What values of a type are called."""
    return _SORTS[type(kind)].called(kind)


def problem_of(value: Any, kind: inspect.Type) -> tuple[str, str] | None:
    """What is wrong with a value, and what to do; None where nothing is."""
    if _SORTS[type(kind)].has(value, kind):
        return None
    if isinstance(kind, inspect.Metadata) and isinstance(value, str):
        what, names = names_of(kind)
        return unknown(what, value), there_are(names)
    said = str(value).lower() if isinstance(value, bool) else _brief.repr(value)
    return f"it is {said}", f"give {wanted(kind)}"
