"""Collect the messages before and behind a boundary for a model: numbered and cut."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Final

import msgspec

from compaction.prompts import escape_tags, wrap_in_tag
from eventstore.harnesses import node_of
from eventstore.log import Snapshot
from eventstore.paths import event, events_of_kinds
from eventstore.paths import path as lazy_path
from projections.audit.gaps import unrecorded_prompt
from projections.audit.readings import BOUNDARIES
from projections.context.build import context_at
from projections.context.cursor import Cursor, path
from projections.context.parts import Part, view_of_part
from projections.person_text import outside_tags
from projections.pieces import Who, pieces_of
from projections.replacement import start_of_change
from projections.rules import rules_at
from projections.rules.base import MEMORY_FILES
from projections.settings import harness_prompt

_LONGEST: Final = {
    Who.PERSON: 8_000,
    Who.HARNESS: 600,
    Who.MODEL: 1_500,
    Who.CALL: 400,
    Who.RESULT: 300,
    Who.ERROR: 600,
    Who.ANSWER: 1_500,
}
"""Characters of a piece that the model is shown."""
_ASKING: Final = frozenset(
    {"AskUserQuestion", "ExitPlanMode", "request_user_input", "question", "plan_exit", "ask"}
)
"""Tools by which a model asks a person: of Claude Code, Codex, opencode, oh-my-pi."""
_SHRINKS: Final = (1, 2, 4, 8)
"""Divisors of those characters, if the pieces do not fit otherwise."""
_OPAQUE: Final = "[Only the model's provider can read this summary.]"


class Said(msgspec.Struct, frozen=True):
    """A piece of a message: its event's number (0: not shown) and id, author and whole text."""

    seq: int
    id: str
    who: Who
    text: str

    @property
    def line(self) -> str:
        """The piece as a model is shown it: no line of it begins like another piece."""
        return self.cut_to(_LONGEST[self.who])

    def cut_to(self, most: int) -> str:
        """Return the line with at most so many characters of the text."""
        shown = cut(self.text, most).replace("\n", "\n  ")
        return f"#{self.seq} {self.who}: {shown}" if self.seq else f"{self.who}: {shown}"


class Material(msgspec.Struct, frozen=True, kw_only=True):
    """The messages around one boundary, and its summaries.

    `boundary` is the id of a compaction or a branch summary and `seq` its number; "" and 0 for the open window, which
    has nothing behind it. `shown` is the context right behind the boundary as texts, with the recorded system prompt.
    `until` is the id of the last event. `is_opaque`: only the model's provider can read the summary. `earlier` are
    pieces from before the previous boundary, which are no longer in the context. `begins_midway`: the session has
    not all that was said before its first event. `lacks_memory`: no record has the memory files that were sent.
    """

    boundary: str
    seq: int
    before: Sequence[Said]
    after: Sequence[Said]
    previous: str
    summary: str
    shown: Sequence[str]
    until: str
    is_opaque: bool = False
    earlier: Sequence[Said] = ()
    begins_midway: bool = False
    lacks_memory: bool = False

    @property
    def text(self) -> str:
        """The conversation as the model reads it."""
        return self._text([each.line for each in self.before], [each.line for each in self.after])

    def texts_within(self, most: int) -> list[str]:
        """Return the conversation as texts of at most `most` characters, one if it fits.

        What is no person's is cut to half and to a quarter first: a reader of a part cannot see what replaced its facts
        later. Each of several texts has a part of what came before, and all that followed, cut to fill a quarter.
        """
        for shrink in _SHRINKS[:3]:
            lines = [_shorter(each, shrink) for each in self.before]
            whole = self._text(lines, [_shorter(each, shrink) for each in self.after])
            if len(whole) <= most:
                return [whole]
        short = msgspec.structs.replace(
            self, previous=cut(self.previous, most // 8), summary=cut(self.summary, most // 8)
        )
        after = lines_within(self.after, most // 4)
        room = most - len(short._text([], after))  # noqa: SLF001  its own class
        lines = [each.line for each in self.before]
        sizes = [len(escape_tags(line)) + 1 for line in lines]
        share = sum(sizes) / max(1, -(-sum(sizes) // (room - max(sizes, default=0))))
        found, filled = list[list[str]]([[]]), 0
        for line, size in zip(lines, sizes, strict=True):
            if filled >= share:
                found.append([])
                filled = 0
            found[-1].append(line)
            filled += size
        return [short._text(each, after) for each in found]  # noqa: SLF001

    def _text(self, before: Sequence[str], after: Sequence[str]) -> str:
        pieces = [wrap_in_tag("previous-summary", self.previous)] if self.previous else []
        pieces.append(wrap_in_tag("conversation", "\n".join(before)))
        if self.boundary:
            pieces.append(wrap_in_tag("summary", self.readable_summary))
            pieces.append(wrap_in_tag("afterwards", "\n".join(after)))
        return "\n\n".join(pieces)

    @property
    def readable_summary(self) -> str:
        """The summary, or a note that nobody but a provider can read it."""
        return _OPAQUE if self.is_opaque else self.summary

    @property
    def digest(self) -> str:
        """SHA-256 of the text, in hexadecimal."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


def materials(snapshot: Snapshot, cursor: Cursor) -> Iterator[Material]:
    """Yield the material of each compaction and branch summary on a path, then the window's."""
    entries = path(snapshot, cursor)
    boundaries = [each for each in entries if each.kind in BOUNDARIES and start_of_change(each, snapshot)]
    ends = [*(entry.parent_seq for entry in boundaries[1:]), cursor.leaf]
    earlier: dict[Said, None] = {}
    root = next(lazy_path(snapshot, cursor.session, cursor.leaf), None)
    rules = rules_at(snapshot, root)
    begins_midway = root is not None and rules.begins_midway(snapshot, root)
    typed, since = typed_beside(snapshot, cursor.session), 0
    for boundary, end in zip(boundaries, ends, strict=False):
        behind = context_at(snapshot, cursor.at_leaf(boundary.seq), readable=True).parts
        known = {part.key for part in behind}
        after = context_at(snapshot, cursor.at_leaf(end), readable=True).parts
        fresh = [part for part in after if part.key not in known]
        before = _sent(snapshot, cursor.at_leaf(start_of_change(boundary, snapshot)))
        shown = context_at(snapshot, cursor.at_leaf(boundary.seq)).parts
        node = node_of(boundary, snapshot)
        is_opaque = node.compaction is not None and bool(node.compaction.native)
        summary = node.summary.summary if node.summary and not is_opaque else ""
        pieces = with_typed(_said(before), typed, since, boundary.seq)
        following = with_typed(_said(fresh), typed, boundary.seq, end)
        yield Material(
            boundary=boundary.id,
            seq=boundary.seq,
            before=pieces,
            after=following,
            previous=_summary_in(before),
            summary=summary,
            shown=[
                *(each.text for each in pieces_in(shown)),
                *filter(None, [summary, harness_prompt(snapshot, cursor.at_leaf(end)).system]),
            ],
            until=_last(snapshot, fresh) or boundary.id,
            is_opaque=is_opaque,
            earlier=[*earlier],
            begins_midway=begins_midway,
            lacks_memory=MEMORY_FILES in unrecorded_prompt(snapshot, cursor.at_leaf(end), rules),
        )
        since = boundary.seq
        earlier |= dict.fromkeys((*pieces, *following))
    if cursor.leaf:
        parts = _sent(snapshot, cursor)
        yield Material(
            boundary="",
            seq=0,
            before=with_typed(_said(parts), typed, since, cursor.leaf),
            after=(),
            previous=_summary_in(parts),
            summary="",
            shown=(),
            until=_last(snapshot, parts),
            earlier=[*earlier],
        )


def _sent(snapshot: Snapshot, cursor: Cursor) -> Sequence[Part]:
    """Return the messages that were sent at a cursor.

    Of a history that only its provider can read, they are those of people which were sent on as they are.
    """
    context = context_at(snapshot, cursor, readable=True)
    if not context.expanded:
        return context.parts
    native = snapshot.locate(cursor.session, context.expanded)
    texts = {view_of_part(part).text for part in context_at(snapshot, cursor).parts}
    return [
        part
        for part in context.parts
        if part.seq > native or (part.by_person and view_of_part(part).text in texts)
    ]


def _last(snapshot: Snapshot, parts: Iterable[Part]) -> str:
    """Return the id of the last event that messages come from, "" for none."""
    events = [each for part in parts for each in part.events]
    if not events:
        return ""
    session, seq = max(events, key=itemgetter(1))
    return event(snapshot, session, seq).id


def _summary_in(parts: Iterable[Part]) -> str:
    return "\n\n".join(view_of_part(part).text for part in parts if part.kind == "compaction")


def _said(parts: Iterable[Part]) -> Iterator[Said]:
    """Yield the pieces of messages, without summaries of compactions."""
    return pieces_in(part for part in parts if part.kind != "compaction")


def typed_beside(snapshot: Snapshot, session: str) -> list[Said]:
    """Return what a person typed while the model worked, from records beside the messages."""
    notes = events_of_kinds(snapshot, session, frozenset({"note"}))
    nodes = ((each, node_of(each)) for each in notes)
    return [
        Said(each.seq, each.id, Who.PERSON, text)
        for each, node in nodes
        if (text := outside_tags(node.typed).strip())
    ]


def with_typed(pieces: Iterable[Said], typed: Iterable[Said], first: int, last: int) -> list[Said]:
    """Return pieces, with what was typed between two events and is in none of them."""
    held = [*pieces]
    texts = "\n".join(each.text for each in held)
    found: list[Said] = []
    new = [each for each in typed if first < each.seq < last and each.text not in texts]
    for each in held:
        while new and new[0].seq < each.seq:
            found.append(new.pop(0))
        found.append(each)
    return [*found, *new]


def pieces_in(parts: Iterable[Part]) -> Iterator[Said]:
    """Yield the pieces of messages that say something."""
    tools: dict[str, str] = {}
    for part in parts:
        message = view_of_part(part)
        tools |= {each.id: each.name for each in message.tool_calls}
        is_answer = (message.tool_name or tools.get(message.tool_call_id)) in _ASKING
        by_person = part.by_person and not part.continues
        for who, text in pieces_of(message, by_person=by_person, is_answer=is_answer):
            if text.strip():
                yield Said(part.seq, part.id, who, text.strip())


def _shorter(piece: Said, shrink: int) -> str:
    """Return a piece as a line; of what is no person's, a shorter one."""
    return piece.line if piece.who is Who.PERSON else piece.cut_to(_LONGEST[piece.who] // shrink)


def lines_within(pieces: Sequence[Said], most: int) -> list[str]:
    """Return pieces as lines of at most `most` characters: shorter ones, or the first."""
    lines: list[str] = []
    for shrink in _SHRINKS:
        lines = [each.cut_to(_LONGEST[each.who] // shrink) for each in pieces]
        if sum(len(escape_tags(line)) + 1 for line in lines) <= most:
            return lines
    return fitting(lines, most)


def fitting(lines: Sequence[str], most: int) -> list[str]:
    """Return the first lines of at most `most` characters in all, and the number left out."""
    found, left = list[str](), most - 40
    for number, line in enumerate(lines):
        left -= len(escape_tags(line)) + 1
        if left < 0:
            return [*found, f"[… {len(lines) - number:,} pieces …]"]
        found.append(line)
    return found


def cut(text: str, most: int) -> str:
    """Return the beginning and the end of a long text."""
    if len(text) <= most:
        return text
    end = most // 4
    return f"{text[: most - end]} […{len(text) - most:,} characters…] {text[-end:]}"
