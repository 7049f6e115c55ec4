"""A template: a prompt with a name, a version, and the sections that its answer has to have."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Final

import msgspec

from eventstore.errors import BadInputError

_FRONT_MATTER: Final = re.compile(r"\A\ufeff?\+\+\+\s*\n(.*?)^\+\+\+[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_FENCE: Final = "+++"


class _Front(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    version: int
    sections: list[str] = []
    strip: str = ""


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
    found = _FRONT_MATTER.match(text)
    if found is None:
        raise _bad(source, "has no front matter", f"begin with TOML between two lines {_FENCE}")
    try:
        front = msgspec.toml.decode(found[1], type=_Front)
    except msgspec.DecodeError as error:
        raise _bad(source, f"front matter: {error}", "give name, version and sections") from None
    body = text[found.end() :].strip()
    if not body:
        raise _bad(source, "has no prompt behind its front matter", "write the prompt there")
    return Template(
        name=front.name,
        version=front.version,
        sections=tuple(front.sections),
        strip=front.strip,
        text=body,
        source=source,
        digest=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
    )


def _bad(source: str, problem: str, advice: str) -> BadInputError:
    return BadInputError(f"template {source}", problem, advice)


def missing_sections(answer: str, sections: Sequence[str]) -> list[str]:
    """The sections that an answer lacks: a heading counts by its exact line, `## Goal`; `#### Goal` is another."""
    lines = {line.rstrip() for line in answer.splitlines()}
    return [section for section in sections if f"## {section}" not in lines]


def stripped(answer: str, tag: str) -> str:
    """An answer without the part in a tag; of what is left, what stands in `<summary>`, if anything does."""
    if not tag:
        return answer.strip()
    rest = re.sub(rf"<{tag}>.*?(?:</{tag}>|\Z)", "", answer, flags=re.DOTALL)
    found = re.search(r"<summary>(.*?)(?:</summary>|\Z)", rest, re.DOTALL)
    return (found[1] if found else rest).strip()
