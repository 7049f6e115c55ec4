"""Texts that have to be one of some names, as the types of their fields say."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec

_ONE_OF: Final = "one_of"


def one_of(kind: str, names: Collection[str]) -> dict[str, Any]:
    """What `extra` of a text's `Meta` says that has to be one of the names of a kind of things, as they are by then."""
    return {_ONE_OF: (kind, names)}


def check_names(struct: msgspec.Struct) -> None:
    """Raise ValueError for a field that is none of the names that it has to be one of. For `__post_init__`."""
    for field in msgspec.structs.fields(struct):
        if wrong := unknown(getattr(struct, field.name), field.type):
            raise ValueError(f"{field.name}: {'; '.join(wrong)}")


def unknown(value: Any, type_: Any) -> tuple[str, str] | None:
    """What is wrong with a text that is none of a type's names, and what to do."""
    kind, names = choice(type_)
    if not kind or not isinstance(value, str) or value in names:
        return None
    return f"there is no {kind} {value!r}", hint(value, names)


def choice(type_: Any) -> tuple[str, Collection[str]]:
    """What values of a type have to be one of: of what kind that is, and which there are; none for any value."""
    for each in members(type_):
        if isinstance(each, msgspec.Meta) and each.extra and _ONE_OF in each.extra:
            kind, names = each.extra[_ONE_OF]
            return kind, names
        if get_origin(each) is Literal:
            return "", [str(value) for value in get_args(each)]
    return "", ()


def members(type_: Any) -> Iterator[Any]:
    """The types that a value may be of, which are several for a union, each followed by its annotations."""
    if get_origin(type_) in (Annotated, Union, UnionType):
        for each in get_args(type_):
            yield from members(each)
    else:
        yield type_


def hint(name: Any, names: Collection[str]) -> str:
    """What somebody may have meant by a name that there is not."""
    close = difflib.get_close_matches(name, names, 1) if isinstance(name, str) else []
    return f"did you mean {close[0]}?" if close else f"there are: {', '.join(names)}"
