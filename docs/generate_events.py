"""Write docs/events.md from the types: `python docs/generate_events.py`."""

from __future__ import annotations

import inspect
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec

from eventstore import records
from eventstore.event import NewEvent
from eventstore.kinds import is_entry
from eventstore.records import RECORDS, FileSets, Record, Resume, Segment

INTRODUCTION = """\
# Events

Written by `python docs/generate_events.py` from the types in `eventstore`.

A session is a list of events, numbered from 1 without gaps. Those in its tree are **entries**, also of unknown kinds;
the others are **off-path**. Imported events keep their original record. refold's own have one of the records below, in
the shape of pi's version 3 if pi has the kind; id, parent and time belong to the event (`eventstore.event`). A field
with `?` may be omitted: then it is null, empty, 0 or false, if there is no `=`.
"""


def main() -> None:
    """Write the page."""
    Path(__file__).with_name("events.md").write_text(page(), encoding="utf-8")


def page() -> str:
    """Return the page's text."""
    parts = [INTRODUCTION]
    for kind, record in RECORDS.items():
        place = "entry" if is_entry(kind) else "off-path"
        parts.append(f"## {kind}\n\n({place}) {_text(record)}\n\n{_fields(record)}")
    parts.append("## Parts of records\n")
    parts += [_part(part) for part in _parts()]
    return "\n".join(parts)


def _part(part: type[msgspec.Struct]) -> str:
    return f"### {part.__name__}\n\n{_text(part)}\n\n{_fields(part)}"


def _parts() -> list[type[msgspec.Struct]]:
    return [
        type_
        for _, type_ in inspect.getmembers(records, inspect.isclass)
        if issubclass(type_, msgspec.Struct)
        and not issubclass(type_, (Record, NewEvent, FileSets, Resume, Segment))
        and type_.__module__ == records.__name__
        and not type_.__name__.startswith("_")
    ]


def _fields(type_: type[msgspec.Struct]) -> str:
    # Neighbours of one type and default share a line.
    alike = groupby(map(_field, msgspec.structs.fields(type_)), key=itemgetter(1))
    lines = [f"{', '.join(name for name, _ in fields)}: {kind}" for kind, fields in alike]
    return "\n".join(["```text", *lines, "```", ""])


def _field(field: msgspec.structs.FieldInfo) -> tuple[str, str]:
    """Return a field's name, with "?" if it may be omitted, and its type, with a default that is not empty."""
    default = field.default
    if field.default_factory is not msgspec.NODEFAULT:
        default = field.default_factory()
    if default is msgspec.NODEFAULT:
        return field.encode_name, _type(field.type)
    is_empty = isinstance(default, msgspec.Struct) or default is msgspec.UNSET or not default
    shown = "" if is_empty else f" = {msgspec.json.encode(default).decode()}"
    return f"{field.encode_name}?", _type(field.type).removesuffix(" | null") + shown


_PLAIN: dict[Any, str] = {
    str: "text",
    int: "integer",
    bool: "boolean",
    type(None): "null",
    Any: "any JSON",
    msgspec.Raw: "JSON, unchanged",
}


def _type(type_: Any) -> str:
    if type_ in _PLAIN:
        return _PLAIN[type_]
    origin, arguments = get_origin(type_), get_args(type_)
    if origin is dict:
        return "object"
    if origin is list:
        of = _type(arguments[0])
        return f"list of {of + 's' if of in ('text', 'integer') else of}"
    if origin is tuple:
        return f"({', '.join(map(_type, arguments))})"
    if origin is Literal:
        return " | ".join(f'"{value}"' for value in arguments)
    return " | ".join(map(_type, arguments)) if arguments else str(type_.__name__)


def _text(type_: type[msgspec.Struct]) -> str:
    """Return a type's docstring, with fields by their names in JSON."""
    text = inspect.getdoc(type_) or ""
    for field in msgspec.structs.fields(type_):
        text = text.replace(f"`{field.name}`", f"`{field.encode_name}`")
    return text


if __name__ == "__main__":
    main()
