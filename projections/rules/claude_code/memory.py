"""Find what a process of Claude Code had in memory: a path, and what lies beside it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

import msgspec

from eventstore.event import Event
from eventstore.harnesses.claude_code.record import VERSION, fields_of, version_of
from eventstore.harnesses.names import is_name
from eventstore.javascript import tolerant_decoder
from eventstore.log import Snapshot
from eventstore.paths import LazyEvent, Order, behind, event, path
from projections.rules.base import Rules
from projections.rules.claude_code.turns import group_of

_REJOINS_ON_RESUME: Final = (2, 1, 88)
"""The first version that restores the results of parallel calls when it resumes a session."""
_RESUMED: Final = re.compile(
    rb'<command-name>/(?:exit|quit)|"hookName"\s*:\s*"SessionStart:resume"|"model"\s*:\s*"<synthetic>"'
)
"""Fields of records that show where one process ended and another began."""
_MARKS_OF_ENDS: Final = (b"<command-name>/", b"SessionStart:resume", b"<synthetic>")


def named_parent(entry: Event | LazyEvent) -> str:
    """Return the id that a record names as its parent; a rewrite without an id names none."""
    parent = fields_of(entry.body).parentUuid if entry.format == VERSION else None
    return parent if isinstance(parent, str) and is_name(parent) else ""


class Joined:
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
        if entry.kind == "compaction":
            self._summary = entry.id if entry.format == VERSION else ""
        elif self._summary and (named := named_parent(entry)):
            # Where a path continues within what a summary keeps, that may end earlier.
            summary, self._summary = self._summary, ""
            return named == summary
        return True

    def _read(self, entry: Event | LazyEvent) -> None:
        """Detect whether a process begins at an entry that does not restore what was found."""
        body, is_another = entry.body, self._is_ended
        named = _versioned(body).version
        version = self._version if named == self._named else version_of(named)
        if version is None:
            return
        is_another |= self._version is not None and version != self._version
        self._named, self._version = named, version
        # Versions that restore everything may begin anywhere.
        self._is_ended = version < _REJOINS_ON_RESUME and _is_ending(entry.role, body)
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
            return self._group(parent) == group_at(entry) != ""
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
        return group_at(entry) if entry.role == "assistant" else ""


def _is_progress(entry: Event | LazyEvent) -> bool:
    """Return True for a record of how a running call or hook goes on, which is in no request."""
    return entry.kind == "custom" and entry.format == VERSION and fields_of(entry.body).type == "progress"


class Memory:
    """Count a process's records in memory: from the newest boundary on, with what it keeps.

    An entry below the last one counted costs only the entries between them.
    """

    def __init__(self, rules: Rules, snapshot: Snapshot) -> None:
        self._rules, self._snapshot = rules, snapshot
        self._newest: LazyEvent | None = None
        self._counted = 0
        self._joined: Joined | None = None

    def count(self, leaf: LazyEvent) -> int:
        before, joined = self._newest, self._joined
        below = [] if before is None else list(behind(self._snapshot, leaf.session, leaf.seq, before.seq))
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
            self._joined = joined = Joined(self._snapshot, leaf.session)
            below = list(self._path(leaf, boundary))
        for entry in below:
            joined.add(entry)
        self._counted += len(below)
        self._newest = leaf
        return self._counted + len(joined.found)

    def _path(self, leaf: LazyEvent, first: int) -> Iterator[LazyEvent]:
        return path(self._snapshot, leaf.session, leaf.seq, first=first)


def group_at(entry: Event | LazyEvent) -> str:
    """Return the id of the message that an answer's entry is a block of, "" if not sent."""
    if stored := entry.message:
        return group_of(stored)
    fields = fields_of(entry.body)
    return "" if fields.is_unsent else fields.wire.id or ""


def _is_ending(role: str, record: bytes) -> bool:
    """Return True if a record is the last of the process that wrote it."""
    # What a tool prints, and what the model writes, may quote such fields.
    if role == "toolResult" or not any(mark in record for mark in _MARKS_OF_ENDS):
        return False
    ending = _RESUMED.search(record)
    return ending is not None and (role != "assistant" or ending[0].startswith(b'"model"'))


class _Versioned(msgspec.Struct, frozen=True, gc=False):
    version: str | None = None


_versioned: Final = tolerant_decoder(_Versioned)


def version_at(entry: Event | LazyEvent) -> tuple[int, ...] | None:
    return version_of(_versioned(entry.body).version)
