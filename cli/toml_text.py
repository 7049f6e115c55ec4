"""Data as TOML, to be read, copied and edited by people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def toml_text(values: Mapping[str, Any]) -> str:
    """Values as TOML: what is no table first, then tables, then lists of tables. None, which TOML lacks, is left out.

    Tables hold no tables.
    """
    plain = {name: value for name, value in values.items() if not _is_table(value) and not _is_tables(value)}
    blocks = ["\n".join(lines)] if (lines := list(_lines(plain))) else []
    for name, value in values.items():
        if _is_table(value):
            blocks.append("\n".join([f"[{name}]", *_lines(value)]))
        elif _is_tables(value):
            blocks += ["\n".join([f"[[{name}]]", *_lines(table)]) for table in value]
    return "\n\n".join(blocks) + "\n"


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping)


def _is_tables(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(map(_is_table, value))


def _lines(table: Mapping[str, Any]) -> Iterator[str]:
    return (f"{name} = {_value(value)}" for name, value in table.items() if value is not None)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:_}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return _text(value) if isinstance(value, str) else repr(value)


def _text(text: str) -> str:
    """A basic string: JSON's escapes are TOML's, but for a character that JSON leaves as it is."""
    import msgspec

    return msgspec.json.encode(text).decode().replace("\x7f", "\\u007f")
