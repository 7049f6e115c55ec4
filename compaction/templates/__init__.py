"""The prompts by which summaries are asked for.

Adding a template: a file in `texts`, its docs.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Final

from compaction.templates.sources import (
    SUFFIX,
    Source,
    from_folder,
    from_plugins,
    from_session,
    names_in,
    with_session,
)
from compaction.templates.template import (
    Template,
    headings,
    missing_sections,
    parse,
    renamed,
    stripped,
    with_text,
)
from eventstore.errors import BadInputError, NotFoundError

__all__ = [
    "SYSTEM",
    "Source",
    "Template",
    "built_in",
    "built_in_names",
    "built_in_text",
    "find",
    "from_folder",
    "from_plugins",
    "from_session",
    "missing_sections",
    "parse",
    "renamed",
    "stripped",
    "warnings",
    "with_session",
    "with_text",
]

SYSTEM: Final = "system"
"""The name of the template of the system prompt that summaries are asked for with."""
_TEXTS: Final = files("compaction.templates") / "texts"


def find(name: str, sources: Sequence[Source]) -> Template:
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
    names = sorted({*built_in_names(), *names_in(sources)})
    raise NotFoundError("template", name, f"there are: {', '.join(names)}")


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


def warnings(template: Template) -> list[str]:
    """A line for each way in which a template may not get the answers that it should.

    It drops sections of the one of its name that comes with refold, for which readers of summaries may look. Its prompt
    does not ask for a section that answers have to have, or asks for one that nobody misses if it lacks; but for those
    that the templates that come with refold leave to the answer, too.
    """
    original = built_in(template.name)
    asked = headings(template.text)
    found = {
        "the template drops sections": [
            each for each in (original.sections if original else ()) if each not in template.sections
        ],
        "its prompt has no headings for its sections": missing_sections(template.text, template.sections),
        "its sections lack headings of its prompt": [
            each for each in asked if each not in (*template.sections, *_optional())
        ],
    }
    return [f"{problem}: {', '.join(each)}" for problem, each in found.items() if each]


def _optional() -> set[str]:
    """Headings of templates that come with refold which an answer may leave out."""
    templates = [parse(built_in_text(name), source="built-in") for name in built_in_names()]
    return {each for one in templates for each in headings(one.text) if each not in one.sections}
