"""The rules by which Claude Code builds a request from a path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice, pairwise, takewhile
from typing import Final

import msgspec

from eventstore.event import Event
from eventstore.harnesses import node_of
from eventstore.harnesses.claude_code.api_requests import (
    MARK,
    ApiRequests,
    message_hash,
    prompt_of,
    request_of,
    words_around,
)
from eventstore.harnesses.claude_code.meaning import RENDERED, shown_messages
from eventstore.harnesses.claude_code.record import RECORDS_ATTACHMENTS, VERSION, fields_of, is_boundary
from eventstore.log import Snapshot
from eventstore.node import CompactionView, PromptView
from eventstore.paths import LazyEvent, Order, event, events_of_kinds, path, upward
from eventstore.records import TextReplacement
from projections.context.parts import Part
from projections.rules.base import (
    MEMORY_FILES,
    SENT_AGAIN,
    SYSTEM_PROMPT,
    TOOL_DEFINITIONS,
    Beside,
    Check,
    Gap,
    RecordedRequest,
    Rules,
    Selection,
    continued_from,
    select_kept_run,
)
from projections.rules.claude_code.memory import Joined, Memory, named_parent, version_at
from projections.rules.claude_code.turns import (
    attachments_first,
    encoded,
    group_in,
    is_notice,
    joined,
    lines_ended,
    rewritten,
    turns,
    without_calls_left_out,
)

COUNTS: Final = "message counts"
WORDS: Final = "words around attachments"
RESUMED: Final = "what a resumed session sends again, because a plugin kept a result"
_ENDS_LINES: Final = (2, 1, 78)
"""The first version that ends the line of a text before another one."""
_REMEMBERED: Final = 1 << 14
"""Hashes kept: most messages of a request are in the next one too."""
_COUNTED: Final = b'"messageCount"'


class ClaudeCodeRules(Rules):
    """The rules of all versions of Claude Code."""

    name = "claude-code"
    format = VERSION
    kinds = frozenset({"message", "custom_message"})
    arranges = True
    records_thinking = False
    unrecorded = (SYSTEM_PROMPT, TOOL_DEFINITIONS, MEMORY_FILES)

    def select(self, snapshot: Snapshot, leaf: LazyEvent) -> Selection:
        """Select the newest summary, the messages its boundary keeps, and everything after it."""
        selected = select_kept_run(snapshot, leaf)
        compaction = selected.compaction
        if compaction is None:
            return msgspec.structs.replace(selected, prefix=continued_from(snapshot, leaf.session))
        if compaction.format != VERSION:
            return selected
        said = node_of(compaction, snapshot).compaction
        kept = _ids_kept(snapshot, compaction, said, leaf) if said is not None else frozenset[str]()
        kept |= frozenset(_written_again(snapshot, compaction, kept))
        places = [seq for name in kept if (seq := snapshot.locate(leaf.session, name))]
        return msgspec.structs.replace(
            selected,
            first=min(places, key=Order(snapshot, leaf.session).place, default=compaction.seq),
            kept=kept,
            keeps_before=said is not None and said.keeps_before,
            leading=_leading(snapshot, compaction),
        )

    def beside(self, snapshot: Snapshot, session: str) -> Beside:
        return Joined(snapshot, session)

    def joined(self, parts: Sequence[Part]) -> Sequence[Part]:
        """Join the blocks of each assistant message, up to where another message's blocks begin."""
        messages: list[list[Part]] = []
        newest, place = ("", ""), 0
        for part in parts:
            if part.role == "assistant":
                group = group_in(part)
                if group[1] and group == newest:
                    messages[place].append(part)
                    continue
                newest, place = group, len(messages)
            messages.append([part])
        return [joined(each) for each in messages]

    def arrange(
        self,
        snapshot: Snapshot,
        leaf: LazyEvent,  # noqa: ARG002
        parts: Sequence[Part],
    ) -> Sequence[Part]:
        """Join each answer's blocks; move attachments up past prompts; put notices in their words."""
        moved = without_calls_left_out(attachments_first(parts))
        arranged = _in_words(snapshot, self.joined(moved))
        return lines_ended(arranged, lambda part: _ends_lines(snapshot, part))

    def settled(self, snapshot: Snapshot, parts: Sequence[Part]) -> int:  # noqa: ARG002
        """Return the index of the newest assistant message, which may still get further blocks.

        Before the first one, an attachment may still move to the beginning.
        """
        newest, first = None, 0
        for place in range(len(parts) - 1, -1, -1):
            if parts[place].role == "assistant":
                group = group_in(parts[place])
                newest = newest or group
                if group != newest or not group[1]:
                    break
                first = place
        return first

    def begins_midway(self, snapshot: Snapshot, root: LazyEvent) -> bool:
        if root.format != VERSION or continued_from(snapshot, root.session):
            return False
        fields = fields_of(root.body)
        return bool(named_parent(root) or (is_boundary(fields) and fields.logicalParentUuid))

    def gaps(self, snapshot: Snapshot, entries: Iterable[LazyEvent]) -> Iterable[Gap]:
        """Yield what older versions sent again, words around attachments, and lost results."""
        on_path = list(entries)
        wordless = next(filter(_lacks_words, on_path), None)
        if wordless is not None:
            yield Gap(what=WORDS, event=wordless.id, seq=wordless.seq)
        for compaction, kept in pairwise(on_path):
            if compaction.kind == "compaction" and _is_kept_by_plugin(compaction, kept):
                yield Gap(what=RESUMED, event=kept.id, seq=kept.seq)
        for entry in on_path:
            if entry.kind == "compaction" and entry.format == VERSION:
                version = version_at(entry)
                if version is not None and version < RECORDS_ATTACHMENTS:
                    yield Gap(what=SENT_AGAIN, event=entry.id, seq=entry.seq)
        if not on_path:
            return
        in_memory = Joined(snapshot, on_path[0].session)
        for entry in on_path:
            in_memory.add(entry)
        if in_memory.lost:
            at = event(snapshot, on_path[0].session, in_memory.resumed)
            tokens = -sum(event(snapshot, at.session, seq).utf16 for seq in in_memory.lost)
            yield Gap(what="parallel results lost on resuming", event=at.id, seq=at.seq, tokens=tokens)

    def checks(self, snapshot: Snapshot, session: str) -> Iterable[Check]:
        """Check each recorded count of the messages in memory at the end of a turn."""
        memory = Memory(self, snapshot)
        for entry in events_of_kinds(snapshot, session, {"custom"}):
            if entry.format != VERSION or _COUNTED not in entry.body or not entry.parent_seq:
                continue
            expected = fields_of(entry.body).messageCount
            if expected is not None:
                found = memory.count(event(snapshot, session, entry.parent_seq))
                yield Check(
                    name=COUNTS,
                    event=entry.id,
                    seq=entry.seq,
                    expected=expected,
                    found=found,
                    passed=found == expected,
                )

    def recorded_requests(self, snapshot: Snapshot, session: str) -> Iterable[RecordedRequest]:
        """Yield the requests in records of their own that an answer names."""
        found = _api_requests(snapshot, session)
        hash_of = lru_cache(_REMEMBERED)(message_hash)
        for name, request in found.requests.items():
            if name in found.answers:
                yield RecordedRequest(
                    answer=found.answers[name],
                    hash_of=hash_of,
                    hashes=request.hashes,
                    is_reproduced=request.is_reproduced,
                )

    def recorded_prompt(self, snapshot: Snapshot, leaf: LazyEvent) -> PromptView:
        """Return the system prompt and tools of the request that the newest answer names."""
        answers = (each for each in upward(snapshot, leaf.session, leaf.seq) if each.role == "assistant")
        answer = next(answers, None)
        name = request_of(answer.body) if answer else ""
        if answer is None or not name:
            return PromptView()
        return prompt_of(name, _notes_above(snapshot, answer))

    def show(self, entry: Event | LazyEvent, record: bytes) -> Sequence[bytes]:
        return shown_messages(entry.kind, record)

    def rewrite(self, messages: Sequence[bytes], shown: Sequence[TextReplacement]) -> Sequence[bytes]:
        """Return messages with content replaced; a message left without content is dropped."""
        is_gone = any(change.text == "" and change.block is None and not change.call for change in shown)
        if is_gone:
            return ()
        return [rewritten(message, shown) for message in messages]

    def document(self, messages: list[bytes | memoryview], settings: bytes) -> bytes:
        """Return a context as a request has it: role and content, consecutive user messages merged."""
        return super().document([*turns([bytes(message) for message in messages])], settings)

    def placeholder(self, text: str, time: int | None) -> bytes:  # noqa: ARG002
        return b'{"role":"user","isMeta":true,"content":%s}' % encoded(text)


def _lacks_words(entry: LazyEvent) -> bool:
    """Return True for an attachment that was sent in words that no record has."""
    if entry.kind != "custom_message" or entry.format != VERSION:
        return False
    fields = fields_of(entry.body)
    return fields.type == "attachment" and fields.rendered is None


def _is_kept_by_plugin(compaction: LazyEvent, kept: LazyEvent) -> bool:
    """Return True for a result that a plugin kept; its parent is a call before the boundary."""
    is_plugins = compaction.format == VERSION and fields_of(compaction.body).rowSource == "hook"
    return is_plugins and kept.role == "toolResult" and named_parent(kept) != compaction.id


def _ends_lines(snapshot: Snapshot, part: Part) -> bool:
    """Return True if the version that wrote a text ends the line of the text before it."""
    return (version_at(event(snapshot, part.session, part.seq)) or ()) >= _ENDS_LINES


def _in_words(snapshot: Snapshot, parts: Sequence[Part]) -> Sequence[Part]:
    """Return notices with words around them, which only the first request with each has."""
    notices = [part for part in parts if is_notice(part)]
    if not notices:
        return parts
    # One read of a session for all of them: there may be hundreds among many thousand records.
    found = {session: _recorded_notes(snapshot, session) for session in {part.session for part in notices}}
    said = {part.key: _words_of(part, found[part.session]) for part in notices}
    return [said.get(part.key, part) for part in parts]


def _words_of(part: Part, notes: Sequence[tuple[int, bytes]]) -> Part:
    around = (words_around(part.raw, note) for seq, note in notes if seq > part.seq)
    words = next((each for each in around if each is not None), b"")
    return msgspec.structs.replace(part, raw=words, recorded=None) if words else part


def _recorded_notes(snapshot: Snapshot, session: str) -> list[tuple[int, bytes]]:
    """Return the number and body of each note that is of a recorded request."""
    notes = (each for each in events_of_kinds(snapshot, session, {"note"}) if each.format == VERSION)
    return [(each.seq, body) for each in notes if MARK in (body := each.body)]


def _notes_above(snapshot: Snapshot, entry: LazyEvent) -> Iterator[bytes]:
    """Yield the notes before an entry, newest first."""
    notes = events_of_kinds(snapshot, entry.session, {"note"}, last=entry.seq, backward=True)
    return (each.body for each in notes if each.format == VERSION)


def _api_requests(snapshot: Snapshot, session: str) -> ApiRequests:
    notes = (each.body for each in events_of_kinds(snapshot, session, {"note"}) if each.format == VERSION)
    answers = (
        (each.seq, each.body)
        for each in events_of_kinds(snapshot, session, {"message"})
        if each.role == "assistant" and each.format == VERSION
    )
    return ApiRequests(notes, answers)


def _leading(snapshot: Snapshot, compaction: LazyEvent) -> tuple[int, ...]:
    """Return the numbers of rendered attachments between a boundary and its summary."""
    chain, found = {compaction.parent_seq}, list[int]()
    for seq in range(compaction.parent_seq + 1, compaction.seq) if compaction.parent_seq else ():
        entry = event(snapshot, compaction.session, seq)
        if entry.is_entry and entry.parent_seq in chain:
            chain.add(seq)
            shown = shown_messages(entry.kind, entry.body) if entry.kind == "custom_message" else ()
            found += [seq] if any(each.startswith(RENDERED) for each in shown) else []
    return tuple(found)


def _ids_kept(
    snapshot: Snapshot, compaction: LazyEvent, said: CompactionView, leaf: LazyEvent
) -> frozenset[str]:
    """Return the ids that a compaction keeps: a list, or a run with the entries beside it.

    A path that continues from a kept message shows none after it. A broken run keeps nothing.
    """
    session = compaction.session
    last = "" if said.keeps_before else _continued_from(snapshot, leaf, compaction)
    if said.kept is not None:
        listed = said.kept[: said.kept.index(last) + 1] if last in said.kept else said.kept
        return frozenset(name for name in listed if snapshot.locate(session, name))
    start, end = compaction.target_seq, snapshot.locate(session, said.last_kept) if said.last_kept else 0
    if not start or not end or end < start:
        return frozenset()
    run = list(path(snapshot, session, end, first=start))
    if not run or run[0].seq != start:
        return frozenset()
    names = [entry.id for entry in run]
    if last in names:
        run = run[: names.index(last) + 1]
    in_memory = Joined(snapshot, session)
    for entry in run:
        in_memory.add(entry)
    beside = (event(snapshot, session, seq) for seq in in_memory.found)
    return frozenset(entry.id for entry in (*run, *beside)) - said.removed


def _written_again(snapshot: Snapshot, compaction: LazyEvent, kept: frozenset[str]) -> Iterator[str]:
    """Yield the ids of kept messages that the file repeats before the boundary, with new ids."""
    if compaction.parent_seq:
        above = islice(upward(snapshot, compaction.session, compaction.parent_seq), 1, None)
        for entry in takewhile(lambda each: "~" in each.id, above):
            if entry.id.partition("~")[0] in kept:
                yield entry.id


def _continued_from(snapshot: Snapshot, leaf: LazyEvent, compaction: LazyEvent) -> str:
    """Return the id that the first record behind a compaction names as its parent.

    That is "" if there is none. After a rewind that may be any message that the compaction keeps.
    """
    behind = islice(path(snapshot, leaf.session, leaf.seq, first=compaction.seq), 1, None)
    return next(filter(None, map(named_parent, behind)), "")


RULES: Final = ClaudeCodeRules()
