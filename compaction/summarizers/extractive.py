"""Summaries without a model: a template's sections, filled from the log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Final

from compaction.prompts import Prompt
from compaction.summarizers.gleaning import Gleaned, gleaned
from compaction.summarizers.summarizer import Answer, Cancellation

NONE: Final = "none"
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
        wanted = {section: _lines(section, found) for section in sections}
        chosen = _fitting(
            {section: _merged(before.get(section, []), lines) for section, lines in wanted.items()},
            budget - sum(len(section) + len(NONE) + 6 for section in sections),
        )
        text = "\n\n".join(f"## {section}\n" + "\n".join(chosen[section] or [NONE]) for section in sections)
        return Answer(text=text, model=self.name)


def _lines(section: str, found: Gleaned) -> list[str]:
    """What a section says, the most telling line first."""
    return _FILLED_BY.get(section, _evidence)(found)


def _requests(found: Gleaned) -> list[str]:
    return [f"- {request}" for request in found.requests]


def _goals(found: Gleaned) -> list[str]:
    return _requests(found)[:_FEW]


def _rules(found: Gleaned) -> list[str]:
    return [f"- {rule}" for rule in found.rules]


def _progress(found: Gleaned) -> list[str]:
    changed = [f"- [x] changed {path}" for path in found.changed]
    return _in_turn([f"- [ ] {words}" for words in found.last_words], changed)


def _decisions(found: Gleaned) -> list[str]:
    return [f"- {decision}" for decision in found.decisions[: 2 * _FEW]]


def _plans(found: Gleaned) -> list[str]:
    return [f"- {plan}" for plan in found.plans] or _requests(found)[:1]


def _errors(found: Gleaned) -> list[str]:
    return [f"- {error}" for error in found.errors]


def _evidence(found: Gleaned) -> list[str]:
    commands = [f"- {command}" for command in found.commands]
    # Paths are short and many: three for each command and each error.
    files = _files(found)
    return _in_turn(commands, files[::3], files[1::3], files[2::3], _errors(found))


def _files(found: Gleaned) -> list[str]:
    changed = [f"- {path} (changed)" for path in found.changed]
    return [*changed, *(f"- {path}" for path in (*found.read, *found.named))]


_FILLED_BY: Final[dict[str, Callable[[Gleaned], list[str]]]] = {
    **dict.fromkeys(("Goal", "Primary Request and Intent", "Original Request"), _goals),
    **dict.fromkeys(("Constraints & Preferences", "Instructions"), _rules),
    **dict.fromkeys(
        ("Progress", "Accomplished", "Early Progress", "Current Work", "Problem Solving"), _progress
    ),
    **dict.fromkeys(("Key Decisions", "Discoveries"), _decisions),
    **dict.fromkeys(("Next Steps", "Optional Next Step", "Pending Tasks"), _plans),
    **dict.fromkeys(("Files and Code Sections", "Relevant files"), _files),
    "Errors and Fixes": _errors,
    "All User Messages": _requests,
}
"""What fills a section, by its heading in the templates; any other gets what is hard to find again."""


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
