"""Parse earlier summaries by kind of fact, whatever their headings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from compaction.summarizers.facts.lines import (
    CHANGED,
    FAILED,
    FILES,
    NAMES,
    OK,
    QUESTION,
    FactKind,
    one_line,
    parse_root,
    split_list,
    strip_root,
)
from compaction.summarizers.facts.talk import strip_count
from projections.mentions import MentionKind, mentions
from projections.mentions.prose import unfenced

EarlierFacts = dict[FactKind, list[str]]
"""The lines of each kind in order, without marks; each file and name separately."""

_MAX_LENGTH: Final = 600
"""Maximum characters of a line that is carried over."""
_SECTION: Final = 2
"""The deepest heading level that divides a summary; deeper ones mostly name a topic."""
_SHORT: Final = 2
"""Maximum words of a deeper heading that divides a section: "In Progress"."""

_TAGGED: Final = re.compile(r"<(read-files|modified-files)>.*?(?:</\1>|\Z)", re.DOTALL)
_HEADING: Final = re.compile(r" {0,3}(?P<level>#{1,6})\s+(?P<title>.*\S)|\d\. (?P<numbered>[A-Z][A-Za-z ]*):")
_MARK: Final = re.compile(r"\s*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?(?:\[[ xX]\]\s+)?")
_TURN: Final = "**Turn Context (split turn):**"
_NOTHING: Final = re.compile(r"[\s|:*_=-]*|none\.?|No prior history\.", re.IGNORECASE)
_LEADS: Final = re.compile(r".*:(?:\*\*)?")
"""A note that only introduces the lines after it."""
_COMMAND: Final = re.compile(rf"`.+`: (?:{OK}|{FAILED})")
_LISTED: Final = {FILES: FactKind.FILE, NAMES: FactKind.NAME}

_HEADINGS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), sort)
    for pattern, sort in (
        (r"\b(?:constraint|preference|instruction|requirement|rule)s?\b", FactKind.RULE),
        (r"\b(?:next|pending|remaining|to ?do)\b", FactKind.PLAN),
        (r"\b(?:goal|objective|intent|original request)\b", FactKind.GOAL),
        (r"\buser messages\b", FactKind.REQUEST),
        (r"\b(?:decision|discover|decided)", FactKind.DECISION),
        (r"\b(?:in progress|current|active)\b", FactKind.DOING),
        (r"\b(?:done|complete|accomplish|progress)", FactKind.DONE),
        (r"\bblock", FactKind.FAILING),
        (r"\b(?:context|notes|concepts|files|errors|problem)\b", FactKind.NOTE),
    )
)
"""The kind of lines under a heading, by its words: templates differ, and models vary them."""


def parse_summaries(summaries: Iterable[str]) -> EarlierFacts:
    """Return the facts in summaries, without fenced code, file tags and empty sections."""
    found: EarlierFacts = {sort: [] for sort in FactKind}
    for summary in summaries:
        lines = list(_lines(_TAGGED.sub("", summary)))
        root = next(filter(None, (parse_root(line) for _, line in lines)), "")
        for place, line in lines:
            for sort, text in _facts_in_line(place, line):
                found[sort].append(
                    strip_root(text, root) if sort in (FactKind.CHANGED, FactKind.FILE) else text
                )
    return found


def is_summary(text: str) -> bool:
    """Return True if a text has a heading that is typical of summaries."""
    headings = (_HEADING.fullmatch(line) for line in unfenced(text))
    return any(heading and heading["level"] and _sort_of(heading["title"]) for heading in headings)


def _facts_in_line(place: FactKind, line: str) -> Iterator[tuple[FactKind, str]]:
    """Yield the facts of a line: by its heading, or by its form if refold wrote it."""
    head, _, rest = line.partition(": ")
    if head in _LISTED or (paths := split_list(line)):
        things = rest.split(", ") if head in _LISTED else paths
        for thing in things:
            is_changed = thing.endswith(CHANGED)
            yield (
                FactKind.CHANGED if is_changed else _LISTED.get(head, FactKind.FILE),
                thing.removesuffix(CHANGED),
            )
    elif _COMMAND.fullmatch(line):
        yield FactKind.COMMAND, line
    elif line.startswith(QUESTION):
        yield FactKind.QUESTION, line
    elif place is FactKind.NOTE and any(
        mention.kind is MentionKind.ERROR for mention in mentions(strip_count(line)[0])
    ):
        yield FactKind.ERROR, line
    elif not parse_root(line) and not (place is FactKind.NOTE and _LEADS.fullmatch(line)):
        yield place, one_line(line, _MAX_LENGTH)


def _lines(summary: str) -> Iterator[tuple[FactKind, str]]:
    """Yield each line without its mark, and its kind.

    The first line under an unknown heading starts with that heading.
    """
    place, title = FactKind.NOTE, ""
    for line in unfenced(summary):
        if line == _TURN:
            # Requests are quoted before the first heading.
            place, title = FactKind.REQUEST, ""
            continue
        heading = _HEADING.fullmatch(line)
        if heading:
            name = heading["title"] or heading["numbered"]
            known = _sort_of(name)
            if len(heading["level"] or "") <= _SECTION or (known and len(name.split()) <= _SHORT):
                place, title = known or FactKind.NOTE, "" if known else f"{name}: "
                continue
        text = one_line(_MARK.sub("", heading["title"] if heading else line, count=1).strip("| \t"))
        if not _NOTHING.fullmatch(text):
            yield place, title + text
            title = ""


def _sort_of(heading: str) -> FactKind | None:
    return next((sort for pattern, sort in _HEADINGS if pattern.search(heading)), None)
