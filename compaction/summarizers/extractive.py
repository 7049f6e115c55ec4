"""Make summaries without a model: quote messages, files, commands and errors of the log.

A summary consists of blocks: a label, then quotations `> …` or a list `- …`. The next summary finds them by their
labels, and carries them on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import chain, zip_longest
from typing import Any, Final, NamedTuple

import msgspec

from compaction.file_tags import with_file_tags
from compaction.prompts import Prompt, escape_tags
from compaction.summarizers import Answer, Cancellation, CancelledError
from compaction.templates import HANDOFF, Template, headings, load_built_in
from eventstore.harnesses import format_of
from eventstore.harnesses.base import Tools
from eventstore.javascript import utf8_length
from eventstore.node import NO_HISTORY, REQUESTS, SPLIT_TURN
from eventstore.records import FileOperations
from eventstore.views import Message, ToolCall, call_indexes
from projections.context.parts import Fate, Part, view_of_part
from projections.files import files_of_call
from projections.person_text import text_by_person

NOTHING: Final = "Nothing is quoted here."
"""The text of a section without quotations: it says nothing about the session."""
MAX_TOKENS: Final = 4_000
"""The maximum number of tokens of a summary."""
_BYTES_A_TOKEN: Final = 3
"""Low enough that a summary stays within its budget by any counter."""
_MIN_BYTES: Final = 1_500
"""Bytes that a summary may always have, if the prompt allows it."""


class Kind(StrEnum):
    """A kind of quotation, by the label of its block."""

    MESSAGES = "First and newest messages, in order:"
    MODIFIED = "Files modified:"
    COMMANDS = "Commands, with the outcome of their call:"
    ERRORS = "Errors, the last line of their result:"
    READ = "Files read:"
    EARLIER = "Of the summary before:"


_FILES: Final = ("Relevant files", "Relevant Files", "Files and Code Sections")
_CONTEXT: Final = ("Critical Context", "Context for Suffix", "Important Details")
_PLACES: Final[Mapping[Kind, tuple[int, tuple[str, ...]]]] = {
    Kind.MESSAGES: (25, ("All User Messages", "Goal", "Objective", "Original Request")),
    Kind.MODIFIED: (15, (*_FILES, "Progress", "Early Progress")),
    Kind.COMMANDS: (20, ("Progress", "Early Progress", "Accomplished", "Work State", "Problem Solving")),
    Kind.ERRORS: (15, ("Errors and Fixes", *_CONTEXT, "Discoveries", "Progress")),
    Kind.READ: (15, (*_FILES, *_CONTEXT, "Progress")),
    Kind.EARLIER: (20, (*_CONTEXT, "Discoveries", "Problem Solving", "Progress")),
}
"""The share of the room, and the section: the first of these that a template has.

Unused shares go to the others.
"""
_ELSEWHERE: Final = "Critical Context"
"""The section for blocks that have no place in the template, added if needed."""
_QUOTATIONS: Final = (Kind.MESSAGES, Kind.EARLIER)
_PATHS: Final = (Kind.MODIFIED, Kind.READ)

_SHORT: Final = "short"
"""The template whose answer is a few sentences without sections."""
_INSTRUCTIONS: Final = "instructions"
"""The source of a prompt that replaces a template and asks for no sections."""
_WHOLE: Final = 1_000
"""Bytes of a message that are quoted if there is room, however small the budget."""
_LONGEST_LINE: Final = 300
"""Characters of a command or an error."""
_LONGEST_IN_SHORT: Final = 240
"""Bytes of the message in a short summary."""
_NAMES_A_LINE: Final = 20
"""File names after their folder."""


class Quotation(NamedTuple):
    """A text, and the number of characters that were cut from its end."""

    text: str
    cut: int = 0


class Quotable(msgspec.Struct):
    """The candidates for quotation: messages oldest first, lists newest first.

    `commands` maps each to its outcome. `unquoted` counts messages that an earlier summary did not quote. `size` is
    the size of the messages in bytes of UTF-8, `before` that of the earlier summaries.
    """

    messages: list[Quotation] = []
    unquoted: int = 0
    earlier: list[Quotation] = []
    commands: dict[str, str] = {}
    lists: dict[Kind, list[str]] = {}
    size: int = 0
    before: int = 0


class _Read(NamedTuple):
    """A message, and the tools of its harness."""

    view: Message
    tools: Tools


class ExtractiveSummarizer:
    """Fill a template's sections with quotations from the log.

    Quote a person's first and newest messages, list the files that calls read and modified, commands with their
    recorded outcome, and what failed results say. Nothing is classified or guessed: a section without quotations
    says so. What an earlier summary quoted is carried on. The same prompt always has the same answer, of at most
    `most` tokens, fewer if the prompt allows fewer; headings are always included.
    """

    name = "extractive"
    is_local = True

    def __init__(self, *, most: int = MAX_TOKENS) -> None:
        self.most = most

    @property
    def identity(self) -> tuple[object, ...]:
        """The name and the longest answer."""
        return self.name, self.most

    def summarize(self, prompt: Prompt, *, is_cancelled: Cancellation) -> Answer:
        """Return the summary. Raises CancelledError."""
        found = find_quotable(prompt, is_cancelled)
        room = min(prompt.max_tokens, self.most) * _BYTES_A_TOKEN
        sections = _sections(prompt.template)
        is_short = prompt.template.name == _SHORT and not sections
        text = _in_short(found, room) if is_short else _filled(sections, found, room)
        return Answer(text=text, model=self.name)


def _sections(template: Template) -> Sequence[str]:
    """Return a template's sections, else the headings in its text."""
    if template.source == _INSTRUCTIONS:
        template = load_built_in("compaction") or template
    return template.sections or headings(template.text)


def find_quotable(prompt: Prompt, is_cancelled: Cancellation) -> Quotable:
    """Read a prompt's messages, and the summaries before them. Raises CancelledError."""
    summaries = [prompt.previous]
    messages: list[_Read] = []
    said: list[Quotation] = []
    size = 0
    for part in prompt.parts:
        if is_cancelled():
            raise CancelledError
        view = view_of_part(part)
        if _is_summary(part, view):
            summaries += [view.text] if view.text not in prompt.previous else []
            continue
        messages.append(_Read(view, format_of(part.format).tools))
        text = _clean(text_by_person(view, by_person=part.by_person))
        said += [Quotation(text)] if text else []
        size += 4 * part.utf16
    before = parse_summaries(summaries)
    commands = _commands(messages)
    files = [files_of_call(call, tools) for view, tools in reversed(messages) for call in view.tool_calls]
    lists = {
        Kind.ERRORS: [error for view, _ in reversed(messages) if (error := _error(view))],
        Kind.MODIFIED: [path for _, modified in files for path in modified],
        Kind.READ: [path for read, _ in files for path in read],
    }
    return Quotable(
        messages=[*before.messages, *said],
        unquoted=before.unquoted,
        earlier=before.earlier,
        commands={each: (before.commands | commands)[each] for each in _merged(commands, before.commands)},
        lists={kind: _merged(map(_line, new), before.lists.get(kind, ())) for kind, new in lists.items()},
        size=size,
        before=sum(map(utf8_length, summaries)),
    )


def _is_summary(part: Part, view: Message) -> bool:
    """Return True if a message is a summary of any harness, or the document of a handoff."""
    is_handoff = view.extension is not None and view.extension.type == HANDOFF
    # Of what takes the place of compacted messages, instructions (`custom`) are no summary.
    is_sent_as_one = part.fate is Fate.SUMMARY and view.role in ("user", "assistant")
    return is_handoff or is_sent_as_one or view.role in ("compactionSummary", "branchSummary")


def _error(view: Message) -> str:
    """Return the last line of a failed result or shell command that has a text, "" for none."""
    if view.is_refused or not (view.is_error or (view.shell and view.shell.exit_code)):
        return ""
    text = view.shell.output if view.shell else view.text
    lines = (line for line in reversed(text.splitlines()) if line.strip())
    return _shortened_line(next(lines, ""))


def _merged(new: Iterable[str], before: Iterable[str]) -> list[str]:
    """Return distinct texts, alternately new ones and those of the summary before."""
    new = list(dict.fromkeys(new))
    older = _without(dict.fromkeys(before), new)
    return [each for pair in zip_longest(new, older) for each in pair if each]


def _commands(messages: Sequence[_Read]) -> dict[str, str]:
    """Return the commands of calls and of the person, newest first, with their last outcome."""
    results = {
        (caller, messages[result].view.tool_call_id): messages[result].view
        for result, caller in call_indexes([view for view, _ in messages]).items()
    }
    found: dict[str, str] = {}
    for place, (view, tools) in enumerate(messages):
        ran = [(_script(call, tools), _outcome(results.get((place, call.id)))) for call in view.tool_calls]
        if view.shell and view.role == "bashExecution" and not view.shell.excluded:
            ran.append((view.shell.command, "failed" if view.shell.exit_code else "ok"))
        for script, outcome in ran:
            if line := _shortened_line(script):
                found.pop(line, None)
                found[line] = outcome
    return dict(reversed(found.items()))


def _script(call: ToolCall, tools: Tools) -> str:
    """Return what a call gives to a shell, "" for other tools.

    It is a text, or a list of words that may begin with `bash -lc`.
    """
    given: Any = call.decoded if isinstance(call.decoded, dict) else {}
    script = next((given[name] for name in tools.shells.get(call.name, ()) if name in given), "")
    if not isinstance(script, list):
        return script if isinstance(script, str) else ""
    words = [word for word in script if isinstance(word, str)]
    match words:
        case [_, option, wrapped, *_] if option.startswith("-") and option.endswith("c"):
            return wrapped
        case _:
            return " ".join(words)


def _shortened_line(text: str) -> str:
    line = _line(text)
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"


def _outcome(result: Message | None) -> str:
    if result is None:
        return "no result"
    if result.is_refused:
        return "refused"
    return "failed" if result.is_error else "ok"


_NUMBER: Final = r"(\d{1,3}(?:,\d{3}){0,2})"
_BLOCK: Final = re.compile(
    rf"^(?P<kind>{'|'.join(map(re.escape, Kind))})\n(?P<body>(?:(?:> |- |\[).*(?:\n|\Z)|\n(?=> |\[\d))*)",
    re.MULTILINE,
)
_QUOTATION: Final = re.compile(rf"((?:^> .*(?:\n|\Z))+)(?:^\[{_NUMBER} more characters\])?", re.MULTILINE)
_UNQUOTED: Final = re.compile(rf"^\[{_NUMBER} other messages?\]", re.MULTILINE)
_COMMAND: Final = re.compile(r"- `(.*)`: (.*)")
_LISTED: Final = re.compile(r"- (?P<folder>\S*/): (?P<names>[^\s,]+(?:, [^\s,]+)*)")
_UNLISTED: Final = re.compile(r"[\s,]")
"""Characters that keep a path out of lists by folder, so that those can be parsed again."""
_HALF_A_PAIR: Final = re.compile("[\ud800-\udfff]")
_HEADINGS: Final = re.compile("|".join(re.escape(each.rstrip()) for each in (SPLIT_TURN, REQUESTS)))
_FILE_TAG: Final = re.compile(r"<(?=/?(?:read|modified)-files>)")


def parse_summaries(summaries: Iterable[str]) -> Quotable:
    """Return what earlier summaries quote, and all else in them as quotations of their own."""
    found = Quotable(lists={kind: [] for kind in Kind})
    for summary in chain.from_iterable(map(_HEADINGS.split, summaries)):
        text = with_file_tags(summary, FileOperations())
        for block in _BLOCK.finditer(text):
            _parse_block(Kind(block["kind"]), block["body"], found)
        rest = _clean("".join(_sections_with_text(_BLOCK.sub("", text).replace(NOTHING, ""))))
        found.earlier += [Quotation(rest)] if rest not in ("", NO_HISTORY) else []
    return found


def _parse_block(kind: Kind, body: str, found: Quotable) -> None:
    if kind in _QUOTATIONS:
        quotations = found.messages if kind is Kind.MESSAGES else found.earlier
        for lines, cut in _QUOTATION.findall(body):
            marked = lines.removesuffix("\n").splitlines(keepends=True)
            text = "".join(line.removeprefix("> ") for line in marked)
            quotations.append(Quotation(text, _number(cut or "0")))
        found.unquoted += sum(map(_number, _UNQUOTED.findall(body)))
        return
    for line in body.splitlines():
        if kind is Kind.COMMANDS and (command := _COMMAND.fullmatch(line)):
            found.commands[command[1]] = command[2]
        elif kind in _PATHS and (listed := _LISTED.fullmatch(line)):
            found.lists[kind] += [listed["folder"] + name for name in listed["names"].split(", ")]
        else:
            found.lists[kind].append(line.removeprefix("- "))


def _number(digits: str) -> int:
    return int(digits.replace(",", ""))


def _sections_with_text(text: str) -> Iterator[str]:
    """Yield the sections of a text that are more than their heading."""
    for section in re.split("^(?=## )", text, flags=re.MULTILINE):
        if not section.startswith("## ") or section.partition("\n")[2].strip():
            yield section


def _clean(text: str) -> str:
    """Escape tags of prompts and records in a text, and replace lone surrogates."""
    return _HALF_A_PAIR.sub("\ufffd", _FILE_TAG.sub("&lt;", escape_tags(text))).strip()


def _line(text: str) -> str:
    return _clean(" ".join(text.split()))


def _in_short(found: Quotable, room: int) -> str:
    """Write two sentences: the newest message, and the number of files and commands."""
    modified, ran = len(found.lists[Kind.MODIFIED]), len(found.commands)
    counts = f"Files modified: {modified}, commands: {ran}."
    newest = _line(found.messages[-1].text) if found.messages else ""
    quoted = _shortened(Quotation(newest), min(room - len(counts), _LONGEST_IN_SHORT)).text
    return f'Newest message: "{quoted}{"" if quoted == newest else "…"}" {counts}' if quoted else counts


def _filled(sections: Sequence[str], found: Quotable, room: int) -> str:
    # It replaces the earlier summary and the messages, and has to be shorter.
    room = min(room, max(found.before + found.size // 2, _MIN_BYTES))
    places = {kind: _place(kind, sections) for kind in Kind}
    added = [] if not sections or _ELSEWHERE in sections else list({_ELSEWHERE} & {*places.values()})
    room -= utf8_length(_laid_out([*sections, *added], {}))
    blocks: dict[str, list[str]] = {}
    for kind, lines in _chosen(_candidates(found, room), room).items():
        blocks.setdefault(places[kind], []).append(_block(kind, lines, found))
    if not sections:
        return "\n\n".join(blocks.get(_ELSEWHERE, [NOTHING]))
    return _laid_out([*sections, *filter(blocks.__contains__, added)], blocks)


def _place(kind: Kind, sections: Sequence[str]) -> str:
    """Return the section for a kind of quotation."""
    names = {section.casefold(): section for section in sections}
    _, wanted = _PLACES[kind]
    return next((names[each.casefold()] for each in wanted if each.casefold() in names), _ELSEWHERE)


_Lines = list[tuple[int, str]]
"""Texts with their place in a block."""


def _candidates(found: Quotable, room: int) -> dict[Kind, _Lines]:
    """Return the lines of each block, most important first."""
    modified = found.lists[Kind.MODIFIED]
    lines = {
        Kind.MODIFIED: _by_folder(modified),
        Kind.COMMANDS: [f"- `{command}`: {outcome}" for command, outcome in found.commands.items()],
        Kind.ERRORS: [f"- {error}" for error in found.lists[Kind.ERRORS]],
        Kind.READ: _by_folder(_without(found.lists[Kind.READ], modified)),
    }
    return {
        Kind.MESSAGES: _quoted(found.messages, min(max(room // 8, _WHOLE), room // 2)),
        **{kind: list(enumerate(each)) for kind, each in lines.items()},
        Kind.EARLIER: _quoted(found.earlier, room // 4),
    }


def _without(paths: Iterable[str], others: Iterable[str]) -> list[str]:
    others = set(others)
    return [path for path in paths if path not in others]


def _by_folder(paths: Iterable[str]) -> list[str]:
    """Return lines of paths, those of a folder together: `- src/core/: a.ts, b.ts`."""
    folders: dict[str, list[str]] = {}
    for path in paths:
        folder, slash, name = path.rpartition("/")
        is_listed = slash and name and not _UNLISTED.search(path)
        folders.setdefault(folder + slash if is_listed else path, []).extend([name] if is_listed else [])
    return [
        f"- {folder}" + (f": {', '.join(names[start : start + _NAMES_A_LINE])}" if names else "")
        for folder, names in folders.items()
        for start in range(0, len(names) or 1, _NAMES_A_LINE)
    ]


def _quoted(quotations: Sequence[Quotation], most: int) -> _Lines:
    """Return quotations of at most so many bytes: the first, then from the newest back."""
    texts = list(enumerate(_quotation(_shortened(each, most)) for each in quotations))
    return [*texts[:1], *reversed(texts[1:])]


def _shortened(quotation: Quotation, most: int) -> Quotation:
    """Return the beginning of a quotation that has at most so many bytes of UTF-8."""
    text = quotation.text.encode()[: max(most, 0)].decode(errors="ignore")
    if len(text) == len(quotation.text):
        return quotation
    return Quotation(text.rstrip(), quotation.cut + len(quotation.text) - len(text.rstrip()))


def _quotation(quotation: Quotation) -> str:
    lines = "".join(f"> {line}" for line in quotation.text.splitlines(keepends=True))
    return lines + (f"\n[{quotation.cut:,} more characters]" if quotation.cut else "")


def _chosen(candidates: Mapping[Kind, _Lines], room: int) -> dict[Kind, _Lines]:
    """Choose lines while any fits, always of the kind that has used least of its share."""
    waiting = {kind: iter(lines) for kind, lines in candidates.items()}
    used = dict.fromkeys(waiting, 0.0)
    chosen: dict[Kind, _Lines] = {}
    while waiting:
        kind = min(waiting, key=used.__getitem__)
        line = next(waiting[kind], None)
        if line is None:
            del waiting[kind]
            continue
        size = utf8_length(line[1]) + len("\n\n") + (0 if kind in chosen else _frame(kind))
        if size <= room:
            chosen.setdefault(kind, []).append(line)
            used[kind] += size / _PLACES[kind][0]
            room -= size
    return chosen


def _frame(kind: Kind) -> int:
    """Return the bytes of a block without its lines."""
    return len(f"{kind}\n\n") + (len("\n\n[9,999,999,999 other messages]") if kind is Kind.MESSAGES else 0)


def _block(kind: Kind, lines: _Lines, found: Quotable) -> str:
    texts = [text for _, text in sorted(lines)]
    if kind not in _QUOTATIONS:
        return "\n".join([kind, *texts])
    others = found.unquoted + len(found.messages) - len(lines) if kind is Kind.MESSAGES else 0
    text = f"{kind}\n" + "\n\n".join(texts)
    return f"{text}\n\n[{others:,} other message{'s' if others > 1 else ''}]" if others else text


def _laid_out(sections: Iterable[str], blocks: Mapping[str, Sequence[str]]) -> str:
    texts = ((section, "\n\n".join(blocks.get(section, ())) or NOTHING) for section in sections)
    return "\n\n".join(f"## {section}\n{text}" for section, text in texts)
