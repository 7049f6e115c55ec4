"""Texts that have to be one of some names."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from msgspec import inspect

_ONE_OF: Final = "one_of"


def one_of(kind: str, names: Collection[str]) -> dict[str, Any]:
    """What the metadata of a text say that has to be one of the names of a kind of things, as they are by then."""
    return {_ONE_OF: (kind, names)}


def names_of(metadata: inspect.Metadata) -> tuple[str, Collection[str]]:
    """Of what kind, and which, the names are of which a text has to be one."""
    assert metadata.extra is not None  # noqa: S101  there are no other metadata
    kind, names = metadata.extra[_ONE_OF]
    return kind, names


def known(kind: str, name: str, names: Collection[str]) -> None:
    """Raise ValueError unless there is something of a kind by this name."""
    if name not in names:
        raise ValueError(f"{unknown(kind, name)}; {there_are(names)}")


def unknown(kind: str, name: str) -> str:
    """That there is nothing of a kind by this name."""
    return f"there is no {kind} {name!r}"


def there_are(names: Collection[str]) -> str:
    """Which names there are."""
    return f"there are: {', '.join(names) or 'none'}"
