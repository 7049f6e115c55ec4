"""Where templates are looked for: installed packages, a session, a person's folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Final

import msgspec

from compaction.templates.template import Template, parse
from eventstore.errors import BadInputError
from eventstore.javascript import tolerant_json
from eventstore.kinds import CUSTOM
from eventstore.log import Snapshot
from projections.context.cursor import Standpoint, entries_of

Source = Callable[[str], "Template | None"]
"""Somewhere to look for a template by its name; None where it is not."""

PLUGINS: Final = "refold.templates"
"""The group of entry points whose functions give the text of a template by its name, or None."""
IN_SESSION: Final = "refold.template"
"""The type of the `custom` entries that hold a session's own templates: `name` and `text`."""
SUFFIX: Final = ".md"


class _Folder(msgspec.Struct, frozen=True):
    """A person's folder of templates."""

    path: Path

    def names(self) -> list[str]:
        return [file.stem for file in self.path.glob(f"*{SUFFIX}") if file.is_file()]

    def __call__(self, name: str) -> Template | None:
        file = self.path / f"{name}{SUFFIX}"
        if Path(name).name != name or not file.is_file():
            return None
        try:
            return parse(file.read_bytes().decode(), source=str(file))
        except UnicodeDecodeError:
            raise BadInputError(f"template {file}", "it is not UTF-8", "save it as UTF-8") from None
        except OSError as error:
            problem = error.strerror or str(error)
            raise BadInputError(f"template {file}", problem, "make it readable") from None


class _Session(msgspec.Struct, frozen=True):
    """A session's own templates: of each name the event that has it, and its text."""

    texts: Mapping[str, tuple[str, Any]]

    def names(self) -> list[str]:
        return list(self.texts)

    def __call__(self, name: str) -> Template | None:
        if name not in self.texts:
            return None
        event, text = self.texts[name]
        return _parsed(text, f"session, event {event}")


def names_in(sources: Iterable[Source]) -> set[str]:
    """The names of the templates in folders and sessions; those of packages nobody knows before asking."""
    return {name for each in sources if isinstance(each, _Folder | _Session) for name in each.names()}


def with_session(sources: Sequence[Source], snapshot: Snapshot, at: Standpoint) -> list[Source]:
    """Sources and a session's own templates, which lead before those of folders, and follow all others."""
    others = [source for source in sources if not isinstance(source, _Folder)]
    folders = [source for source in sources if isinstance(source, _Folder)]
    return [*others, from_session(snapshot, at), *folders]


def from_plugins() -> list[Source]:
    """Templates of installed packages, in order of their names."""
    points = sorted(entry_points(group=PLUGINS), key=lambda point: point.name)
    return [partial(_of_plugin, point) for point in points]


def from_session(snapshot: Snapshot, at: Standpoint) -> Source:
    """Templates of a session's own: the newest `custom` entry of the path that names each."""
    texts: dict[str, tuple[str, Any]] = {}
    for entry in entries_of(snapshot, at, CUSTOM):
        record = tolerant_json(entry.body)
        data = record.get("data")
        if record.get("customType") == IN_SESSION and isinstance(data, dict):
            name = data.get("name")
            texts |= {name: (entry.id, data.get("text"))} if isinstance(name, str) else {}
    return _Session(texts)


def from_folder(folder: Path) -> Source:
    """Templates of a person's: files `NAME.md` in a folder."""
    return _Folder(folder)


def _of_plugin(point: EntryPoint, name: str) -> Template | None:
    source = f"plugin {point.name}"
    try:
        text = point.load()(name)
    except Exception as error:  # noqa: BLE001  somebody else's code
        problem = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise BadInputError(f"template {source}", problem, "mend or uninstall the package") from None
    return None if text is None else _parsed(text, source)


def _parsed(text: Any, source: str) -> Template:
    if not isinstance(text, str):
        raise BadInputError(f"template {source}", "it is no text", "give the text of a template's file")
    return parse(text, source=source)
