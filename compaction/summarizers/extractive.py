"""Make summaries without a model: a template's sections, filled from the log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from compaction.prompts import Prompt, escape_tags
from compaction.summarizers import Answer, Cancellation, UnsupportedTemplateError
from compaction.summarizers.facts import Fact, FactKind, Facts, collect_facts, mentioned_names
from compaction.summarizers.facts.lines import one_line
from compaction.templates import Template, headings, load_built_in
from eventstore.javascript import utf8_length
from projections.mentions.path_names import PathIndex

_FILE_TAG: Final = re.compile(r"<(?=/?(?:read|modified)-files>)")
_HALF_A_PAIR: Final = re.compile("[\ud800-\udfff]")


class FactQueue(msgspec.Struct, frozen=True):
    """Lines, the most telling first: under which heading they go, behind what mark, and for what share of the room."""

    heading: str
    mark: str
    share: int
    lines: Sequence[Fact]


_Place = tuple[int, bool, bool, int, str]
"""A line's place under its heading: by its queue; lists behind lines, those without a folder last."""


class FactSelection:
    """Lines that were chosen, by the heading that they go under. Nothing is told twice."""

    def __init__(self, paths: PathIndex) -> None:
        self._paths = paths
        self._queues = 0
        self._told: set[str] = set()
        self._lines: dict[str, dict[_Place, list[str]]] = {}
        self._lists: dict[str, dict[str, _Place]] = {}
        self._heads = ""

    def take(self, queues: Sequence[FactQueue], room: int) -> int:
        """Choose lines while there is room for any, in bytes of UTF-8; what room is left.

        The next line is always of the queue that has had least of its share. What does not fit is left out, and
        so is what is told already.
        """
        waiting = {place: iter(queue.lines) for place, queue in enumerate(queues)}
        had = dict.fromkeys(waiting, 0.0)
        while waiting:
            place = min(waiting, key=had.__getitem__)
            line = next(waiting[place], None)
            if line is None:
                del waiting[place]
            elif len(line.text) < room and not self._is_told(line):
                size = self._write(queues[place], self._queues + place, line, room)
                had[place] += size / queues[place].share
                room -= size
        self._queues += len(queues)
        return room

    def written(self, heading: str) -> list[str]:
        """Return the chosen lines that go under a heading."""
        return ["".join(parts) for _, parts in sorted(self._lines.get(heading, {}).items())]

    def _is_told(self, line: Fact) -> bool:
        return not self._told.isdisjoint(_keys(line)) or self._is_folder_of_told(line.thing)

    def _is_folder_of_told(self, thing: str) -> bool:
        may_be = bool(thing) and "." not in thing.rpartition("/")[2]
        return may_be and f"/{thing.strip('/')}/" in self._heads

    def _write(self, queue: FactQueue, place: int, line: Fact, room: int) -> int:
        """Write a line down if there is room for it; the bytes that it takes."""
        lines = self._lines.setdefault(queue.heading, {})
        lists = self._lists.setdefault(queue.heading, {})
        text = escape_line(line.text)
        begun = lists.get(line.head)
        if begun:
            added, at = f", {text}", begun
        elif line.head:
            added, at = (
                f"- {escape_line(line.head)}: {text}",
                (place, True, "/" not in line.head, 0, line.head),
            )
        else:
            added, at = f"{queue.mark}{text}", (place, False, False, line.place, text)
        size = utf8_length(added) + (0 if begun else len("\n"))
        if size > room:
            return 0
        lines.setdefault(at, []).append(added)
        if line.head and not begun:
            lists[line.head] = at
            self._heads += f"\n/{line.head}"
        self._told.update(_keys(line))
        if not line.thing:
            self._told |= mentioned_names(line.text, self._paths)
        return size


def _keys(line: Fact) -> tuple[str, ...]:
    """Return the keys by which a line is recognized: what it names, and its own text."""
    return (line.thing, f"{line.head}\n{line.text}") if line.thing else (line.head + line.text.casefold(),)


def escape_line(text: str) -> str:
    """Return a text in which nothing opens or closes a part of a prompt or a record, and that has UTF-8."""
    return _HALF_A_PAIR.sub("\ufffd", _FILE_TAG.sub("&lt;", escape_tags(text)))


NONE: Final = "none"
"""The text of a section that there is nothing for."""
MAX_TOKENS: Final = 4_000
"""Tokens of the longest summary."""
_BYTES_A_TOKEN: Final = 3
"""Few enough that a summary stays within its budget by any counter."""
_MIN_BYTES: Final = 1_500
"""Bytes that a summary may have in any case, if the prompt allows it."""

_SHORT: Final = "short"
"""The template whose answer has no sections but a few sentences."""
_QUOTED: Final = 240
"""Characters that are quoted there."""
_ENDS: Final = (".", "!", "?", "…")
_PARTS: Final = {"Progress": ("Done", "In Progress", "Blocked")}
"""Sections that have sections of their own."""


class _Row(msgspec.Struct, frozen=True):
    """The place of a sort of lines: the first of these headings that a template has; their mark and share."""

    sort: FactKind
    share: int
    headings: tuple[str, ...]
    mark: str = "- "


_CONTEXT: Final = ("Critical Context", "Context for Suffix")
_WANTED: Final = (
    _Row(FactKind.GOAL, 1, ("Goal", "Primary Request and Intent", "Original Request")),
    _Row(
        FactKind.RULE,
        1,
        ("Constraints & Preferences", "Instructions", "Primary Request and Intent", "Original Request"),
    ),
)
"""The person's wishes, which go before all else as far as there is room."""
_TOLD: Final = (
    _Row(FactKind.REQUEST, 5, ("All User Messages", "Goal", "Original Request")),
    _Row(FactKind.DONE, 7, ("Done", "Accomplished", "Problem Solving", "Early Progress"), "- [x] "),
    _Row(FactKind.CHANGED, 10, ("Relevant files", "Files and Code Sections", "Done", "Early Progress")),
    _Row(FactKind.DOING, 3, ("In Progress", "Current Work", "Accomplished", "Early Progress"), "- [ ] "),
    _Row(FactKind.FAILING, 4, ("Blocked", "Pending Tasks", "Accomplished", *_CONTEXT)),
    _Row(FactKind.DECISION, 3, ("Key Decisions", "Discoveries", "Problem Solving", "Early Progress")),
    _Row(FactKind.PLAN, 4, ("Next Steps", "Optional Next Step", "Accomplished", *_CONTEXT)),
    _Row(FactKind.QUESTION, 3, ("Next Steps", "Pending Tasks", "Accomplished", *_CONTEXT)),
    _Row(FactKind.NOTE, 4, (*_CONTEXT, "Discoveries", "Key Technical Concepts", "Done")),
    _Row(FactKind.COMMAND, 10, (*_CONTEXT, "Problem Solving", "Discoveries", "Done")),
    _Row(FactKind.ERROR, 6, ("Errors and Fixes", *_CONTEXT, "Discoveries", "Blocked")),
    _Row(FactKind.FILE, 27, ("Relevant files", "Files and Code Sections", *_CONTEXT, "Done")),
    _Row(FactKind.NAME, 24, ("Key Technical Concepts", *_CONTEXT, "Discoveries", "Done")),
)
"""In the order in which lines stand under one heading. What a share leaves goes to the others."""
_ELSEWHERE: Final = "Critical Context"
"""The section, added where it is needed, of lines for which a template has none."""
_KNOWN: Final = frozenset(
    heading.casefold() for row in (*_WANTED, *_TOLD) for heading in row.headings
) | frozenset(part.casefold() for part in _PARTS)
_INSTRUCTIONS: Final = "instructions"
"""The source of a prompt that is a person's instructions in place of a template: they ask for no sections."""


class ExtractiveSummarizer:
    """Fills the sections that a prompt's template asks for with what the messages themselves tell.

    Goals are requests, constraints the sentences that order, forbid or prefer, progress is how turns ended;
    files, commands with their outcome and errors come from the calls. What is newest and named most goes in
    first, what the person wants before all else. A summary before is carried on. The same prompt has the same
    answer, of at most `most` tokens, fewer where the prompt allows fewer; headings stand in any case. A template
    without a section that it can fill is refused.
    """

    name = "extractive"

    def __init__(self, *, most: int = MAX_TOKENS) -> None:
        self.most = most

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        """Return the summary. Raises UnsupportedTemplateError, CancelledError."""
        sections = self._sections(prompt.template)
        found = collect_facts(prompt.parts, prompt.previous, is_cancelled=is_cancelled)
        room = min(prompt.max_tokens, self.most) * _BYTES_A_TOKEN
        text = _filled(sections, found, room) if sections else _in_short(found, room)
        return Answer(text=text, model=self.name)

    def _sections(self, template: Template) -> Sequence[str]:
        """Return the sections of a template, else the headings in its text; () for a few sentences."""
        sections = template.sections or headings(template.text)
        if template.source == _INSTRUCTIONS:
            return _default_sections()
        if template.name != _SHORT or sections:
            self._check(template, sections)
        return sections

    def _check(self, template: Template, sections: Sequence[str]) -> None:
        """Raise UnsupportedTemplateError unless one of the sections can be filled."""
        if _KNOWN.isdisjoint(section.casefold() for section in sections):
            raise UnsupportedTemplateError(self.name, template.name, sections)


def _default_sections() -> tuple[str, ...]:
    """Return the sections for a person's own instructions."""
    template = load_built_in("compaction")
    return template.sections if template else ()


def _in_short(found: Facts, room: int) -> str:
    """Two or three sentences: what was asked for, how much was done, how it stands."""
    asked, *_ = [*found.lines[FactKind.GOAL], Fact("nothing")]
    stands, *_ = [*found.lines[FactKind.DOING], *found.lines[FactKind.DONE], Fact("")]
    changed, run = len(found.lines[FactKind.CHANGED]), len(found.lines[FactKind.COMMAND])
    sentences = [f"Asked for: {_quoted(asked)}"]
    sentences += [f"Files changed: {changed}, commands run: {run}."] if changed or run else []
    sentences += [f"It stands at: {_quoted(stands)}"] if stands.text else []
    while len(sentences) > 1 and utf8_length(" ".join(sentences)) > room:
        sentences.pop()
    return " ".join(sentences)


def _quoted(line: Fact) -> str:
    text = escape_line(one_line(line.text, _QUOTED))
    return f'"{text}"' if text.endswith(_ENDS) else f'"{text}."'


def _filled(sections: Sequence[str], found: Facts, room: int) -> str:
    parts = {part.casefold(): part for section in sections for part in _PARTS.get(section, (section,))}

    def queue(row: _Row) -> FactQueue:
        heading = next(
            (parts[each.casefold()] for each in row.headings if each.casefold() in parts), _ELSEWHERE
        )
        return FactQueue(heading, row.mark, row.share, found.lines[row.sort])

    selection = FactSelection(found.paths)
    room = min(room, _most(found, len(parts))) - utf8_length(_laid_out(sections, selection))
    if _ELSEWHERE not in sections and any(queue(row).heading == _ELSEWHERE for row in (*_WANTED, *_TOLD)):
        room -= len(f"\n\n## {_ELSEWHERE}")
    for row in _WANTED:
        room = selection.take([queue(row)], room)
    # Beside what the person wants, messages are told in a quarter of their length.
    selection.take([queue(row) for row in _TOLD], min(room, max(found.before + found.size // 4, _MIN_BYTES)))
    return _laid_out(sections, selection)


def _most(found: Facts, headings: int) -> int:
    """Bytes up to which something is gained by a summary in place of an earlier one and of messages.

    What says under a heading that there is nothing gives way to the first line.
    """
    return max(found.before + headings * len(f"{NONE}\n") + found.size * 3 // 4, _MIN_BYTES)


def _laid_out(sections: Sequence[str], lines: FactSelection) -> str:
    is_needed = _ELSEWHERE not in sections and lines.written(_ELSEWHERE)
    sections = [*sections, _ELSEWHERE] if is_needed else sections
    return "\n\n".join("\n".join(_section(section, lines)) for section in sections)


def _section(section: str, lines: FactSelection) -> Iterator[str]:
    yield f"## {section}"
    if section not in _PARTS:
        yield from lines.written(section) or [NONE]
    for part in _PARTS.get(section, ()):
        yield f"### {part}"
        yield from lines.written(part) or [NONE]
