"""Recompute file operations from the log: the files read and modified up to a leaf."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from posixpath import isabs, join, normpath
from typing import Any, Final

from eventstore import paths
from eventstore.event import Event
from eventstore.harnesses import format_of, node_of
from eventstore.harnesses.base import Tools
from eventstore.log import EventLog, Snapshot
from eventstore.paths import LazyEvent
from eventstore.records import FileOperations, FileSets
from eventstore.views import ToolCall
from projections.context.cursor import Cursor, Leaf, resolve_cursor
from projections.rules import rules_at

_SUMMARIES: Final = ("compaction", "branch_summary")
_PATCH: Final = b"*** Begin Patch"
_ESCAPED: Final = b"\\u00"
"""Begins any letter of a name that JSON has in another way."""
_PATCH_HEADER: Final = re.compile(
    r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.MULTILINE
)
SCHEME: Final = "://"


def file_operations(log: EventLog | Snapshot, session: str, *, leaf: Leaf = None) -> FileOperations:
    """Return the files that the path to a leaf read and modified, across all compactions.

    Counts tool calls, including failed ones, the branches that branch summaries cover, and the path in another
    session that the session continues. Recorded `details` count only if the events that they describe are not
    in the log. Raises NotFoundError.
    """
    with log.snapshot() as snapshot:
        return files_at(snapshot, resolve_cursor(snapshot, session, leaf=leaf)).lists()


def files_at(snapshot: Snapshot, cursor: Cursor, *, before: int | None = None) -> FileSets:
    """Return the files that the path to a leaf touched, skipping entries that cannot touch any.

    Of the session's own entries, only those before number `before` count.
    """
    return _files_on_path(snapshot, cursor, before, ())


def files_elsewhere(snapshot: Snapshot, root: LazyEvent, *, behind: tuple[str, ...] = ()) -> FileSets:
    """Return files touched in other sessions whose contexts precede a path's first entry.

    `behind` are the sessions that begin in this one, which end the search.
    """
    prefix = rules_at(snapshot, root).select(snapshot, root).prefix
    behind = (*behind, root.session)
    if prefix is None or prefix.session in behind:
        return FileSets()
    there = resolve_cursor(snapshot, prefix.session, leaf=prefix.entry)
    return _files_on_path(snapshot, there, None, behind)


def _files_on_path(
    snapshot: Snapshot, cursor: Cursor, before: int | None, behind: tuple[str, ...]
) -> FileSets:
    entries = paths.path(snapshot, cursor.session, cursor.leaf)
    root = next(entries, None)
    if root is None:
        return FileSets()
    on_path = [root, *entries]
    counted = (
        entry for entry in (*on_path, *beside(snapshot, on_path)) if before is None or entry.seq < before
    )
    own = files_of(filter(_may_touch, counted), snapshot)
    return files_elsewhere(snapshot, root, behind=behind) | own


def beside(snapshot: Snapshot, on_path: Sequence[LazyEvent | Event]) -> list[LazyEvent]:
    """Return entries beside a path that were sent with it, such as blocks of its messages.

    They count even if a resumed session no longer shows them.
    """
    newest = on_path[-1]
    finder = rules_at(snapshot, paths.event(snapshot, newest.session, newest.seq)).beside(
        snapshot, newest.session
    )
    if finder is None:
        return []
    for entry in on_path:
        finder.add(entry)
    return [paths.event(snapshot, newest.session, seq) for seq in sorted((*finder.found, *finder.lost))]


def _may_touch(entry: Event | LazyEvent) -> bool:
    if entry.kind != "message" or entry.role != "assistant":
        return entry.kind in _SUMMARIES
    # To decode all messages takes long.
    return any(map(bytes(entry.body).__contains__, _marks(entry.format)))


@cache
def _marks(version: str) -> tuple[bytes, ...]:
    """Return the bytes of which each call that touches files has one."""
    tools = format_of(version).tools
    names = (*tools.reads, *tools.modifies, *tools.editors, *tools.patches)
    return (*(f'"{each}"'.encode() for each in names), _PATCH, _ESCAPED)


def files_of(entries: Iterable[Event | LazyEvent], snapshot: Snapshot) -> FileSets:
    """Return the files that entries touched, including the branches that their summaries cover."""
    read: set[str] = set()
    modified: set[str] = set()
    pending, seen = list(entries), set()
    while pending:
        event = pending.pop()
        if event.seq in seen:
            # Two branches that were left for each other cover each other.
            continue
        seen.add(event.seq)
        sets = FileSets()
        if event.role == "assistant":
            node = node_of(event)
            for call in node.message.tool_calls if node.message else ():
                called_read, called_modified = files_of_call(call, format_of(event.format).tools)
                read.update(_located(name, node.folder) for name in called_read)
                modified.update(_located(name, node.folder) for name in called_modified)
        elif event.kind == "branch_summary":
            left = abandoned_entries(event, snapshot)
            pending += left
            sets = FileSets() if left else claimed_files(event) or FileSets()
        elif event.kind == "compaction" and not _has_messages_above(event, snapshot):
            # The history that it summarizes is not in this log, so only its own claim is left.
            sets = claimed_files(event) or FileSets()
        read |= sets.read
        modified |= sets.modified
    return FileSets(frozenset(read), frozenset(modified))


def _located(name: str, folder: str) -> str:
    """Return a path; a relative one below the folder that its record names, if it names one."""
    return normpath(join(folder, name)) if isabs(folder) and not isabs(name) else name


def _has_messages_above(event: Event | LazyEvent, snapshot: Snapshot) -> bool:
    return any(each.kind == "message" for each in paths.upward(snapshot, event.session, event.parent_seq))


def files_of_call(call: ToolCall, tools: Tools) -> tuple[list[str], list[str]]:
    """Return the paths that one call reads and those that it modifies."""
    if call.name in tools.reads:
        return [without_selector(name, tools) for name in _named(call, tools.reads[call.name])], []
    if call.name in tools.modifies:
        return [], list(_named(call, tools.modifies[call.name]))
    if call.name in tools.editors:
        editor = tools.editors[call.name]
        named = [name for name in map(call.argument, editor.paths) if isinstance(name, str) and name]
        return (named, []) if call.argument(editor.command) == editor.views else ([], named)
    if call.name in tools.patches or _PATCH in call.arguments:
        return [], list(_patched(call))
    return [], []


def _named(call: ToolCall, arguments: Iterable[str]) -> Iterator[str]:
    for argument in arguments:
        value = call.argument(argument)
        if isinstance(value, str) and value and SCHEME not in value:
            yield value
            return


def _patched(call: ToolCall) -> Iterator[str]:
    """Return the files named in a patch's headers, anywhere in the arguments.

    Codex also passes patches to its shell.
    """
    for text in _texts_in(call.decoded):
        names = ((named or moved).strip() for named, moved in _PATCH_HEADER.findall(text))
        yield from (name for name in names if SCHEME not in name)


def _texts_in(arguments: Any) -> Iterator[str]:
    pending = [arguments]
    while pending:
        value = pending.pop(0)
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            pending[:0] = value.values() if isinstance(value, dict) else value


def without_selector(name: str, tools: Tools) -> str:
    """Return the path in a read's argument without the line selector that may follow it."""
    return re.sub(tools.selector, "", name) if tools.selector else name


def claimed_files(event: Event | LazyEvent) -> FileSets | None:
    """Return the files that a summary's record lists; None if none or if an extension wrote it."""
    summary = node_of(event).summary
    return summary.files if summary else None


def abandoned_entries(event: Event | LazyEvent, snapshot: Snapshot) -> list[Event]:
    """Return the entries that a branch summary covers, up to where its own path joins.

    A refold record names the leaf that was left. A pi record does not: there it is the entry before the
    summary in the log. Empty if that entry is on the summary's own path or came later.
    """
    view = node_of(event).branch
    seq = snapshot.locate(event.session, view.left) if view and view.left else event.seq - 1
    if seq > event.seq:
        return []
    while seq and not (entry := paths.event(snapshot, event.session, seq)).is_entry:
        seq = entry.parent_seq
    if not seq:
        return []
    own = {entry.seq for entry in paths.path(snapshot, event.session, event.parent_seq)}
    branch = paths.path(snapshot, event.session, seq)
    return [entry.decode() for entry in branch if entry.seq not in own]
