"""Analyze a summary's text: the sections that its template requires, and how it grew."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from eventstore.formats.base import SPLIT_TURN
from eventstore.views import Message, Text
from projections.audit.measure import MetricStruct
from projections.mentions import MentionKind
from projections.mentions.mention_index import MentionIndex
from projections.mentions.message_facts import MessageFacts, message_facts
from projections.mentions.path_names import PathIndex
from projections.mentions.prose import unfenced

_KINDS: Final = (MentionKind.PATH, MentionKind.SYMBOL, MentionKind.IDENTIFIER, MentionKind.URL)


class Growth(MetricStruct, frozen=True):
    """Distinct paths, symbols, identifiers and URLs that a summary names.

    Of the `total`, `carried` were in the previous summary and `fresh` were not; `left_out` counts names of
    the previous summary that are missing from this one.
    """

    total: int
    carried: int
    fresh: int
    left_out: int


def growth(summary: str, previous: str | None) -> Growth:
    """Compare the names in a summary with those in the previous one (None: it is the first)."""
    now, before = _facts_of(summary), _facts_of(previous or "")
    paths = PathIndex((*now.paths, *before.paths))
    things = dict.fromkeys([*_things(now, paths), *_things(before, paths)])
    named, known = MentionIndex([now], paths), MentionIndex([before], paths)
    both = [(named.contains(kind, value), known.contains(kind, value)) for kind, value in things]
    return Growth(
        total=sum(is_named for is_named, _ in both),
        carried=sum(is_named and was for is_named, was in both),
        fresh=sum(is_named and not was for is_named, was in both),
        left_out=sum(was and not is_named for is_named, was in both),
    )


def _facts_of(text: str) -> MessageFacts:
    return message_facts(0, "", Message(role="compactionSummary", blocks=(Text(text),)))


def _things(held: MessageFacts, paths: PathIndex) -> Iterator[tuple[MentionKind, str]]:
    for kind in _KINDS:
        for value in held.mentions.get(kind, ()):
            yield kind, paths.longest_form(value) if kind is MentionKind.PATH else value


class Sections(MetricStruct, frozen=True):
    """A summary's headings, compared with a template: present, missing and duplicated.

    `template` is None if no known template requires any of them; then nothing is missing. `is_recorded`: the
    record names the template and the missing sections, so nothing is guessed.
    """

    template: str | None
    headings: list[str]
    present: list[str]
    missing: list[str]
    duplicated: list[str]
    is_recorded: bool = False

    @property
    def fits(self) -> bool:
        """True if the record names the template, or if at least a third of its sections are present.

        A single common heading is not enough to call the others missing.
        """
        return self.is_recorded or len(self.present) * _FITS >= len(self.present) + len(self.missing)


class Outline(msgspec.Struct, frozen=True):
    """The headings that a template requires, and those that it allows, each as a full line."""

    template: str
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    kind: str = "compaction"

    @property
    def lines(self) -> tuple[str, ...]:
        """All its headings."""
        return self.required + self.optional


_PROGRESS: Final = ("## Progress", "### Done", "### In Progress", "### Blocked")
_BRANCH: Final = (
    "## Goal",
    "## Constraints & Preferences",
    *_PROGRESS,
    "## Key Decisions",
    "## Next Steps",
)
_COMPACTION: Final = (*_BRANCH, "## Critical Context")
_NINE: Final = (
    "Primary Request and Intent",
    "Key Technical Concepts",
    "Files and Code Sections",
    "Errors and Fixes",
    "Problem Solving",
    "All User Messages",
    "Pending Tasks",
    "Current Work",
    "Optional Next Step",
)
_WORK_STATE: Final = ("## Work State", "### Completed", "### Active", "### Blocked")

OUTLINES: Final = (
    Outline("compaction", _COMPACTION, ("## Additional Notes",)),
    Outline("branch", _BRANCH, kind="branch_summary"),
    Outline("turn-prefix", ("## Original Request", "## Early Progress", "## Context for Suffix")),
    Outline(
        "five-sections",
        ("## Goal", "## Instructions", "## Discoveries", "## Accomplished", "## Relevant files"),
    ),
    Outline("nine-sections", tuple(f"## {name}" for name in _NINE)),
    Outline("claude-code", tuple(f"{number}. {name}:" for number, name in enumerate(_NINE, 1))),
    Outline("opencode-goal", (*_COMPACTION, "## Relevant Files")),
    Outline(
        "opencode-objective",
        ("## Objective", "## Important Details", *_WORK_STATE, "## Next Move", "## Relevant Files"),
    ),
    Outline(
        "opencode-decisions",
        (
            *("## Objective", "## Requirements", "## Decisions", *_WORK_STATE),
            *("## Next Move", "## Relevant Files", "## Additional Context"),
        ),
    ),
)
"""Outlines of known templates: pi, oh-my-pi and refold; Claude Code; later ones of opencode."""

_FITS: Final = 3
"""One in this many sections must be present."""
TURN_PREFIX: Final = "turn-prefix"
"""The template that summarizes the beginning of a split turn."""
_TURN: Final = next(outline for outline in OUTLINES if outline.template == TURN_PREFIX)

_MARKDOWN: Final = re.compile(r"#{1,6}\s+\S")
_NUMBERED: Final = re.compile(r"\d\. [A-Z][A-Za-z ]*:")
_MARK: Final = re.compile(r"#+ |\d\. |:$")


def sections(
    summary: str,
    *,
    kind: str = "compaction",
    template: str = "",
    quotes_turn: bool = False,
    missing: Sequence[str] | None = None,
) -> Sections:
    """Compare a summary's headings with the requested `template`, or with the best fit.

    A heading must match a whole line outside of fenced code. Among templates that fit equally well, those for
    this `kind` of event win, then the earlier one. The summary of a split turn has two parts, each with its
    own template; an empty history requires no sections, and neither does a turn beginning that is only quoted
    (`quotes_turn`), as in opencode.

    If the record lists the `missing` sections, nothing is guessed: `template` is the one requested for the
    history, or "" if there was no history.
    """
    history, split, prefix = summary.replace("\r\n", "\n").rpartition(SPLIT_TURN)
    headings = _headings(history if split else prefix)
    found = (
        _sections_of(headings, kind, template)
        if missing is None
        else _compare_with_recorded(headings, template)
    )
    if split and not quotes_turn:
        found = _joined_sections(found, _compare(_headings(prefix), _TURN))
    return (
        found if missing is None else msgspec.structs.replace(found, missing=list(missing), is_recorded=True)
    )


def _joined_sections(history: Sections, turn: Sections) -> Sections:
    return Sections(
        template=" + ".join(filter(None, (history.template, turn.template))),
        headings=history.headings + turn.headings,
        present=history.present + turn.present,
        missing=history.missing + turn.missing,
        duplicated=history.duplicated + turn.duplicated,
    )


def _headings(text: str) -> list[str]:
    return [line for line in unfenced(text) if _MARKDOWN.match(line) or line.casefold() in _KNOWN_NUMBERED]


_KNOWN_NUMBERED: Final = frozenset(
    line.casefold() for outline in OUTLINES for line in outline.lines if _NUMBERED.fullmatch(line)
)


def _sections_of(headings: Sequence[str], kind: str, template: str) -> Sections:
    asked = next((outline for outline in OUTLINES if outline.template == template), None)
    if asked is not None and headings:
        return _compare(headings, asked)
    found = [_compare(headings, outline) for outline in sorted(OUTLINES, key=lambda each: each.kind != kind)]
    best = max(found, key=lambda each: len(each.present))
    if best.present:
        return best
    return Sections(template=None, headings=list(headings), present=[], missing=[], duplicated=[])


def _compare_with_recorded(headings: Sequence[str], template: str) -> Sections:
    """Compare headings with the recorded template.

    If the template is unknown, its sections are the second-level headings.
    """
    if not template:
        return Sections(template=None, headings=list(headings), present=[], missing=[], duplicated=[])
    own = Outline(template, (), tuple(line for line in headings if line.startswith("## ")))
    return _compare(headings, next((outline for outline in OUTLINES if outline.template == template), own))


def _compare(headings: Sequence[str], outline: Outline) -> Sections:
    """Compare the headings of a text with one template."""
    standing = [_comparable(line) for line in headings]
    counts = {line: standing.count(_comparable(line)) for line in outline.lines}
    return Sections(
        template=outline.template,
        headings=list(headings),
        present=[_name(line) for line, count in counts.items() if count],
        missing=[_name(line) for line in outline.required if not counts[line]],
        duplicated=[_name(line) for line, count in counts.items() if count > 1],
    )


def _comparable(line: str) -> str:
    """Return a heading for comparison: Claude Code's numbered headings vary in case."""
    return line if line.startswith("#") else line.casefold()


def _name(line: str) -> str:
    """Return a heading without its Markdown marks or number."""
    return _MARK.sub("", line)
