"""Find what a model used behind a boundary and can only know from before it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final

import msgspec

from compaction.replay.boundaries import Boundary
from eventstore.formats import tools_of
from eventstore.formats.base import Tools
from eventstore.log import Snapshot
from eventstore.views import ToolCall
from projections.context.build import context_at
from projections.context.cursor import Cursor
from projections.context.parts import Fate, Part
from projections.files import files_of_call
from projections.mentions import MentionKind, mentions
from projections.mentions.commands import without_heredocs
from projections.mentions.mention import word_set
from projections.mentions.message_facts import SessionFacts, script_of, strings_of


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """A file or an identifier, as the model's message number `seq` first used it.

    A text says it if it has `name` in any case, whatever signs are between its letters and digits: of a file, its name
    without extension and without the affix of a test.
    """

    seq: int
    thing: str
    name: str


_ENDS: Final = ("compaction", "undone")
_INSTRUCTIONS: Final = (b"CLAUDE.md", b"AGENTS.md")
_FEWEST_FILE: Final = 4
_FEWEST_IDENTIFIER: Final = 6
"""Letters and digits; shorter names occur by chance."""
_CONVENTIONAL: Final = word_set(
    "agents app cargo changelog claude config conftest contributing dockerfile gitignore index init justfile license"
    " main makefile package packagelock pyproject readme requirements settings setup skill test tests tsconfig"
)
"""Names of files that anybody would try."""
_OF_SYSTEM: Final = re.compile(r"/(?:dev|etc|usr|bin|proc|sys|opt|Library|Applications)\b")
_FOLDERS: Final = re.compile(r"[\\/]")
_TEST: Final = re.compile(r"^tests?[_.-]|[_.-](?:tests?|spec|stories|d)$", re.IGNORECASE)
_SIGNS: Final = re.compile(r"[\W_]+")


def needs(snapshot: Snapshot, cursor: Cursor, boundary: Boundary, facts: SessionFacts) -> list[Need]:
    """Return the needs of the calls between a boundary and the next compaction, in order.

    The context before had it literally, from a person, the model or a tool. No message since had said it, the summary
    and the model's own words aside, and at no time did the harness, or a call about a file of instructions.
    """
    later = list(takewhile(lambda entry: entry.kind not in _ENDS, boundary.later))
    if not later:
        return []
    start = (boundary.compaction or boundary.leaf).seq
    before = context_at(snapshot, cursor.at_leaf(boundary.leaf.seq)).parts
    at_end = context_at(snapshot, cursor.at_leaf(later[-1].seq)).parts
    silent = (entry for entry in (*boundary.earlier, *later) if not entry.role and entry.kind != "compaction")
    said = [_squeezed(entry.body.decode("utf-8", "replace")) for entry in silent]
    known = list[str]()
    instructing = set[str]()
    for part in before:
        about = facts.of_part(part)
        instructing |= {
            call.id for call in about.calls if any(name in call.arguments for name in _INSTRUCTIONS)
        }
        if _is_by_harness(part) or about.result_of in instructing:
            said += map(_squeezed, about.texts)
        else:
            known += about.texts
    found, held = dict[str, Need | None](), "\n".join(known)
    for part in at_end:
        if part.session != cursor.session or part.seq <= start:
            continue
        about = facts.of_part(part)
        if part.role != "assistant":
            said.append(_squeezed(part.raw.decode("utf-8", "replace")))
            continue
        for thing, name in (each for call in about.calls for each in _used(call, tools_of(part.format))):
            if name not in found:
                is_needed = thing.removeprefix("./") in held and not _is_said(name, said)
                found[name] = Need(seq=part.seq, thing=thing, name=name) if is_needed else None
    return [need for need in found.values() if need is not None]


def held(needed: Sequence[Need], parts: Sequence[Part], facts: SessionFacts) -> int:
    """Return how many things a context's messages say."""
    texts = [_squeezed(text) for part in parts for text in facts.of_part(part).texts]
    return sum(_is_said(need.name, texts) for need in needed)


def _is_said(name: str, texts: Sequence[str]) -> bool:
    return any(name in text for text in texts)


def _is_by_harness(part: Part) -> bool:
    is_given = part.role not in (
        "assistant",
        "toolResult",
        "compactionSummary",
        "branchSummary",
        "bashExecution",
    )
    return part.fate in (Fate.INJECTED, Fate.RESTORED) or (is_given and not part.by_person)


def _used(call: ToolCall, tools: Tools) -> Iterator[tuple[str, str]]:
    """Yield the distinctive things in a call's arguments, each with its name.

    Content for files, here-documents, plans and longer texts do not count: they say what the model writes, or what
    its harness filled in.
    """
    if call.name in tools.plans:
        return
    read, modified = files_of_call(call, tools)
    for path in (*read, *modified):
        yield from _named(MentionKind.PATH, path)
    if modified:
        return
    if names := tools.shells.get(call.name):
        texts = [without_heredocs(script_of(call.decoded, names))]
    else:
        texts = [text for text in strings_of(call.decoded) if "\n" not in text]
    for mention in (each for text in texts for each in mentions(text)):
        yield from _named(mention.kind, mention.value)


def _named(kind: MentionKind, thing: str) -> Iterator[tuple[str, str]]:
    if kind is MentionKind.IDENTIFIER:
        name = _squeezed(thing)
        if len(name) >= _FEWEST_IDENTIFIER:
            yield thing, name
    elif kind is MentionKind.PATH and not _OF_SYSTEM.match(thing):
        stem, _, extension = _FOLDERS.split(thing)[-1].lstrip(".").partition(".")
        name = _squeezed(_TEST.sub("", stem))
        if extension and len(name) >= _FEWEST_FILE and name not in _CONVENTIONAL:
            yield thing, name


def _squeezed(text: str) -> str:
    return _SIGNS.sub("", text).lower()
