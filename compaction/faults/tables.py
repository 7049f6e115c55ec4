"""Tables of TOML that are to be structs, whose tables hold no tables."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import inspect

from compaction.faults.fault import Fault
from compaction.faults.names import there_are
from compaction.faults.values import problem_of, wanted

_BARE: Final = re.compile(r"[\w-]+")


def faults(given: Mapping[str, Any], struct: type[msgspec.Struct]) -> list[Fault]:
    """Everything for which a table cannot be a struct, in the order of its keys; what is missing comes last."""
    kind = inspect.type_info(struct)
    assert isinstance(kind, inspect.StructType)  # noqa: S101  what a struct's type is
    return _of_table(given, kind, "")


def _of_table(given: Mapping[str, Any], kind: inspect.StructType, at: str) -> list[Fault]:
    """The faults of a table; `at` stands before its keys."""
    fields = {field.encode_name: field for field in kind.fields}
    found = [fault for key, value in given.items() for fault in _of_key(key, value, fields, at)]
    found += [
        Fault(f"{at}{key}", "it is missing", f"give {wanted(field.type)}")
        for key, field in fields.items()
        if field.required and key not in given
    ]
    return found or _of_whole(given, kind, at)


def _of_whole(given: Mapping[str, Any], kind: inspect.StructType, at: str) -> list[Fault]:
    """What the struct itself says of values that are each right."""
    try:
        msgspec.convert(given, kind.cls)
    except msgspec.ValidationError as error:
        return [Fault(at.rstrip(", "), str(error), "change one of them")]
    return []


def _of_key(key: str, value: Any, fields: Mapping[str, inspect.Field], at: str) -> Iterator[Fault]:
    name = key if _BARE.fullmatch(key) else repr(key)
    if key in fields:
        yield from _of_value(value, fields[key].type, f"{at}{name}", f"{at}[{name}] ")
        return
    close = difflib.get_close_matches(key, fields, 1)
    hint = f"did you mean {close[0]}?" if close else there_are(fields)
    yield Fault(f"{at}{name}", "there is no such key", hint)


def _of_value(value: Any, kind: inspect.Type, where: str, at: str) -> Iterator[Fault]:
    """The faults of what stands `where`; should it be a table, `at` stands before its keys."""
    if value is None and isinstance(kind, inspect.UnionType) and kind.includes_none:
        return
    first, *others = _types(kind)
    problem = problem_of(value, first)
    if problem:
        yield Fault(where, *problem)
    elif isinstance(first, inspect.VarTupleType):
        for number, item in enumerate(value, 1):
            item_at = f"[{at.rstrip()}] number {number}, "
            yield from _of_value(item, first.item_type, f"{where}, number {number}", item_at)
    elif isinstance(first, inspect.StructType):
        yield from _of_part(value, [first, *others], at)


def _of_part(value: Mapping[str, Any], parts: Sequence[inspect.Type], at: str) -> list[Fault]:
    """The faults of a table that is one of several parts, as its tag says; of one part the tag may be left out.

    A struct that is no part of a policy has no tag.
    """
    structs = [part for part in parts if isinstance(part, inspect.StructType)]
    if structs[0].tag_field is None:
        return _of_table(value, structs[0], at)
    tag, tags = structs[0].tag_field or "", {str(part.tag): part for part in structs}
    said = value.get(tag, structs[0].tag if len(structs) == 1 else None)
    part = tags.get(said) if isinstance(said, str) else None
    if part is None:
        problem = "it is missing" if said is None else f"there is no {said!r}"
        return [Fault(f"{at}{tag}", problem, there_are(tags))]
    return _of_table({key: of for key, of in value.items() if key != tag}, part, at)


def _types(kind: inspect.Type) -> list[inspect.Type]:
    """The types that a value may be of, but for none."""
    types = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    return [each for each in types if not isinstance(each, inspect.NoneType)]
