"""A template: a prompt with a name, a version, and the sections that its answer has to have."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Sequence
from typing import Annotated, Final

import msgspec

from compaction.faults import FaultyInputError, check
from compaction.part import Positive
from eventstore.errors import BadInputError

FENCE: Final = "+++"
_FRONT_MATTER: Final = re.compile(
    r"\A\ufeff?\+\+\+[ \t]*\n(?P<toml>.*?)^\+\+\+[ \t]*$\n?", re.DOTALL | re.MULTILINE
)
_NAME: Final = re.compile(r"""^[ \t]*["']?name["']?[ \t]*=.*$""", re.MULTILINE)
_SUMMARY, _END_OF_SUMMARY = "<summary>", "</summary>"


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
    """A prompt: its `text`, and what its front matter says.

    `sections` are headings that an answer must have, each as a line `## Heading`. `strip` is the tag of a part
    of the answer that is left out, "" for none. `source` says where the template came from, `digest` is
    SHA-256 of the whole file, hexadecimal.
    """

    name: str
    version: int
    sections: tuple[str, ...]
    strip: str
    text: str
    source: str
    digest: str


def parse(text: str, *, source: str) -> Template:
    """The template of a file's text: TOML between two lines `+++`, then the prompt. Raises BadInputError."""
    lines = text.replace("\r\n", "\n")
    found = _FRONT_MATTER.match(lines)
    if found is None:
        begins = lines.lstrip("\ufeff").startswith(FENCE)
        problem = "its front matter does not end" if begins else "it has no front matter"
        raise _bad(source, problem, f"begin with TOML between two lines {FENCE}")
    front = _front(found["toml"], source)
    body = lines[found.end() :].strip()
    if not body:
        raise _bad(source, "there is no prompt behind its front matter", "write it there")
    return Template(
        name=front.name,
        version=front.version,
        sections=front.sections,
        strip=front.strip,
        text=body,
        source=source,
        digest=_digest(text),
    )


def with_text(template: Template, text: str, *, source: str) -> Template:
    """A template with another prompt, by whoever wrote that: name and version stay, the digest is the text's."""
    return msgspec.structs.replace(template, text=text, source=source, digest=_digest(text))


def renamed(text: str, name: str) -> str:
    """A template's text by another name; all else stays as it stands. For texts that are templates."""
    return _NAME.sub(lambda _: f"name = {msgspec.json.encode(name).decode()}", text, count=1)


def headings(text: str) -> list[str]:
    """What stands in a text as lines `## Heading`."""
    return [line[3:].rstrip() for line in text.splitlines() if line.startswith("## ")]


def missing_sections(answer: str, sections: Sequence[str]) -> list[str]:
    """The sections that an answer lacks: a heading counts by its exact line, `## Goal`; `#### Goal` is another."""
    lines = {line.rstrip() for line in answer.splitlines()}
    return [section for section in sections if f"## {section}" not in lines]


def stripped(answer: str, tag: str) -> str:
    """An answer without the part in a tag; of what is left, what stands in `<summary>`, if anything does.

    A part that is not closed ends where the summary begins, and a summary that is not closed at the end.
    Without a tag nothing is left out.
    """
    if not tag:
        return answer.strip()
    rest = _without(answer, tag)
    start = rest.find(_SUMMARY)
    if start < 0:
        return rest.strip()
    end = rest.rfind(_END_OF_SUMMARY)
    return rest[start + len(_SUMMARY) : end if end > start else None].strip()


def _without(answer: str, tag: str) -> str:
    """An answer without the part in a tag that comes before its summary; a summary may speak of the tag."""
    start, summary = answer.find(f"<{tag}>"), answer.find(_SUMMARY)
    if start < 0 or 0 <= summary < start:
        return answer
    closed = answer.find(f"</{tag}>", start)
    if closed >= 0:
        return answer[:start] + answer[closed + len(f"</{tag}>") :]
    return answer[:start] + (answer[summary:] if summary >= 0 else "")


def _front(toml: str, source: str) -> _Front:
    try:
        given = tomllib.loads(toml)
    except tomllib.TOMLDecodeError as error:
        raise _bad(source, f"front matter: {error}", "correct the TOML") from None
    if found := check(given, _Front):
        raise FaultyInputError(f"template {source}", found)
    return msgspec.convert(given, _Front)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _bad(source: str, problem: str, advice: str) -> BadInputError:
    return BadInputError(f"template {source}", problem, advice)
