"""The rules of Claude Code: what a path looks like to a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec
from msgspec import Raw

from eventstore.errors import NotFoundError
from eventstore.event import Event
from eventstore.formats import view_of
from eventstore.formats.base import ResultReplacement
from eventstore.formats.claude_code.api_message import content_of, items_of, wire_of
from eventstore.formats.claude_code.links import CONTEXT_LINK
from eventstore.formats.claude_code.record import (
    fields_of,
    is_boundary,
    kept_by,
    shown_messages,
)
from eventstore.javascript import stringify, tolerant_json
from eventstore.log import Snapshot
from eventstore.paths import LazyEvent, SnapshotCache, event, events, events_of_kinds, path
from eventstore.records import Link, TextReplacement, record_of
from projections.context.parts import Part
from projections.rules.base import (
    SYSTEM_PROMPT,
    TOOL_DEFINITIONS,
    Check,
    EntryRef,
    Gap,
    Rules,
    Selection,
    select_kept_run,
)

VERSION: Final = "claude-code/1"
MEMORY_FILES: Final = "memory files"
COUNTS: Final = "message counts"
_REJOINS_ON_RESUME: Final = (2, 1, 88)
"""The first version that, on resuming a session, finds the results of parallel calls beside the path again."""
_RECORDS_ATTACHMENTS: Final = (2, 1, 110)
"""The first version that records what it attaches to a conversation."""
_COUNTED: Final = b'"messageCount"'
_RESUMED: Final = re.compile(
    rb'<command-name>/(?:exit|quit)|"hookName"\s*:\s*"SessionStart:resume"|"model"\s*:\s*"<synthetic>"'
)
"""Marks of records between which a process ended and another began."""
_VERSION: Final = re.compile(rb'"version"\s*:\s*"(\d+)\.(\d+)\.(\d+)')


class ClaudeCodeRules(Rules):
    """The rules of Claude Code, whatever its version."""

    name = "claude-code"
    format = VERSION
    kinds = frozenset({"message", "custom_message"})
    arranges = True
    unrecorded = (SYSTEM_PROMPT, TOOL_DEFINITIONS, MEMORY_FILES)

    def select(self, snapshot: Snapshot, leaf: LazyEvent) -> Selection:
        """Select the newest summary, what its boundary says to keep, and all after it."""
        selected = select_kept_run(snapshot, leaf)
        compaction = selected.compaction
        if compaction is None:
            return msgspec.structs.replace(selected, prefix=_context_of(snapshot, leaf.session))
        if compaction.format != VERSION:
            return selected
        above = event(snapshot, leaf.session, compaction.parent_seq) if compaction.parent_seq else None
        boundary = fields_of(above.body) if above is not None else None
        kept = kept_by(boundary) if boundary is not None and is_boundary(boundary) else None
        ids = _ids_kept(snapshot, compaction, kept.ids, kept.last) if kept else frozenset[str]()
        places = [seq for name in ids if (seq := snapshot.locate(leaf.session, name))]
        return msgspec.structs.replace(
            selected,
            first=min(places, default=compaction.seq + 1),
            kept=ids,
            keeps_before=kept.before if kept else False,
        )

    def beside(self, snapshot: Snapshot, leaf: LazyEvent, first: int) -> Sequence[int]:
        """Return what one process had in memory beside the path: further blocks of its messages, and their results."""
        on_path = list(path(snapshot, leaf.session, leaf.seq, first=first))
        if not on_path or leaf.seq - on_path[0].seq + 1 == len(on_path):
            return ()
        joined = _Joined({entry.seq for entry in on_path}, snapshot, leaf.session)
        found = list(joined.among(events(snapshot, leaf.session, first=on_path[0].seq, last=leaf.seq)))
        lost_before = _resumed_at(on_path) if found else 0
        return [seq for seq in found if seq > lost_before]

    def arrange(self, snapshot: Snapshot, parts: Sequence[Part]) -> Sequence[Part]:  # noqa: ARG002
        """Join the blocks of each of the assistant's messages."""
        groups: dict[tuple[str, str, int], list[Part]] = {}
        for place, part in enumerate(parts):
            group = _group_of(part.raw) if part.role == "assistant" and part.format == VERSION else ""
            groups.setdefault((part.session, group, -1) if group else ("", "", place), []).append(part)
        return [_joined(each) for each in groups.values()]

    def gaps(self, snapshot: Snapshot, entries: Iterable[LazyEvent]) -> Iterable[Gap]:
        """Yield what older versions sent again after a compaction, and results that a resumed session had lost."""
        on_path = list(entries)
        for entry in on_path:
            if entry.kind == "compaction" and entry.format == VERSION:
                version = _process(entry).version
                if version is not None and version < _RECORDS_ATTACHMENTS:
                    yield Gap(
                        what="files and lists sent again after a compaction", event=entry.id, seq=entry.seq
                    )
        resumed = _resumed_at(on_path)
        if resumed:
            joined = _Joined({entry.seq for entry in on_path}, snapshot, on_path[0].session)
            range_ = events(snapshot, on_path[0].session, first=on_path[0].seq, last=resumed)
            lost = [event(snapshot, on_path[0].session, seq) for seq in joined.among(range_)]
            if lost:
                at = event(snapshot, on_path[0].session, resumed)
                tokens = -sum(entry.utf16 for entry in lost)
                yield Gap(what="parallel results lost on resuming", event=at.id, seq=at.seq, tokens=tokens)

    def checks(self, snapshot: Snapshot, session: str) -> Iterable[Check]:
        """Yield a check of each count of the messages in memory that a turn ended with."""
        for entry in events_of_kinds(snapshot, session, {"custom"}):
            if entry.format != VERSION or _COUNTED not in entry.body or not entry.parent_seq:
                continue
            expected = fields_of(entry.body).messageCount
            if isinstance(expected, int) and not isinstance(expected, bool):
                found = self._in_memory(snapshot, event(snapshot, session, entry.parent_seq))
                yield Check(
                    name=COUNTS,
                    event=entry.id,
                    seq=entry.seq,
                    expected=expected,
                    found=found,
                    passed=found == expected,
                )

    def _in_memory(self, snapshot: Snapshot, leaf: LazyEvent) -> int:
        """Return how many records a process has in memory: from the newest boundary on, with what that keeps."""
        selected = self.select(snapshot, leaf)
        boundary = selected.compaction.parent_seq if selected.compaction else 1
        kept = sum(
            entry.seq >= boundary or entry.id in (selected.kept or ())
            for entry in path(
                snapshot, leaf.session, leaf.seq, first=selected.first if selected.kept else boundary
            )
        )
        return kept + len(self.beside(snapshot, leaf, boundary))

    def summary(self, compaction: Event | LazyEvent, record: bytes) -> Sequence[bytes]:  # noqa: ARG002
        return shown_messages("compaction", record)

    def show(self, entry: Event | LazyEvent, record: bytes) -> Sequence[bytes]:
        return shown_messages(entry.kind, record)

    def rewrite(self, messages: Sequence[bytes], shown: Sequence[TextReplacement]) -> Sequence[bytes]:
        """Return messages with other content. All content replaced by nothing: the message is gone."""
        if any(change.text == "" and change.block is None and not _is_of_call(change) for change in shown):
            return ()
        return [_rewritten(message, shown) for message in messages]

    def placeholder(self, text: str, time: int | None) -> bytes:  # noqa: ARG002
        return b'{"role":"user","isMeta":true,"content":%s}' % _encoded(text)


def _context_of(snapshot: Snapshot, session: str) -> EntryRef | None:
    """Return the place in its parent's session from which an agent's context goes on, None if it begins anew."""
    seq = snapshot.locate(session, CONTEXT_LINK)
    link = record_of("link", event(snapshot, session, seq).body) if seq else None
    if not isinstance(link, Link):
        return None
    try:
        is_there = snapshot.locate(link.session, link.event) > 0
    except NotFoundError:
        return None
    return EntryRef(link.session, link.event) if is_there else None


def _ids_kept(
    snapshot: Snapshot, compaction: LazyEvent, listed: tuple[str, ...] | None, last: str
) -> frozenset[str]:
    """Return the ids that a compaction keeps: those that it lists, or the run up to one; none if that is broken."""
    if listed is not None:
        return frozenset(listed)
    end, start = snapshot.locate(compaction.session, last), compaction.target_seq
    if not start or not end or end < start:
        return frozenset()
    run = list(path(snapshot, compaction.session, end, first=start))
    return frozenset(entry.id for entry in run) if run and run[0].seq == start else frozenset()


class _Joined:
    """Entries off a path that were in memory with it: found one after another, in order of the log."""

    def __init__(self, on_path: set[int], snapshot: Snapshot, session: str) -> None:
        self._on_path, self._snapshot, self._session = on_path, snapshot, session
        self._found: set[int] = set()

    def among(self, entries: Iterable[LazyEvent]) -> Iterator[int]:
        for entry in entries:
            if entry.seq not in self._on_path and entry.is_entry and self._belongs(entry):
                self._found.add(entry.seq)
                yield entry.seq

    def _belongs(self, entry: LazyEvent) -> bool:
        above = entry.parent_seq
        if entry.format != VERSION or (above not in self._on_path and above not in self._found):
            return False
        parent = event(self._snapshot, self._session, above)
        if entry.role == "assistant":
            return self._group(parent) == _group(entry) != ""
        if entry.role == "toolResult":
            return parent.role == "assistant"
        return above in self._found and entry.kind in ("custom", "custom_message")

    def _group(self, entry: LazyEvent) -> str:
        """Return the group of the assistant's message that an entry is of, or answers."""
        while entry.role != "assistant" and entry.parent_seq and entry.role != "user":
            entry = event(self._snapshot, self._session, entry.parent_seq)
        return _group(entry) if entry.role == "assistant" else ""


def _group(entry: LazyEvent) -> str:
    return _GROUPS.get(entry.digest, lambda: view_of(entry).group)


_GROUPS: Final = SnapshotCache[str]()


def _resumed_at(on_path: Sequence[LazyEvent]) -> int:
    """Return the number of the newest entry at which a process went on that follows one chain; 0 for none."""
    newest, before, is_ending = 0, None, False
    for entry in on_path:
        mark = _process(entry)
        if mark.version is not None:
            is_another = is_ending or (before is not None and mark.version != before)
            if is_another and mark.version < _REJOINS_ON_RESUME and not mark.is_ending:
                newest = entry.seq
            is_ending = mark.is_ending
            before = mark.version
    return newest


class _Process(NamedTuple):
    """The process that wrote a record: its version, and whether the record stands at its end."""

    version: tuple[int, ...] | None
    is_ending: bool


def _process_of(record: bytes) -> _Process:
    found = _VERSION.search(record)
    version = tuple(map(int, found.groups())) if found else None
    return _Process(version, _RESUMED.search(record) is not None)


def _process(entry: LazyEvent) -> _Process:
    return _PROCESSES.get(entry.digest, lambda: _process_of(entry.body))


_PROCESSES: Final = SnapshotCache[_Process]()


class _Grouped(msgspec.Struct, frozen=True):
    id: str = ""


_decode_grouped: Final = msgspec.json.Decoder(_Grouped).decode


def _group_of(message: bytes) -> str:
    try:
        return _decode_grouped(message).id
    except (msgspec.DecodeError, UnicodeDecodeError):
        name = wire_of(message).id
        return name if isinstance(name, str) else ""


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


def _is_of_call(change: TextReplacement) -> bool:
    return isinstance(change, ResultReplacement)


def _rewritten(message: bytes, shown: Sequence[TextReplacement]) -> bytes:
    """Return a message with content replaced: of a result what the tool said, of others what stands there."""
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
