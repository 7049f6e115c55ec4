"""Make summaries without a model: a template's sections, filled from the log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from threading import Lock
from typing import Final

import msgspec

from compaction.prompts import Prompt, escape_tags
from compaction.summarizers import Answer, Cancellation, UnsupportedTemplateError
from compaction.summarizers.facts import Fact, FactKind, Facts, collect_facts, mentioned_names
from compaction.summarizers.facts.lines import one_line
from compaction.templates import Template, headings, load_built_in
from eventstore.javascript import utf8_length
from projections.mentions.message_facts import SessionFacts
from projections.mentions.path_names import PathIndex

_FILE_TAG: Final = re.compile(r"<(?=/?(?:read|modified)-files>)")
_HALF_A_PAIR: Final = re.compile("[\ud800-\udfff]")


class FactQueue(msgspec.Struct, frozen=True):
    """Facts, most important first, with their heading, list mark and share of the room."""

    heading: str
    mark: str
    share: int
    lines: Sequence[Fact]


_Place = tuple[int, bool, bool, int, str]
"""A line's place under its heading: by queue, lists after lines, those without folder last."""


class FactSelection:
    """Select lines by heading; say nothing twice."""

    def __init__(self, paths: PathIndex) -> None:
        self._paths = paths
        self._queues = 0
        self._listed: set[str] = set()
        self._lines: dict[str, dict[_Place, list[str]]] = {}
        self._lists: dict[str, dict[str, _Place]] = {}
        self._heads = ""

    def take(self, queues: Sequence[FactQueue], room: int) -> int:
        """Select lines while any fits; return the room left, in bytes of UTF-8.

        The next line always comes from the queue that has used least of its share. Skip lines that do not fit
        or repeat what is selected.
        """
        waiting = {place: iter(queue.lines) for place, queue in enumerate(queues)}
        had = dict.fromkeys(waiting, 0.0)
        while waiting:
            place = min(waiting, key=had.__getitem__)
            line = next(waiting[place], None)
            if line is None:
                del waiting[place]
            elif len(line.text) < room and not self._is_listed(line):
                size = self._write(queues[place], self._queues + place, line, room)
                had[place] += size / queues[place].share
                room -= size
        self._queues += len(queues)
        return room

    def written(self, heading: str) -> list[str]:
        """Return the selected lines under a heading."""
        return ["".join(parts) for _, parts in sorted(self._lines.get(heading, {}).items())]

    def _is_listed(self, line: Fact) -> bool:
        return not self._listed.isdisjoint(_keys(line)) or self._is_folder_of_listed(line.thing)

    def _is_folder_of_listed(self, thing: str) -> bool:
        may_be = bool(thing) and "." not in thing.rpartition("/")[2]
        return may_be and f"/{thing.strip('/')}/" in self._heads

    def _write(self, queue: FactQueue, place: int, line: Fact, room: int) -> int:
        """Add a line if it fits; return the bytes that it takes, 0 if it does not."""
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
        self._listed.update(_keys(line))
        if not line.thing:
            self._listed |= mentioned_names(line.text, self._paths)
        return size


def _keys(line: Fact) -> tuple[str, ...]:
    """Return the keys that identify a line: what it names, and its own text."""
    return (line.thing, f"{line.head}\n{line.text}") if line.thing else (line.head + line.text.casefold(),)


def escape_line(text: str) -> str:
    """Escape tags of prompts and records in a text, and replace lone surrogates."""
    return _HALF_A_PAIR.sub("\ufffd", _FILE_TAG.sub("&lt;", escape_tags(text)))


NONE: Final = "none"
"""The text of an empty section."""
MAX_TOKENS: Final = 4_000
"""The maximum number of tokens of a summary."""
_BYTES_A_TOKEN: Final = 3
"""Low enough that a summary stays within its budget by any counter."""
_MIN_BYTES: Final = 1_500
"""Bytes that a summary may always have, if the prompt allows it."""

_SHORT: Final = "short"
"""The template whose answer is a few sentences without sections."""
_QUOTED: Final = 240
"""Maximum characters of a quotation in the short summary."""
_ENDS: Final = (".", "!", "?", "…")
_PARTS: Final = {"Progress": ("Done", "In Progress", "Blocked")}
"""Sections with subsections."""


class _Row(msgspec.Struct, frozen=True):
    """The place of a kind of facts: the first of `headings` that a template has; mark and share."""

    kind: FactKind
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
"""The person's requests and rules, which go first as far as there is room."""
_REPORTED: Final = (
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
"""In the order of lines under one heading. Unused shares go to the others."""
_ELSEWHERE: Final = "Critical Context"
"""The section for lines that fit no section of the template, added if needed."""
_KNOWN: Final = frozenset(
    heading.casefold() for row in (*_WANTED, *_REPORTED) for heading in row.headings
) | frozenset(part.casefold() for part in _PARTS)
_INSTRUCTIONS: Final = "instructions"
"""The source of a prompt that replaces a template and asks for no sections."""


class ExtractiveSummarizer:
    """Fill the sections of a prompt's template with facts from the messages.

    Goals are requests, constraints are sentences that order, forbid or prefer, progress is how turns ended.
    Files, commands with their outcome, and errors come from tool calls. The person's requests go first, then
    what is newest and mentioned most. An earlier summary is carried over. The same prompt always has the same
    answer, of at most `most` tokens, fewer if the prompt allows fewer; headings are always included.
    Templates without any section that it can fill are refused. `facts` are those of a session, for many summaries
    of its messages: each message is then read once.
    """

    name = "extractive"
    is_local = True

    def __init__(self, *, most: int = MAX_TOKENS, facts: SessionFacts | None = None) -> None:
        self.most = most
        self._facts, self._lock = facts, Lock() if facts else nullcontext()

    @property
    def identity(self) -> tuple[object, ...]:
        """The name and the longest answer."""
        return self.name, self.most

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        """Return the summary. Raises UnsupportedTemplateError, CancelledError."""
        sections = self._sections(prompt.template)
        with self._lock:
            found = collect_facts(prompt.parts, prompt.previous, is_cancelled=is_cancelled, facts=self._facts)
        room = min(prompt.max_tokens, self.most) * _BYTES_A_TOKEN
        text = _filled(sections, found, room) if sections else _in_short(found, room)
        return Answer(text=text, model=self.name)

    def _sections(self, template: Template) -> Sequence[str]:
        """Return a template's sections, else the headings in its text; () for a short summary."""
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
    """Return the sections for a prompt that is a person's own instructions."""
    template = load_built_in("compaction")
    return template.sections if template else ()


def _in_short(found: Facts, room: int) -> str:
    """Write two or three sentences: the request, the amount of work, the present state."""
    goal, *_ = [*found.lines[FactKind.GOAL], Fact("nothing")]
    stands, *_ = [*found.lines[FactKind.DOING], *found.lines[FactKind.DONE], Fact("")]
    changed, run = len(found.lines[FactKind.CHANGED]), len(found.lines[FactKind.COMMAND])
    sentences = [f"Asked for: {_quoted(goal)}"]
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
        return FactQueue(heading, row.mark, row.share, found.lines[row.kind])

    selection = FactSelection(found.paths)
    room = min(room, _most(found, len(parts))) - utf8_length(_laid_out(sections, selection))
    if _ELSEWHERE not in sections and any(queue(row).heading == _ELSEWHERE for row in (*_WANTED, *_REPORTED)):
        room -= len(f"\n\n## {_ELSEWHERE}")
    for row in _WANTED:
        room = selection.take([queue(row)], room)
    # Apart from the person's requests, facts get a quarter of the messages' length.
    selection.take(
        [queue(row) for row in _REPORTED], min(room, max(found.before + found.size // 4, _MIN_BYTES))
    )
    return _laid_out(sections, selection)


def _most(found: Facts, headings: int) -> int:
    """Return the size in bytes up to which a summary saves something.

    It replaces an earlier summary and the messages. "none" under a heading gives way to the first line.
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
