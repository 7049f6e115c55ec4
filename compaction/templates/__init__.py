"""The prompts by which summaries are asked for, and where they are looked for.

Adding a template: a file in `texts`, its docs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path
from typing import Final

from compaction.templates.template import Template, missing_sections, parse, stripped
from eventstore.errors import BadInputError, NotFoundError
from eventstore.formats.pi_entry import tolerant_json
from eventstore.log import Snapshot
from projections.standpoint import Standpoint, path

__all__ = [
    "Source",
    "Template",
    "built_in",
    "built_in_names",
    "dropped_sections",
    "find",
    "from_folder",
    "from_plugins",
    "from_session",
    "missing_sections",
    "parse",
    "stripped",
]

Source = Callable[[str], "Template | None"]
"""Somewhere to look for a template by its name; None where it is not."""

PLUGINS: Final = "refold.templates"
"""The group of entry points whose functions give the text of a template by its name, or None."""
IN_SESSION: Final = "refold.template"
"""The type of the `custom` entries that hold a session's own templates: `name` and `text`."""
_TEXTS: Final = files("compaction.templates") / "texts"
_SUFFIX: Final = ".md"


def find(name: str, sources: Iterable[Source]) -> Template:
    """The template of the first source that has it, else the one that comes with refold. Raises NotFoundError."""
    for source in (*sources, built_in):
        found = source(name)
        if found is not None:
            return found
    raise NotFoundError("template", name, f"there are: {', '.join(built_in_names())}")


def built_in_names() -> list[str]:
    """The names of the templates that come with refold."""
    return sorted(file.name.removesuffix(_SUFFIX) for file in _TEXTS.iterdir() if file.name.endswith(_SUFFIX))


def built_in(name: str) -> Template | None:
    """A template that comes with refold."""
    if name not in built_in_names():
        return None
    return parse((_TEXTS / f"{name}{_SUFFIX}").read_text("utf-8"), source="built-in")


def from_folder(folder: Path) -> Source:
    """Templates of a person's: files `NAME.md` in a folder."""

    def source(name: str) -> Template | None:
        file = folder / f"{name}{_SUFFIX}"
        if Path(name).name != name or not file.is_file():
            return None
        try:
            return parse(file.read_text("utf-8"), source=str(file))
        except UnicodeDecodeError:
            raise BadInputError(f"template {file}", "is not UTF-8", "save it as UTF-8") from None

    return source


def from_session(snapshot: Snapshot, at: Standpoint) -> Source:
    """Templates of a session's own: the newest `custom` entry of the path that names each."""
    found: dict[str, Template] = {}
    for entry in path(snapshot, at) if at.leaf else ():
        record = tolerant_json(entry.body) if entry.kind == "custom" else {}
        data = record.get("data")
        if record.get("customType") == IN_SESSION and isinstance(data, dict):
            found[str(data.get("name"))] = parse(str(data.get("text")), source=f"session, event {entry.id}")
    return found.get


def from_plugins() -> Iterator[Source]:
    """Templates of installed packages."""
    for point in entry_points(group=PLUGINS):

        def source(name: str, point: object = point) -> Template | None:
            text = point.load()(name)  # type: ignore[attr-defined]
            return None if text is None else parse(text, source=f"plugin {point.name}")  # type: ignore[attr-defined]

        yield source


def dropped_sections(template: Template) -> list[str]:
    """The sections that the template of this name that comes with refold asks for, and this one does not."""
    original = built_in(template.name)
    return [section for section in original.sections if section not in template.sections] if original else []
