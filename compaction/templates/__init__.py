"""The prompts by which summaries are asked for.

Adding a template: a file in `texts`, its docs.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from typing import Final

from compaction.templates.sources import (
    SUFFIX,
    Source,
    from_folder,
    from_plugins,
    from_session,
    with_session,
)
from compaction.templates.template import Template, missing_sections, parse, stripped, with_text
from eventstore.errors import BadInputError, NotFoundError

__all__ = [
    "Source",
    "Template",
    "built_in",
    "built_in_names",
    "built_in_text",
    "dropped_sections",
    "find",
    "from_folder",
    "from_plugins",
    "from_session",
    "missing_sections",
    "parse",
    "stripped",
    "with_session",
    "with_text",
]

_TEXTS: Final = files("compaction.templates") / "texts"


def find(name: str, sources: Iterable[Source]) -> Template:
    """The template of the first source that has it, else the one that comes with refold.

    Raises NotFoundError, and BadInputError for one that is broken, or goes by another name inside.
    """
    for source in (*sources, built_in):
        found = source(name)
        if found is not None:
            if found.name != name:
                where, advice = f"template {found.source}", f'write name = "{name}" there'
                raise BadInputError(where, f"its front matter calls it {found.name!r}", advice)
            return found
    raise NotFoundError("template", name, f"there are: {', '.join(built_in_names())}")


def built_in_names() -> list[str]:
    """The names of the templates that come with refold."""
    return sorted(file.name.removesuffix(SUFFIX) for file in _TEXTS.iterdir() if file.name.endswith(SUFFIX))


def built_in_text(name: str) -> str:
    """The file of a template that comes with refold. Raises NotFoundError."""
    if name not in built_in_names():
        raise NotFoundError("template", name, f"there are: {', '.join(built_in_names())}")
    return (_TEXTS / f"{name}{SUFFIX}").read_text("utf-8")


def built_in(name: str) -> Template | None:
    """A template that comes with refold."""
    return parse(built_in_text(name), source="built-in") if name in built_in_names() else None


def dropped_sections(template: Template) -> list[str]:
    """The sections that the template of this name that comes with refold asks for, and this one does not."""
    original = built_in(template.name)
    return [section for section in original.sections if section not in template.sections] if original else []
