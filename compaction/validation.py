"""Validate a table of TOML against a struct and collect every error."""

from __future__ import annotations

import difflib
import re
import reprlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from eventstore.errors import BadInputError

T = TypeVar("T", bound=msgspec.Struct)
_ONE_OF: Final = "one_of"


def one_of(kind: str, names: Collection[str]) -> dict[str, Any]:
    """Return the `extra` of a `Meta` for text that must be one of a kind's current names."""
    return {_ONE_OF: (kind, names)}


def check_known_names(struct: msgspec.Struct) -> None:
    """Raise ValueError for a field with an unknown name. For `__post_init__`."""
    for field in msgspec.structs.fields(struct):
        if wrong := check_name(getattr(struct, field.name), field.type):
            raise ValueError(f"{field.name}: {'; '.join(wrong)}")


def check_name(value: Any, type_: Any) -> tuple[str, str] | None:
    """Return the problem with an unknown name and a remedy, None for a known name."""
    kind, names = named_choices(type_)
    if not kind or not isinstance(value, str) or value in names:
        return None
    return f"there is no {kind} {value!r}", suggest(value, names)


def named_choices(type_: Any) -> tuple[str, Collection[str]]:
    """Return the kind ("" for a literal) and the names that values of a type must be one of.

    There are none if a type has no fixed names.
    """
    for each in union_members(type_):
        if isinstance(each, msgspec.Meta) and each.extra and _ONE_OF in each.extra:
            kind, names = each.extra[_ONE_OF]
            return kind, names
        if get_origin(each) is Literal:
            return "", [str(value) for value in get_args(each)]
    return "", ()


def union_members(type_: Any) -> Iterator[Any]:
    """Yield the members of a union type, each followed by its annotations."""
    if get_origin(type_) in (Annotated, Union, UnionType):
        for each in get_args(type_):
            yield from union_members(each)
    else:
        yield type_


def suggest(name: Any, names: Collection[str]) -> str:
    """Suggest a known name for an unknown one."""
    close = difflib.get_close_matches(name, names, 1) if isinstance(name, str) else []
    return f"did you mean {close[0]}?" if close else f"there are: {', '.join(names)}"


class ValidationIssue(msgspec.Struct, frozen=True):
    """One problem: `where` (table and key, "" for the whole), what is wrong, what to do."""

    where: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.description}; {self.remedy}"

    @property
    def description(self) -> str:
        """The problem and its place."""
        return f"{self.where}: {self.problem}" if self.where else self.problem


class InvalidInputError(BadInputError):
    """A user's input is invalid; `issues` lists every problem.

    Its text is one line: the first problem, and how many more there are.
    """

    def __init__(self, source: str, issues: Sequence[ValidationIssue]) -> None:
        self.issues = tuple(issues)
        first, *others = issues
        more = f" (and {len(others)} more)" if others else ""
        super().__init__(source, first.description, f"{first.remedy}{more}")

    @property
    def lines(self) -> list[str]:
        """The problems, a line each."""
        return [f"{self.source}: {issue}" for issue in self.issues]


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


def validate(given: Mapping[str, Any], struct: type[T]) -> T | list[ValidationIssue]:
    """Return a table as a struct, or every problem in the order of its keys, missing keys last."""
    return _of_table(given, struct, ()) or msgspec.convert(given, struct)


def key_path(keys: Keys) -> str:
    """Return the place of keys in a file: `[table] key`, "" for the whole."""
    *tables, key = (each if _BARE.fullmatch(each) else repr(each) for each in keys) if keys else [""]
    return f"[{'.'.join(tables)}] {key}" if tables else key


def _of_table(given: Mapping[str, Any], struct: type[msgspec.Struct], at: Keys) -> list[ValidationIssue]:
    fields = {field.encode_name: field for field in msgspec.structs.fields(struct)}
    settings = {key: value for key, value in given.items() if key != struct.__struct_config__.tag_field}
    found: list[ValidationIssue] = []
    for key, value in settings.items():
        if key in fields:
            found += _of_value(value, fields[key].type, (*at, key))
        else:
            found.append(
                ValidationIssue(key_path((*at, key)), "this key does not exist", suggest(key, fields))
            )
    for key, field in fields.items():
        if field.required and key not in settings:
            found.append(
                ValidationIssue(key_path((*at, key)), "it is missing", f"give {_wanted(field.type)}")
            )
    if not found and (problem := _complaint(settings, struct)):
        found.append(ValidationIssue(key_path(at), problem, "change one of them"))
    return found


def _of_value(value: Any, type_: Any, at: Keys) -> list[ValidationIssue]:
    if wrong := check_name(value, type_):
        return [ValidationIssue(key_path(at), *wrong)]
    if not _complaint(value, type_):
        return []
    shown = str(value).lower() if isinstance(value, bool) else _brief.repr(value)
    return [*_inside(value, type_, at)] or [
        ValidationIssue(key_path(at), f"it is {shown}", f"give {_wanted(type_)}")
    ]


def _inside(value: Any, type_: Any, at: Keys) -> Iterator[ValidationIssue]:
    """Yield problems inside a table or list; nothing if the type expects neither."""
    parts: list[type[msgspec.Struct]] = []
    for kind in union_members(type_):
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


def _of_part(
    value: Mapping[str, Any], parts: Sequence[type[msgspec.Struct]], at: Keys
) -> Iterator[ValidationIssue]:
    """Yield the problems of a table that is one of several parts, chosen by its tag.

    The tag may be missing if there is only one part.
    """
    tag, only = parts[0].__struct_config__.tag_field, parts[0] if len(parts) == 1 else None
    tags = {str(each.__struct_config__.tag): each for each in parts}
    name = value.get(tag) if tag else None
    part = tags.get(name) if isinstance(name, str) else None
    if tag and not part and (tag in value or not only):
        problem = f"there is no {name!r}" if tag in value else "it is missing"
        yield ValidationIssue(key_path((*at, tag)), problem, suggest(name, tags))
    if part := part or only:
        yield from _of_table(value, part, at)


def _wanted(type_: Any) -> str:
    """Describe the values of a type: by its own description, else in plain words."""
    if names := named_choices(type_)[1]:
        return f"one of {', '.join(names)}"
    metas = [each for each in union_members(type_) if isinstance(each, msgspec.Meta)]
    for meta in metas:
        if meta.description:
            return meta.description
    kinds = _KINDS.search(_complaint(..., type_))
    words = [_WORDS.get(kind, kind) for kind in kinds[1].split(" | ") if kind != "null"] if kinds else []
    bounds = [f", {meta.ge} or more" for meta in metas if meta.ge is not None]
    bounds += [f", {meta.le} or less" for meta in metas if meta.le is not None]
    return (" or ".join(words) or "a value") + "".join(bounds)


def _complaint(value: Any, type_: Any) -> str:
    """Return msgspec's error for a value, "" for none."""
    try:
        msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        return str(error)
    return ""
