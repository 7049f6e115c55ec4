"""Summaries without a model: a template's sections, filled from the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from compaction.prompts import Prompt
from compaction.summarizers.gleaning import Gleaned, gleaned
from compaction.summarizers.summarizer import Answer, Cancellation

NONE: Final = "none"
_GOALS: Final = frozenset({"Goal", "Primary Request and Intent", "Original Request"})
_RULES: Final = frozenset({"Constraints & Preferences", "Instructions"})
_PROGRESS: Final = frozenset(
    {"Progress", "Accomplished", "Early Progress", "Current Work", "Problem Solving"}
)
_DECISIONS: Final = frozenset({"Key Decisions", "Discoveries"})
_NEXT: Final = frozenset({"Next Steps", "Optional Next Step", "Pending Tasks"})
_FILES: Final = frozenset({"Files and Code Sections", "Relevant files"})
_ERRORS: Final = frozenset({"Errors and Fixes"})
_USERS: Final = frozenset({"All User Messages"})
_CHARACTERS_A_TOKEN: Final = 3
"""Few enough that a summary stays within its budget by any counter."""
_FEW: Final = 6


class ExtractiveSummarizer:
    """Fills the sections that a prompt's template asks for with what the messages themselves tell.

    Goals are requests, constraints the sentences that order, forbid or prefer; files, commands with their
    outcome and errors come from the calls. A summary before is carried on, line by line. Deterministic, and
    at most `most` tokens long: what is newer and named more often goes in first.
    """

    name = "extractive"

    def __init__(self, *, most: int = 4_000) -> None:
        self.most = most

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        """The summary; raises nothing."""
        del is_cancelled
        found = gleaned(prompt.parts)
        budget = min(prompt.max_tokens, self.most) * _CHARACTERS_A_TOKEN
        sections = prompt.template.sections
        if not sections:
            return Answer(text=_in_short(found)[:budget], model=self.name)
        before = _sections_before(prompt.previous)
        wanted = {
            section: _lines(section, found, is_only=_is_only(section, sections)) for section in sections
        }
        chosen = _fitting(
            {section: _merged(before.get(section, []), lines) for section, lines in wanted.items()},
            budget - sum(len(section) + len(NONE) + 6 for section in sections),
        )
        text = "\n\n".join(f"## {section}\n" + "\n".join(chosen[section] or [NONE]) for section in sections)
        return Answer(text=text, model=self.name)


def _is_only(section: str, sections: Sequence[str]) -> bool:
    """Whether no other section takes files, commands and errors."""
    return not any(
        other in _FILES | _ERRORS or other.startswith("C") for other in sections if other != section
    )


def _lines(section: str, found: Gleaned, *, is_only: bool) -> list[str]:
    """What a section says, the most telling line first."""
    if section in _GOALS:
        return [f"- {request}" for request in found.requests[:_FEW]]
    if section in _RULES:
        return [f"- {rule}" for rule in found.rules]
    if section in _PROGRESS:
        changed = [f"- [x] changed {path}" for path in found.changed]
        last = [f"- [ ] {words}" for words in found.last_words]
        return _in_turn(last, changed, *([_evidence(found)] if is_only else []))
    if section in _DECISIONS:
        return [f"- {decision}" for decision in found.decisions[: 2 * _FEW]]
    if section in _NEXT:
        return [f"- {plan}" for plan in found.plans] or [f"- {request}" for request in found.requests[:1]]
    if section in _FILES:
        return _files(found)
    if section in _ERRORS:
        return [f"- {error}" for error in found.errors]
    if section in _USERS:
        return [f"- {request}" for request in found.requests]
    return _evidence(found)


def _evidence(found: Gleaned) -> list[str]:
    commands = [f"- {command}" for command in found.commands]
    errors = [f"- {error}" for error in found.errors]
    return _in_turn(commands, _files(found), errors)


def _files(found: Gleaned) -> list[str]:
    changed = [f"- {path} (changed)" for path in found.changed]
    return [*changed, *(f"- {path}" for path in (*found.read, *found.named))]


def _in_turn(*lists: list[str]) -> list[str]:
    return [line for lines in zip_longest(*lists) for line in lines if line is not None]


def _in_short(found: Gleaned) -> str:
    asked = found.requests[0] if found.requests else "Nothing was asked."
    files = f" {len(found.changed)} files were changed." if found.changed else ""
    return f"{asked}{files} {' '.join(found.last_words)}".strip()


def _sections_before(summary: str) -> dict[str, list[str]]:
    """The lines of an earlier summary by its sections."""
    found: dict[str, list[str]] = {}
    section = ""
    for line in summary.splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ").strip()
        elif line.strip() and line.strip() != NONE and not line.startswith(("<", "#", "---", "**Turn")):
            found.setdefault(section, []).append(line.rstrip())
    return found


def _merged(before: list[str], lines: list[str]) -> list[str]:
    """New lines and those of the summary before in turn, none twice."""
    return list(dict.fromkeys(_in_turn(lines, before)))


def _fitting(wanted: dict[str, list[str]], room: int) -> dict[str, list[str]]:
    """As many lines as fit, taken from the sections in turn, so that none crowds out another."""
    chosen: dict[str, list[str]] = {section: [] for section in wanted}
    for section, line in _round_robin(wanted):
        if len(line) + 1 <= room:
            chosen[section].append(line)
            room -= len(line) + 1
    return chosen


def _round_robin(wanted: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    longest = max(map(len, wanted.values()), default=0)
    for place in range(longest):
        for section, lines in wanted.items():
            if place < len(lines):
                yield section, lines[place]
