"""Read Claude Code's session files: sessions, records, what lies between; and write them.

A file is a session with the sidechains in it, or a subagent's. Records name their parent, which may come later in the
file; metadata without a place in the tree stands between them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from copy import copy
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from eventstore.errors import NoSessionError, NoSessionYetError
from eventstore.event import Event
from eventstore.frame import decode
from eventstore.harnesses.claude_code.links import session_of_agent, session_of_sidechain
from eventstore.harnesses.claude_code.record import (
    VERSION,
    Fields,
)
from eventstore.harnesses.claude_code.transcript_lines import SNAPSHOT, parse
from eventstore.harnesses.claude_code.transcript_reader import TranscriptReader
from eventstore.harnesses.names import is_name
from eventstore.harnesses.source import (
    KnownEvents,
    SessionReader,
    Source,
    SourceContents,
    SourceGrowth,
    SourceSession,
)
from eventstore.javascript import iso_time, stringify, tolerant_json
from eventstore.log import Snapshot
from eventstore.records import Resume

_SIDECHAIN: Final = re.compile(rb'"isSidechain"\s*:\s*true')
_PLAIN: Final = re.compile(r"[\w.-]+", re.ASCII)
_BLOCK: Final = 256 << 10
"""Bytes of a file to search at a time."""
_REMEDY: Final = "name a session file of Claude Code"


class _Scan:
    """Find the sessions that a file's lines name, `size` bytes of them so far.

    `name` is the own session: the one that the file is named after, where it holds records of it, because an old
    version copied another's into it; else that of the first record. `head` is the record that identifies it.
    """

    def __init__(self, stem: str) -> None:
        self._stem, self._is_plain = stem, _PLAIN.fullmatch(stem) is not None
        self._named = b'"%b"' % stem.encode("ascii", "ignore")
        self.size, self.name, self.first, self.head = 0, "", b"", Fields()
        self.sidechains: list[Fields] = []
        self.has_only_snapshots = True

    def copied(self) -> _Scan:
        """Return a copy that can read on by itself."""
        other = copy(self)
        other.sidechains = [*self.sidechains]
        return other

    def read(self, lines: bytes) -> None:
        """Read the next lines."""
        self.size += len(lines)
        # Most of a long file says nothing new, which a search of many lines at once finds out faster.
        for line in () if self._says_nothing_new(lines) else BytesIO(lines):
            if self._says_nothing_new(line):
                continue
            for start, stop, fields in parse(line).records:
                self.first = self.first or line[start:stop]
                self.name = _better(self.name, fields, self._stem)
                self.head = _earlier(self.head, fields)
                self.has_only_snapshots &= fields.type == SNAPSHOT
                if fields.is_chained and fields.isSidechain is True:
                    self.sidechains.append(fields)

    def _says_nothing_new(self, data: bytes) -> bool:
        """Return True for lines that neither name another session nor have a sidechain's record."""
        # Escaped, a name in the record may differ from the file's.
        may_be_named = self.name != self._stem and (self._named in data or not self._is_plain)
        return bool(self.name) and self.head.is_chained and not may_be_named and not _SIDECHAIN.search(data)


class ClaudeCodeFile(SourceContents):
    """An open session file of Claude Code."""

    growth = SourceGrowth.APPENDED
    passing: frozenset[str] = frozenset()

    def __init__(self, source: Source) -> None:
        self.source = source
        self.sides: dict[str, int] = {}
        """The index of each sidechain record's session, by record id."""
        self._names: list[str] = []
        self.session = ""
        """The session that the file belongs to, also if it is an agent's."""
        self.is_of_agent = False
        self._find_sessions()
        self.sessions: Sequence[SourceSession] = [
            SourceSession(name=name, format=VERSION) for name in self._names
        ]

    def _find_sessions(self) -> None:
        """Find the file's own session, and the sidechains in it."""
        stem = Path(os.fsdecode(self.source.path)).stem
        scan = self._scanned(stem)
        if not scan.first:
            problem = "contains no readable record" if self.source.size else "is empty"
            raise NoSessionError(self.source.name, problem, _REMEDY)
        if not scan.name and scan.has_only_snapshots:
            problem = "holds only snapshots of files"
            raise NoSessionYetError(self.source.name, problem, "there is nothing to import yet")
        name, head = scan.name or f"noid-{sha256(scan.first).hexdigest()[:16]}", scan.head
        agent = _name(head.agentId)
        is_side = head.isSidechain is True or head.type == "fork-context-ref" or stem == f"agent-{agent}"
        self.is_of_agent = is_side and agent != ""
        self.session = name
        self._names = [session_of_agent(name, head.agentId) if self.is_of_agent else name]
        if not self.is_of_agent:
            self._divide(name, scan.sidechains)

    def _scanned(self, stem: str) -> _Scan:
        """Return what the lines say of the file's sessions.

        Of a followed file, those that are known are not read again.
        """
        known = self.source.found
        scan = known.copied() if isinstance(known, _Scan) else _Scan(stem)
        for block in self._blocks(scan.size):
            whole = block.rfind(b"\n") + 1
            scan.read(block[:whole])
            self.source.found = scan
            if whole < len(block):
                # The last line may still be written.
                scan = scan.copied()
                scan.read(block[whole:])
        return scan

    def _blocks(self, at: int = 0) -> Iterator[bytes]:
        """Yield the file from an offset on, in blocks of whole lines."""
        file = self.source.file
        file.seek(at)
        while block := file.read(_BLOCK):
            yield block + file.readline()

    def _divide(self, name: str, sidechains: list[Fields]) -> None:
        """Find each sidechain record's session: its agent's, or the one that starts at its root."""
        places = {name: 0}
        newest = 0
        parents = {_name(fields.parentUuid) for fields in sidechains} - {""}
        main = self._main_records(parents - {fields.uuid for fields in sidechains})
        for fields in sidechains:
            agent, parent = _name(fields.agentId), _name(fields.parentUuid)
            if agent:
                key = session_of_agent(name, agent)
            elif parent in self.sides:
                key = self._names[self.sides[parent]]
            elif fields.parentUuid is not None and newest and parent not in main:
                key = self._names[newest]
            else:
                key = session_of_sidechain(name, fields.uuid)
            if key not in places:
                places[key] = len(self._names)
                self._names.append(key)
            newest = self.sides[fields.uuid] = places[key]

    def _main_records(self, names: set[str]) -> set[str]:
        """Return the ids among `names` that records outside sidechains have."""
        if not names:
            return names
        named = re.compile(b"|".join(re.escape(name.encode("utf-8", "replace")) for name in names))
        lines = (line for block in self._blocks() if named.search(block) for line in BytesIO(block))
        records = (fields for line in lines if named.search(line) for *_, fields in parse(line).records)
        return {each.uuid for each in records if each.is_chained and each.isSidechain is not True} & names

    def read(self, resume: Resume, known: KnownEvents) -> SessionReader:
        return TranscriptReader(self, resume, known)


def _better(name: str, fields: Fields, stem: str) -> str:
    """Return a file's session: the one it is named after if its records have it, else the first."""
    session = _name(fields.sessionId) or _name(fields.parentSessionId)
    return session if session == stem else name or session


def _earlier(head: Fields, fields: Fields) -> Fields:
    """Return the record that identifies the file's session.

    It is the first one in the tree, or the one that a fork's file names before it.
    """
    if head.is_chained or not (fields.is_chained or fields.type == "fork-context-ref"):
        return head
    return fields if _name(fields.agentId) or not _name(head.agentId) else head


def _name(value: Any) -> str:
    return value if isinstance(value, str) and is_name(value) else ""


def export_file(snapshot: Snapshot, session: str) -> Iterator[bytes]:
    """Yield the lines of a Claude Code file for a session, including what the store appended.

    Its own records come as they are. Entries of other formats become records of the system, which Claude Code keeps in
    the tree and tells no model; off-path events of other formats stay behind.
    """
    for frame in snapshot.frames(session):
        event = decode(frame, session)
        if event.format == VERSION or event.is_entry:
            yield exported_line(event) + b"\n"


def exported_line(event: Event) -> bytes:
    """Return an event's line in a file of Claude Code, without the line end."""
    return event.body if event.format == VERSION else stringify(_entry(event)).encode()


def _entry(event: Event) -> dict[str, Any]:
    return {
        "parentUuid": event.parent,
        "isSidechain": False,
        "type": "system",
        "subtype": "informational",
        "content": f"{event.format} {event.kind}",
        "data": tolerant_json(event.body),
        "uuid": event.id,
        "timestamp": iso_time(event.time) or iso_time(event.recorded),
        "sessionId": event.session,
    }
