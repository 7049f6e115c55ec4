"""The rules by which Claude Code builds a request from a path."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec
from msgspec import Raw

from eventstore.errors import NotFoundError
from eventstore.event import Event, KeptMessages
from eventstore.formats import view_of_message
from eventstore.formats.claude_code.api_message import content_of, is_result, items_of, wire_of
from eventstore.formats.claude_code.api_requests import (
    ApiRequests,
    message_hash,
    prompt_of,
    request_of,
)
from eventstore.formats.claude_code.links import CONTEXT_LINK
from eventstore.formats.claude_code.record import (
    RENDERED,
    VERSION,
    Rendered,
    fields_of,
    is_boundary,
    kept_by,
    rendered_of,
    shown_messages,
    version_of,
)
from eventstore.formats.names import is_name
from eventstore.javascript import stringify, tolerant_decoder, tolerant_json
from eventstore.log import Snapshot
from eventstore.node import PromptView, ResultReplacement
from eventstore.paths import LazyEvent, Order, SnapshotCache, event, events_of_kinds, path, upward
from eventstore.records import FORMAT, Link, TextReplacement, own_record
from projections.context.parts import Part
from projections.placements import substitute_text
from projections.rules.base import (
    SENT_AGAIN,
    SYSTEM_PROMPT,
    TOOL_DEFINITIONS,
    Beside,
    Check,
    EntryRef,
    Gap,
    RecordedRequest,
    Rules,
    Selection,
    select_kept_run,
)

Json = dict[str, Any]

MEMORY_FILES: Final = "memory files"
COUNTS: Final = "message counts"
_REJOINS_ON_RESUME: Final = (2, 1, 88)
"""The first version that restores the results of parallel calls when it resumes a session."""
_RECORDS_ATTACHMENTS: Final = (2, 1, 110)
"""The first version that records its attachments."""
_REMEMBERED: Final = 1 << 14
"""Hashes kept: most messages of a request are in the next one too."""
_COUNTED: Final = b'"messageCount"'
_RESUMED: Final = re.compile(
    rb'<command-name>/(?:exit|quit)|"hookName"\s*:\s*"SessionStart:resume"|"model"\s*:\s*"<synthetic>"'
)
"""Fields of records that show where one process ended and another began."""
_MARKS_OF_ENDS: Final = (b"<command-name>/", b"SessionStart:resume", b"<synthetic>")


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
            return msgspec.structs.replace(selected, prefix=_context_of(snapshot, leaf.session))
        if compaction.format != VERSION:
            return selected
        above = event(snapshot, leaf.session, compaction.parent_seq) if compaction.parent_seq else None
        boundary = fields_of(above.body) if above is not None else None
        kept = kept_by(boundary) if boundary is not None and is_boundary(boundary) else None
        ids = (
            _ids_kept(snapshot, compaction, kept, _continued_from(snapshot, leaf, compaction))
            if kept
            else frozenset[str]()
        )
        places = [seq for name in ids if (seq := snapshot.locate(leaf.session, name))]
        return msgspec.structs.replace(
            selected,
            first=min(places, default=compaction.seq + 1),
            kept=ids,
            keeps_before=kept.before if kept else False,
        )

    def beside(self, snapshot: Snapshot, session: str) -> Beside:
        return _Joined(snapshot, session)

    def joined(self, parts: Sequence[Part]) -> Sequence[Part]:
        """Join the blocks of each assistant message, up to where another message's blocks begin."""
        messages: list[list[Part]] = []
        newest, place = ("", ""), 0
        for part in parts:
            group = _group_in(part)
            if group[1] and group == newest:
                messages[place].append(part)
                continue
            if part.role == "assistant":
                newest, place = group, len(messages)
            messages.append([part])
        return [_joined(each) for each in messages]

    def arrange(
        self,
        snapshot: Snapshot,  # noqa: ARG002
        leaf: LazyEvent,  # noqa: ARG002
        parts: Sequence[Part],
    ) -> Sequence[Part]:
        """Join each answer's blocks; move attachments up past prompts."""
        return self.joined(_attachments_first(parts))

    def settled(self, snapshot: Snapshot, parts: Sequence[Part]) -> int:  # noqa: ARG002
        """Return the index of the newest assistant message, which may still get further blocks.

        Before the first one, an attachment may still move to the beginning.
        """
        newest, first = None, 0
        for place in range(len(parts) - 1, -1, -1):
            if parts[place].role == "assistant":
                group = _group_in(parts[place])
                newest = newest or group
                if group != newest or not group[1]:
                    break
                first = place
        return first

    def begins_midway(self, snapshot: Snapshot, root: LazyEvent) -> bool:
        if root.format != VERSION or _context_of(snapshot, root.session):
            return False
        fields = fields_of(root.body)
        return bool(_named_parent(root) or (is_boundary(fields) and fields.logicalParentUuid))

    def gaps(self, snapshot: Snapshot, entries: Iterable[LazyEvent]) -> Iterable[Gap]:
        """Yield what older versions sent again after a compaction, and results lost on resuming."""
        on_path = list(entries)
        for entry in on_path:
            if entry.kind == "compaction" and entry.format == VERSION:
                version = _version(entry)
                if version is not None and version < _RECORDS_ATTACHMENTS:
                    yield Gap(what=SENT_AGAIN, event=entry.id, seq=entry.seq)
        if not on_path:
            return
        joined = _Joined(snapshot, on_path[0].session)
        for entry in on_path:
            joined.add(entry)
        if joined.lost:
            at = event(snapshot, on_path[0].session, joined.resumed)
            tokens = -sum(event(snapshot, at.session, seq).utf16 for seq in joined.lost)
            yield Gap(what="parallel results lost on resuming", event=at.id, seq=at.seq, tokens=tokens)

    def checks(self, snapshot: Snapshot, session: str) -> Iterable[Check]:
        """Check each recorded count of the messages in memory at the end of a turn."""
        memory = _Memory(self, snapshot)
        for entry in events_of_kinds(snapshot, session, {"custom"}):
            if entry.format != VERSION or _COUNTED not in entry.body or not entry.parent_seq:
                continue
            expected = fields_of(entry.body).messageCount
            if isinstance(expected, int) and not isinstance(expected, bool):
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
                    messages=found.messages,
                    is_reproduced=request.is_reproduced,
                )

    def recorded_prompt(self, snapshot: Snapshot, leaf: LazyEvent) -> PromptView:
        """Return the system prompt and tools of the request that the newest answer names."""
        answers = (each for each in upward(snapshot, leaf.session, leaf.seq) if each.role == "assistant")
        answer = next(answers, None)
        name = request_of(answer.body) if answer else ""
        if answer is None or not name:
            return PromptView()
        return _PROMPTS.get(answer.digest, lambda: prompt_of(name, _notes_above(snapshot, answer)))

    def show(self, entry: Event | LazyEvent, record: bytes) -> Sequence[bytes]:
        return shown_messages(entry.kind, record)

    def rewrite(self, messages: Sequence[bytes], shown: Sequence[TextReplacement]) -> Sequence[bytes]:
        """Return messages with content replaced; a message left without content is dropped."""
        if any(change.text == "" and change.block is None and not _is_of_call(change) for change in shown):
            return ()
        return [_rewritten(message, shown) for message in messages]

    def document(self, messages: list[bytes | memoryview], settings: bytes) -> bytes:
        """Return a context as a request has it: role and content, consecutive user messages merged."""
        return super().document([*_turns(map(bytes, messages))], settings)

    def placeholder(self, text: str, time: int | None) -> bytes:  # noqa: ARG002
        return b'{"role":"user","isMeta":true,"content":%s}' % _encoded(text)


_PROMPTS: Final = SnapshotCache[PromptView]()


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


def _context_of(snapshot: Snapshot, session: str) -> EntryRef | None:
    """Return where in its parent's session an agent's context continues, None for a new context."""
    seq = snapshot.locate(session, CONTEXT_LINK)
    link = own_record(event(snapshot, session, seq)) if seq else None
    if not isinstance(link, Link):
        return None
    try:
        is_there = snapshot.locate(link.session, link.event) > 0
    except NotFoundError:
        return None
    return EntryRef(link.session, link.event) if is_there else None


def _ids_kept(snapshot: Snapshot, compaction: LazyEvent, kept: KeptMessages, last: str) -> frozenset[str]:
    """Return the ids that a compaction keeps: a list, or a run with the entries beside it.

    A path that continues from the kept message `last` shows none after it. A broken run keeps nothing.
    """
    last = "" if kept.before else last

    if kept.ids is not None:
        listed = kept.ids[: kept.ids.index(last) + 1] if last in kept.ids else kept.ids
        places = (snapshot.locate(compaction.session, name) for name in frozenset(listed) - kept.removed)
        return frozenset(event(snapshot, compaction.session, seq).id for seq in places if seq)
    start, end = compaction.target_seq, snapshot.locate(compaction.session, kept.last)
    if not start or not end or end < start:
        return frozenset()
    run = list(path(snapshot, compaction.session, end, first=start))
    if not run or run[0].seq != start:
        return frozenset()
    names = [entry.id for entry in run]
    if last in names:
        run = run[: names.index(last) + 1]
    joined = _Joined(snapshot, compaction.session)
    for entry in run:
        joined.add(entry)
    beside = (event(snapshot, compaction.session, seq) for seq in joined.found)
    shown = (entry.id for entry in (*run, *beside))
    return frozenset(name for name in shown if name not in kept.removed)


def _continued_from(snapshot: Snapshot, leaf: LazyEvent, compaction: LazyEvent) -> str:
    """Return the id that the first record behind a compaction names as its parent.

    That is "" if there is none. After a rewind that may be any message that the compaction keeps.
    """
    behind = path(snapshot, leaf.session, leaf.seq, first=compaction.seq + 1)
    return next(filter(None, map(_named_parent, behind)), "")


def _named_parent(entry: Event | LazyEvent) -> str:
    """Return the id that a record names as its parent; a rewrite without an id names none."""
    parent = fields_of(entry.body).parentUuid if entry.format == VERSION else None
    return parent if isinstance(parent, str) and is_name(parent) else ""


class _Joined:
    """Find entries off a path that were in memory with it: further blocks, and their results.

    `lost` are the numbers of entries that a process did not restore when it resumed at entry `resumed`.
    """

    def __init__(self, snapshot: Snapshot, session: str) -> None:
        self._snapshot, self._session, self._order = snapshot, session, Order(snapshot, session)
        self.found: list[int] = []
        self.lost: list[int] = []
        self.resumed = 0
        self._newest = 0
        self._on_path, self._joined = set[int](), set[int]()
        self._summary = ""
        self._unread: list[Event | LazyEvent] = []
        self._named: str | None = None
        self._version: tuple[int, ...] | None = None
        self._is_ended = False

    def add(self, entry: Event | LazyEvent) -> bool:
        seq = entry.seq
        for other in self._order.between(self._newest, seq) if self._newest else ():
            each = event(self._snapshot, self._session, other)
            if each.is_entry and self._belongs(each):
                self._joined.add(other)
                self.found.append(other)
        self._newest = seq
        self._on_path.add(seq)
        if self.found or self.lost:
            while self._unread and self._version is None:
                self._read(self._unread.pop())
            self._read(entry)
            lost = bisect_right(self.found, self._order.place(self.resumed), key=self._order.place)
            self.lost += self.found[:lost]
            del self.found[:lost]
        else:
            # If nothing can have been lost, it matters at most which process wrote the newest record.
            self._unread.append(entry)
        return not self._is_cut(entry)

    def _is_cut(self, entry: Event | LazyEvent) -> bool:
        """Return True if what a summary keeps may end earlier, because a path continues within it."""
        if entry.kind == "compaction":
            self._summary = entry.id if entry.format == VERSION else ""
            return False
        named = _named_parent(entry) if self._summary else ""
        if not named:
            return False
        summary, self._summary = self._summary, ""
        return named != summary

    def _read(self, entry: Event | LazyEvent) -> None:
        """Detect whether a process begins at an entry that does not restore what was found."""
        named, is_another = _versioned(entry.body).version, self._is_ended
        version = self._version if named == self._named else version_of(named)
        if version is None:
            return
        is_another |= self._version is not None and version != self._version
        self._named, self._version = named, version
        # Versions that restore everything may begin anywhere.
        self._is_ended = version < _REJOINS_ON_RESUME and _is_ending(entry)
        if is_another and version < _REJOINS_ON_RESUME and not self._is_ended:
            self.resumed = entry.seq

    def _belongs(self, entry: LazyEvent) -> bool:
        if entry.format != VERSION:
            return False
        above = entry.parent_seq
        if entry.role in ("assistant", "toolResult"):
            above = self._past_progress(above)
        if above not in self._on_path and above not in self._joined:
            return False
        parent = event(self._snapshot, self._session, above)
        if entry.role == "assistant":
            return self._group(parent) == _group(entry) != ""
        if entry.role == "toolResult":
            return parent.role == "assistant"
        return above in self._joined and entry.kind in ("custom", "custom_message")

    def _past_progress(self, seq: int) -> int:
        """Return an entry's number; for a record of progress, that of the nearest other entry above.

        While one call runs, its progress comes between the records of parallel calls.
        """
        while seq and _is_progress(each := event(self._snapshot, self._session, seq)):
            seq = each.parent_seq
        return seq

    def _group(self, entry: Event | LazyEvent) -> str:
        """Return the group of the assistant message that an entry belongs to or answers."""
        while entry.role != "assistant" and entry.parent_seq and entry.role != "user":
            entry = event(self._snapshot, self._session, entry.parent_seq)
        return _group(entry) if entry.role == "assistant" else ""


def _is_progress(entry: Event | LazyEvent) -> bool:
    """Return True for a record of how a running call or hook goes on, which is in no request."""
    return entry.kind == "custom" and entry.format == VERSION and fields_of(entry.body).type == "progress"


class _Memory:
    """Count a process's records in memory: from the newest boundary on, with what it keeps.

    An entry below the last one counted costs only the entries between them.
    """

    def __init__(self, rules: Rules, snapshot: Snapshot) -> None:
        self._rules, self._snapshot = rules, snapshot
        self._newest: LazyEvent | None = None
        self._counted = 0
        self._joined: _Joined | None = None

    def count(self, leaf: LazyEvent) -> int:
        before, joined = self._newest, self._joined
        below = [] if before is None else list(self._path(leaf, before.seq + 1))
        end = below[0].parent_seq if below else leaf.seq
        if (
            before is None
            or joined is None
            or end != before.seq
            or leaf.compaction_seq != before.compaction_seq
        ):
            selected = self._rules.select(self._snapshot, leaf)
            boundary = selected.compaction.parent_seq if selected.compaction else 1
            kept = (self._snapshot.locate(leaf.session, name) for name in selected.kept or ())
            self._counted = sum(0 < seq < boundary for seq in kept)
            self._joined = joined = _Joined(self._snapshot, leaf.session)
            below = list(self._path(leaf, boundary))
        for entry in below:
            joined.add(entry)
        self._counted += len(below)
        self._newest = leaf
        return self._counted + len(joined.found)

    def _path(self, leaf: LazyEvent, first: int) -> Iterator[LazyEvent]:
        return path(self._snapshot, leaf.session, leaf.seq, first=first)


def _group(entry: Event | LazyEvent) -> str:
    """Return the id of the message that an answer's entry is a block of, "" if not sent."""
    if stored := entry.message:
        return _group_of(stored)
    fields = fields_of(entry.body)
    return "" if fields.is_unsent else fields.wire.id or ""


def _is_ending(entry: Event | LazyEvent) -> bool:
    """Return True if a record is the last of the process that wrote it."""
    body = entry.body
    # What a tool prints, and what the model writes, may quote such fields.
    if entry.role == "toolResult" or not any(mark in body for mark in _MARKS_OF_ENDS):
        return False
    ending = _RESUMED.search(body)
    return ending is not None and (entry.role != "assistant" or ending[0].startswith(b'"model"'))


class _Versioned(msgspec.Struct, frozen=True, gc=False):
    version: str | None = None


_versioned: Final = tolerant_decoder(_Versioned)


def _version(entry: Event | LazyEvent) -> tuple[int, ...] | None:
    return version_of(_versioned(entry.body).version)


class _Grouped(msgspec.Struct, frozen=True, gc=False):
    id: str | None = None


_grouped: Final = tolerant_decoder(_Grouped)


def _group_in(part: Part) -> tuple[str, str]:
    """Return the session and message that an assistant part is a block of; "" for other parts."""
    is_ours = part.role == "assistant" and part.format == VERSION
    return part.session, _group_of(part.raw) if is_ours else ""


def _group_of(message: bytes) -> str:
    return _grouped(message).id or ""


def _joined(parts: Sequence[Part]) -> Part:
    if len(parts) == 1:
        return parts[0]
    fields = _raw_fields(parts[-1].raw)
    blocks = [item for part in parts for item in items_of(content_of(wire_of(part.raw)))]
    fields["content"] = Raw(b"[%s]" % b",".join(blocks))
    return parts[0].merged_with(msgspec.json.encode(fields), parts[1:])


def _raw_fields(message: bytes) -> dict[str, Raw]:
    try:
        message.decode()
        return msgspec.json.decode(message, type=dict[str, Raw])
    except (msgspec.DecodeError, UnicodeDecodeError):
        decoded = tolerant_json(message)
        return {name: Raw(_encoded(value)) for name, value in decoded.items()}


def _encoded(value: object) -> bytes:
    return stringify(value).encode("utf-8", "replace")


def _attachments_first(parts: Sequence[Part]) -> Sequence[Part]:
    """Move rendered attachments up past prompts, to behind an answer or a result."""
    if not any(part.raw.startswith(RENDERED) for part in parts):
        return parts
    found: list[Part] = []
    attached: list[Part] = []
    for part in reversed(parts):
        if part.raw.startswith(RENDERED):
            attached.append(part)
            continue
        if part.role in ("assistant", "toolResult"):
            found += attached
            attached = []
        found.append(part)
    found += attached
    found.reverse()
    return found


def _turns(messages: Iterable[bytes]) -> Iterator[bytes]:
    """Yield messages as one request has them: role and content, those of refold's records too."""
    users: list[tuple[bytes, Rendered]] = []
    for message in messages:
        wire = wire_of(message)
        if wire.role != "assistant":
            content = content_of(wire) if wire.role == "user" else _content_of_own(message)
            users.append((content, rendered_of(message)))
            continue
        yield from _user_turns(users)
        users = []
        yield b'{"role":"assistant","content":%s}' % content_of(wire)
    yield from _user_turns(users)


def _user_turns(users: Sequence[tuple[bytes, Rendered]]) -> Iterator[bytes]:
    if all(how.rendered is None for _, how in users):
        yield from _of_user([content for content, _ in users])
        return
    for turn in _with_attachments(users):
        yield b'{"role":"user","content":%s}' % _encoded(turn)


def _with_attachments(users: Sequence[tuple[bytes, Rendered]]) -> list[list[Json]]:
    """Return the blocks of each user message between two answers.

    So versions that render attachments join them.
    An attachment begins a message or joins the last result; what follows text is parted from it by a line end.
    """
    turns: list[list[Json]] = []
    begins = False
    for content, how in users:
        blocks = [tolerant_json(block) for block in _blocks(content)]
        if not turns or (how.rendered and begins):
            turns.append(blocks)
            begins = how.rendered is not None
            continue
        last = turns[-1]
        if how.rendered is None:
            if _is_text(last[-1:]) and _is_text(blocks[:1]):
                last[-1]["text"] += "\n"
            last += blocks
            last.sort(key=lambda block: block.get("type") != "tool_result")
            begins = False
        elif not how.besideResult and last and last[-1].get("type") == "tool_result" and _is_text(blocks):
            last[-1]["content"] = _behind_result(last[-1].get("content"), blocks)
        else:
            last += blocks
        if how.rendered == 0:
            begins = False
    return turns


def _is_text(blocks: Sequence[Json]) -> bool:
    return bool(blocks) and all(isinstance(block.get("text"), str) for block in blocks)


def _behind_result(content: Any, blocks: Sequence[Json]) -> str | list[Json]:
    """Return a result's content with an attachment's texts."""
    texts = [block["text"].strip() for block in blocks]
    if not isinstance(content, list):
        first = content.strip() if isinstance(content, str) else ""
        return "\n\n".join(filter(None, [first, *texts]))
    found = list(content)
    for text in texts:
        if found and _is_text(found[-1:]):
            found[-1] = {**found[-1], "text": found[-1]["text"] + "\n"}
        found.append({"type": "text", "text": text})
    return found


def _content_of_own(message: bytes) -> bytes:
    """Return a request's form of a message from refold's records: a summary, note or result."""
    view = view_of_message(message, FORMAT)
    text = substitute_text(view)
    if text is not None:
        return _encoded(text)
    content = content_of(wire_of(message))
    if view.role != "toolResult":
        return content
    block = b'{"tool_use_id":%s,"type":"tool_result","content":%s%s}'
    return b"[" + block % (_encoded(view.tool_call_id), content, b',"is_error":true' * view.is_error) + b"]"


def _of_user(contents: Sequence[bytes]) -> Iterator[bytes]:
    """Yield a request's user message with the given contents, tool results first."""
    if len(contents) == 1:
        yield b'{"role":"user","content":%s}' % contents[0]
    elif contents:
        blocks = [block for content in contents for block in _blocks(content)]
        blocks.sort(key=lambda block: b'"tool_result"' not in block or not is_result(block))
        yield b'{"role":"user","content":[%s]}' % b",".join(blocks)


def _blocks(content: bytes) -> list[bytes]:
    return [b'{"type":"text","text":%s}' % content] if content.startswith(b'"') else items_of(content)


def _is_of_call(change: TextReplacement) -> bool:
    return isinstance(change, ResultReplacement)


def _rewritten(message: bytes, shown: Sequence[TextReplacement]) -> bytes:
    """Return a message with content replaced; in a tool result, the tool's output."""
    decoded = tolerant_json(message)
    content = decoded.get("content")
    first = content[0] if isinstance(content, list) and content else None
    result = first if isinstance(first, dict) and first.get("type") == "tool_result" else None
    for change in shown:
        if isinstance(change, ResultReplacement) and (result or {}).get("tool_use_id") != change.call:
            continue
        inner = content if result is None else result.get("content")
        replaced = _replaced(inner, change)
        if result is None:
            content = replaced
        else:
            result["content"] = replaced
    return _encoded({**decoded, "content": content})


def _replaced(content: object, change: TextReplacement) -> object:
    block = {"type": "text", "text": change.text}
    if change.block is None or (change.block == 0 and not isinstance(content, list)):
        return change.text if not isinstance(content, list) or change.block is None else [block]
    if isinstance(content, list) and 0 <= change.block < len(content):
        return [*content[: change.block], block, *content[change.block + 1 :]]
    return content


RULES: Final = ClaudeCodeRules()
