"""Tables of TOML that are to be structs: each key is converted alone, so that all that fail are known."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, get_args, get_origin

import msgspec

from compaction.faults.fault import Fault
from compaction.faults.names import choice, hint, members, unknown

Keys = tuple[str, ...]
"""The keys that lead to a value, from the outermost table on."""

_BARE: Final = re.compile(r"[\w-]+(, number \d+)?")
_KINDS: Final = re.compile("Expected `(.+?)`")
_WORDS: Final = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}
_brief: Final = reprlib.Repr()
_brief.maxstring = 60


def check(given: Mapping[str, Any], struct: type[msgspec.Struct]) -> list[Fault]:
    """Everything for which a table cannot be a struct, in the order of its keys; what is missing comes last."""
    return _of_table(given, struct, ())


def where(keys: Keys) -> str:
    """Where something stands in a file: `[table] key`, "" for the whole."""
    *tables, key = (each if _BARE.fullmatch(each) else repr(each) for each in keys) if keys else [""]
    return f"[{'.'.join(tables)}] {key}" if tables else key


def _of_table(given: Mapping[str, Any], struct: type[msgspec.Struct], at: Keys) -> list[Fault]:
    fields = {field.encode_name: field for field in msgspec.structs.fields(struct)}
    said = {key: value for key, value in given.items() if key != struct.__struct_config__.tag_field}
    found: list[Fault] = []
    for key, value in said.items():
        if key in fields:
            found += _of_value(value, fields[key].type, (*at, key))
        else:
            found.append(Fault(where((*at, key)), "there is no such key", hint(key, fields)))
    for key, field in fields.items():
        if field.required and key not in said:
            found.append(Fault(where((*at, key)), "it is missing", f"give {_wanted(field.type)}"))
    if not found and (problem := _complaint(said, struct)):
        found.append(Fault(where(at), problem, "change one of them"))
    return found


def _of_value(value: Any, type_: Any, at: Keys) -> list[Fault]:
    if wrong := unknown(value, type_):
        return [Fault(where(at), *wrong)]
    if not _complaint(value, type_):
        return []
    said = str(value).lower() if isinstance(value, bool) else _brief.repr(value)
    return [*_inside(value, type_, at)] or [Fault(where(at), f"it is {said}", f"give {_wanted(type_)}")]


def _inside(value: Any, type_: Any, at: Keys) -> Iterator[Fault]:
    """What is wrong inside of a table or a list; nothing where such are not wanted."""
    parts: list[type[msgspec.Struct]] = []
    for kind in members(type_):
        origin, args = get_origin(kind), get_args(kind)
        if isinstance(value, list) and (origin is list or args[1:] == (...,)):
            for number, item in enumerate(value, 1):
                yield from _of_value(item, args[0], (*at[:-1], f"{at[-1]}, number {number}"))
        elif isinstance(value, dict) and origin is dict:
            for key, item in value.items():
                yield from _of_value(item, args[1], (*at, key))
        elif isinstance(value, dict) and isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            parts.append(kind)
    if parts:
        yield from _of_part(value, parts, at)


def _of_part(value: Mapping[str, Any], parts: Sequence[type[msgspec.Struct]], at: Keys) -> Iterator[Fault]:
    """The faults of a table that is one of several parts, as its tag says; of one part the tag may be left out."""
    tag, only = parts[0].__struct_config__.tag_field, parts[0] if len(parts) == 1 else None
    tags = {str(each.__struct_config__.tag): each for each in parts}
    said = value.get(tag) if tag else None
    part = tags.get(said) if isinstance(said, str) else None
    if tag and not part and (tag in value or not only):
        problem = f"there is no {said!r}" if tag in value else "it is missing"
        yield Fault(where((*at, tag)), problem, hint(said, tags))
    if part := part or only:
        yield from _of_table(value, part, at)


def _wanted(type_: Any) -> str:
    """What values of a type are called: as it describes them, else as msgspec does, in other words."""
    if names := choice(type_)[1]:
        return f"one of {', '.join(names)}"
    metas = [each for each in members(type_) if isinstance(each, msgspec.Meta)]
    for meta in metas:
        if meta.description:
            return meta.description
    kinds = _KINDS.search(_complaint(..., type_))
    words = [_WORDS.get(kind, kind) for kind in kinds[1].split(" | ") if kind != "null"] if kinds else []
    bounds = [f", {meta.ge} or more" for meta in metas if meta.ge is not None]
    bounds += [f", {meta.le} or less" for meta in metas if meta.le is not None]
    return (" or ".join(words) or "a value") + "".join(bounds)


def _complaint(value: Any, type_: Any) -> str:
    """What msgspec says against a value, "" for nothing."""
    try:
        msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        return str(error)
    return ""
