"""Load and check the prompt templates of summaries.

To add a template, write a file in `texts` and its docs.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from compaction.part import Positive
from compaction.validation import InvalidInputError, validate
from eventstore.errors import BadInputError, NotFoundError
from eventstore.log import Snapshot
from eventstore.paths import path_of_kinds
from eventstore.records import Custom, own_record
from projections.context.cursor import Cursor

FENCE: Final = "+++"
_FRONT_MATTER: Final = re.compile(
    r"\A\ufeff?\+\+\+[ \t]*\n(?P<toml>.*?)^\+\+\+[ \t]*$\n?", re.DOTALL | re.MULTILINE
)
_NAME: Final = re.compile(r"""^[ \t]*["']?name["']?[ \t]*=.*$""", re.MULTILINE)


_Name = Annotated[str, msgspec.Meta(pattern=r"\S", description="a name")]
_Section = Annotated[
    str,
    msgspec.Meta(pattern=r"\A[^\s#]\S*( \S+)*\Z", description='the words of a heading alone, such as "Goal"'),
]
_Tag = Annotated[
    str,
    msgspec.Meta(
        pattern=r"\A([A-Za-z][A-Za-z0-9_-]*)?\Z", description='the name of a tag alone, such as "analysis"'
    ),
]


class _Front(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: _Name
    version: Positive
    sections: tuple[_Section, ...] = ()
    strip: _Tag = ""


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt's `text`, and the fields of its front matter.

    `sections` are headings that an answer must have, each as a line `## Heading`. `strip` is the tag of a
    part that is removed from the answer, "" for none. `source` says where the template came from. `digest` is
    the SHA-256 of the whole file, in hexadecimal.
    """

    name: str
    version: int
    sections: tuple[str, ...]
    strip: str
    text: str
    source: str
    digest: str


def parse_template(text: str, *, source: str) -> Template:
    """Parse a template: TOML between two lines `+++`, then the prompt. Raises BadInputError."""
    lines = text.replace("\r\n", "\n")
    found = _FRONT_MATTER.match(lines)
    if found is None:
        begins = lines.lstrip("\ufeff").startswith(FENCE)
        problem = "its front matter is not closed" if begins else "it has no front matter"
        raise _bad(source, problem, f"begin with TOML between two lines {FENCE}")
    front = _front(found["toml"], source)
    body = lines[found.end() :].strip()
    if not body:
        raise _bad(source, "no prompt follows its front matter", "write it there")
    return Template(
        name=front.name,
        version=front.version,
        sections=front.sections,
        strip=front.strip,
        text=body,
        source=source,
        digest=_digest(text),
    )


def replace_text(template: Template, text: str, *, source: str) -> Template:
    """Return a template with another prompt; keep name and version, update the digest."""
    return msgspec.structs.replace(template, text=text, source=source, digest=_digest(text))


def rename_template(text: str, name: str) -> str:
    """Rename a template in its text; leave all else unchanged. Expects a valid template."""
    return _NAME.sub(lambda _: f"name = {msgspec.json.encode(name).decode()}", text, count=1)


def headings(text: str) -> list[str]:
    """Return the headings of lines `## Heading`."""
    return [line[3:].rstrip() for line in text.splitlines() if line.startswith("## ")]


def missing_sections(answer: str, sections: Sequence[str]) -> list[str]:
    """Return the sections without an exact line `## Section` in an answer."""
    lines = {line.rstrip() for line in answer.splitlines()}
    return [section for section in sections if f"## {section}" not in lines]


def _front(toml: str, source: str) -> _Front:
    try:
        given = tomllib.loads(toml)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _bad(source, f"front matter: {error}", "correct the TOML") from None
    front = validate(given, _Front)
    if isinstance(front, list):
        raise InvalidInputError(f"template {source}", front)
    return front


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _bad(source: str, problem: str, advice: str) -> BadInputError:
    return BadInputError(f"template {source}", problem, advice)


Source = Callable[[str], "Template | None"]
"""A lookup of templates by name; returns None for an unknown name."""

PLUGINS: Final = "refold.templates"
"""The group of entry points whose functions return a template's text by name, or None."""
IN_SESSION: Final = "refold.template"
"""The type of `custom` entries that hold a session's own templates: `name` and `text`."""
SUFFIX: Final = ".md"


class _Folder(msgspec.Struct, frozen=True):
    """A user's folder of templates."""

    path: Path

    def names(self) -> list[str]:
        return [file.stem for file in self.path.glob(f"*{SUFFIX}") if file.is_file()]

    def __call__(self, name: str) -> Template | None:
        file = self.path / f"{name}{SUFFIX}"
        if Path(name).name != name or not file.is_file():
            return None
        try:
            return parse_template(file.read_bytes().decode(), source=str(file))
        except UnicodeDecodeError:
            raise BadInputError(f"template {file}", "it is not UTF-8", "save it as UTF-8") from None
        except OSError as error:
            problem = error.strerror or str(error)
            raise BadInputError(f"template {file}", problem, "make it readable") from None


class _Session(msgspec.Struct, frozen=True):
    """A session's own templates: by name, the event and the text."""

    texts: Mapping[str, tuple[str, Any]]

    def names(self) -> list[str]:
        return list(self.texts)

    def __call__(self, name: str) -> Template | None:
        if name not in self.texts:
            return None
        event, text = self.texts[name]
        return _parsed(text, f"session, event {event}")


def template_names_in(sources: Iterable[Source]) -> set[str]:
    """Return the template names in folders and sessions; packages do not list theirs."""
    return {name for each in sources if isinstance(each, _Folder | _Session) for name in each.names()}


def with_session(sources: Sequence[Source], snapshot: Snapshot, cursor: Cursor) -> list[Source]:
    """Add a session's own templates to sources, before the folders and after all others."""
    others = [source for source in sources if not isinstance(source, _Folder)]
    folders = [source for source in sources if isinstance(source, _Folder)]
    return [*others, session_source(snapshot, cursor), *folders]


def plugin_sources() -> list[Source]:
    """Return the template sources of installed packages, sorted by name."""
    points = sorted(entry_points(group=PLUGINS), key=lambda point: point.name)
    return [partial(_of_plugin, point) for point in points]


def session_source(snapshot: Snapshot, cursor: Cursor) -> Source:
    """Return a session's own templates: the newest of each name on the path, none from a file."""
    texts: dict[str, tuple[str, Any]] = {}
    for entry in path_of_kinds(snapshot, cursor.session, cursor.leaf, {"custom"}):
        found = own_record(entry)
        if isinstance(found, Custom) and found.custom_type == IN_SESSION and isinstance(found.data, dict):
            name = found.data.get("name")
            texts |= {name: (entry.id, found.data.get("text"))} if isinstance(name, str) else {}
    return _Session(texts)


def folder_source(folder: Path) -> Source:
    """Return a user's templates: files `NAME.md` in a folder."""
    return _Folder(folder)


def _of_plugin(point: EntryPoint, name: str) -> Template | None:
    source = f"plugin {point.name}"
    try:
        text = point.load()(name)
    except Exception as error:  # noqa: BLE001  somebody else's code
        problem = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise BadInputError(f"template {source}", problem, "fix or uninstall the package") from None
    return None if text is None else _parsed(text, source)


def _parsed(text: Any, source: str) -> Template:
    if not isinstance(text, str):
        raise BadInputError(f"template {source}", "it is not text", "give the text of a template's file")
    return parse_template(text, source=source)


HANDOFF: Final = "handoff"
"""The name of the template, and the type of the message that holds the document."""
SYSTEM: Final = "system"
"""The name of the template of the system prompt for summaries."""
_TEXTS: Final = files("compaction.templates") / "texts"


def find_template(name: str, sources: Sequence[Source]) -> Template:
    """Return a template from the first source that has it, else the built-in one.

    Raises NotFoundError, and BadInputError for a broken template or one that names itself differently.
    """
    for source in (*sources, load_built_in):
        found = source(name)
        if found is not None:
            if found.name != name:
                where, advice = f"template {found.source}", f'write name = "{name}" there'
                raise BadInputError(where, f"its front matter calls it {found.name!r}", advice)
            return found
    names = sorted({*built_in_names(), *template_names_in(sources)})
    raise NotFoundError("template", name, f"there are: {', '.join(names)}")


def built_in_names() -> list[str]:
    """Return the names of the built-in templates."""
    return sorted(file.name.removesuffix(SUFFIX) for file in _TEXTS.iterdir() if file.name.endswith(SUFFIX))


def built_in_text(name: str) -> str:
    """Return the file of a built-in template. Raises NotFoundError."""
    if name not in built_in_names():
        raise NotFoundError("template", name, f"there are: {', '.join(built_in_names())}")
    return (_TEXTS / f"{name}{SUFFIX}").read_text("utf-8")


def load_built_in(name: str) -> Template | None:
    """Return a built-in template."""
    return parse_template(built_in_text(name), source="built-in") if name in built_in_names() else None


def template_warnings(template: Template) -> list[str]:
    """Return a line for each way in which a template may not get complete answers.

    Warn if it drops sections of the built-in template of the same name, which readers of summaries may look
    for. Warn if its prompt does not ask for a required section, or asks for one that is not required.
    Sections that built-in templates leave optional are exempt.
    """
    original = load_built_in(template.name)
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
    """Return headings of built-in templates that an answer may leave out."""
    templates = [parse_template(built_in_text(name), source="built-in") for name in built_in_names()]
    return {each for one in templates for each in headings(one.text) if each not in one.sections}
