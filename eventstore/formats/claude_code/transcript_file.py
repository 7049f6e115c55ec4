"""Read Claude Code's session files: their sessions, records, and the bytes in between.

A file is a session with the sidechains in it, or a subagent's. Records name their parent, which may come later in the
file; metadata without a place in the tree stands between them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec

from eventstore.errors import NoSessionError
from eventstore.event import Flag, NewEvent
from eventstore.formats.claude_code.links import Links, session_of_agent, session_of_sidechain
from eventstore.formats.claude_code.record import (
    Fields,
    facts_of,
    fields_of,
    is_boundary,
    kept_by,
    kind_of,
)
from eventstore.formats.pi.entry import is_name, stored_id
from eventstore.formats.pi.file import BLANK, BOM, REPEAT, TOO_DEEP, objects_in
from eventstore.formats.refold.events import compose
from eventstore.formats.source import (
    DerivedEvent,
    Glue,
    KnownEvents,
    Piece,
    SessionReader,
    Source,
    SourceContents,
    SourceGrowth,
    SourceRecord,
    SourceRemark,
    SourceSession,
    Tail,
)
from eventstore.javascript import DEEPEST_RECORD, epoch_ms, is_deeper
from eventstore.records import LeafMoved, Resume

VERSION: Final = "claude-code/1"
_SIDECHAIN: Final = re.compile(rb'"isSidechain"\s*:\s*true')
_IN_PLACE: Final = "Claude Code shows this record in place of the other"
_REMEDY: Final = "name a session file of Claude Code"


class _Beginnings:
    """The beginnings of Claude Code's records. New types may appear at any time."""

    entry = re.compile(r'\{\s*"(?:parentUuid|type)"\s*:')

    def is_type(self, type_: Any) -> bool:
        return isinstance(type_, str)


class _Parsed(msgspec.Struct, frozen=True):
    """The records of a line with their spans, and the problem with the rest, "" for none."""

    records: list[tuple[int, int, Fields]]
    problem: str


def parse(line: bytes) -> _Parsed:
    """Return the records of a line; never raises, however damaged the line is."""
    start = len(line) - len(line.removeprefix(BOM).lstrip(BLANK))
    text = line[start : len(line.rstrip(BLANK))]
    if not text:
        return _Parsed([], "")
    try:
        if is_deeper(text, DEEPEST_RECORD):
            raise RecursionError  # noqa: TRY301
        if text.startswith(b"{"):
            return _Parsed([(start, start + len(text), fields_of(text))], "")
        raise msgspec.DecodeError  # noqa: TRY301
    except RecursionError:
        is_too_deep = True
    except Exception:  # noqa: BLE001  no line may keep the others from being read
        is_too_deep = False
    try:
        spans, problem = objects_in(text, _Beginnings())
        found = []
        for first, last, _ in spans:
            body = text[first:last]
            if is_deeper(body, DEEPEST_RECORD):
                problem = TOO_DEEP
                continue
            found.append((start + first, start + last, fields_of(body)))
    except Exception as error:  # noqa: BLE001
        return _Parsed([], TOO_DEEP if is_too_deep else f"cannot be read ({type(error).__name__})")
    if not found and not line.endswith(b"\n"):
        problem = problem or "the file ends in the middle of this record"
    return _Parsed(found, problem)


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
        """Find the file's own session, and the sidechains in it.

        The own session is the one that the file is named after, where it holds records of it: an old version copied
        another's into it. Else it is that of the first record.
        """
        stem, name, first, head = Path(os.fsdecode(self.source.path)).stem, "", b"", Fields()
        sidechains: list[Fields] = []
        self.source.file.seek(0)
        for line in self.source.file:
            if name == stem and head.is_chained and not _SIDECHAIN.search(line):
                continue
            for start, stop, fields in parse(line).records:
                first = first or line[start:stop]
                name = _better(name, fields, stem)
                head = _earlier(head, fields)
                if fields.is_chained and fields.isSidechain is True:
                    sidechains.append(fields)
        if not first:
            problem = "contains no readable record" if self.source.size else "is empty"
            raise NoSessionError(self.source.name, problem, _REMEDY)
        name = name or f"noid-{sha256(first).hexdigest()[:16]}"
        is_side = head.isSidechain is True or head.type == "fork-context-ref"
        self.is_of_agent = is_side and _name(head.agentId) != ""
        self.session = name
        self._names = [session_of_agent(name, head.agentId) if self.is_of_agent else name]
        if not self.is_of_agent:
            self._divide(name, sidechains)

    def _divide(self, name: str, sidechains: list[Fields]) -> None:
        """Find each sidechain record's session: its agent's, or the one that starts at its root."""
        places = {name: 0}
        newest = 0
        for fields in sidechains:
            agent, parent = _name(fields.agentId), fields.parentUuid
            if agent:
                key = session_of_agent(name, agent)
            elif isinstance(parent, str) and parent in self.sides:
                key = self._names[self.sides[parent]]
            elif parent is not None and newest:
                key = self._names[newest]
            else:
                key = session_of_sidechain(name, fields.uuid)
            if key not in places:
                places[key] = len(self._names)
                self._names.append(key)
            newest = self.sides[fields.uuid] = places[key]

    def read(self, resume: Resume, known: KnownEvents) -> SessionReader:
        return _Reading(self, resume, known)


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


class _Chain:
    """The state of a session while its file is read: the newest record, and substituted parents.

    `chained` is the newest record with an id of its own. `instead` maps a record to the one that was put in
    below it: a rewrite without an id, or the summary of a compaction behind what it keeps.
    """

    def __init__(self, state: dict[str, Any]) -> None:
        self.last: str | None = state.get("last")
        self.chained: str | None = state.get("chained", self.last)
        self.instead: dict[str, str] = dict(state.get("instead", {}))
        self.boundary: str | None = state.get("boundary")
        self.records: int = state.get("records", 0)

    @property
    def state(self) -> dict[str, Any]:
        return {
            "last": self.last,
            "records": self.records,
            **({"chained": self.chained} if self.chained != self.last else {}),
            **({"instead": dict(self.instead)} if self.instead else {}),
            **({"boundary": self.boundary} if self.boundary else {}),
        }


class _Reading(SessionReader):
    def __init__(self, contents: ClaudeCodeFile, resume: Resume, known: KnownEvents) -> None:
        self._contents, self._known = contents, known
        self._offset, self._line = resume.offset, resume.line
        states: dict[str, Any] = resume.state.get("sessions", {})
        self._chains = [_Chain(states.get(each.name, {})) for each in contents.sessions]
        self._ids: list[dict[str, bytes]] = [{} for _ in contents.sessions]
        self._boundaries: dict[tuple[int, str], bytes] = {}
        self._links = Links(
            contents.session,
            [each.name for each in contents.sessions],
            known,
            VERSION,
            begun={place for place, chain in enumerate(self._chains) if chain.last is not None},
            newest=self._chains[0].chained,
        )
        self._to_come: list[dict[str, int]] = [{} for _ in contents.sessions]
        self._parents: list[dict[str, tuple[str, str | None]]] = [{} for _ in contents.sessions]

    @property
    def line(self) -> int:
        return self._line

    @property
    def state(self) -> dict[str, Any]:
        names = (each.name for each in self._contents.sessions)
        return {
            "sessions": {name: chain.state for name, chain in zip(names, self._chains, strict=True)},
        }

    def records(self, session: int) -> int:
        return self._chains[session].records

    def orphans(self, session: int) -> Sequence[tuple[int, str]]:  # noqa: ARG002  rules attach them
        return []

    def pieces(self) -> Iterator[Piece]:
        file = self._contents.source.file
        self._look_ahead()
        file.seek(self._offset)
        for raw in file:
            is_whole = raw.endswith(b"\n")
            if not is_whole:
                yield Tail()
            parsed, at = parse(raw), 0
            for start, stop, fields in parsed.records:
                place = self._place(fields)
                body = raw[start:stop]
                remarks: list[tuple[str, str]] = []
                record = self._record(body, fields, place, remarks.append)
                if record is not None:
                    if at < start:
                        yield Glue(raw[at:start])
                    yield record
                    at = stop
                    yield from self._links.of(place, record.event.id, fields)
                    yield from self._moved(place, record.event, fields)
                for what, reason in remarks:
                    yield SourceRemark(
                        "skipped" if what == "skipped" else "differs", self._line, reason, place
                    )
            if at < len(raw):
                yield Glue(raw[at:])
            if parsed.problem:
                yield SourceRemark("skipped", self._line, parsed.problem)
            self._line += is_whole
        yield from self._links.at_end()

    def _look_ahead(self) -> None:
        """Find the ids of the records that follow, because a parent may come later than its child."""
        file = self._contents.source.file
        file.seek(self._offset)
        for number, raw in enumerate(file):
            for start, stop, fields in parse(raw).records:
                if fields.is_chained:
                    place, own = self._place(fields), stored_id(fields.uuid)
                    self._to_come[place].setdefault(own, number)
                    if is_boundary(fields):
                        # A boundary is read together with its summary, and may come after it.
                        self._boundaries.setdefault((place, own), raw[start:stop])

    def _place(self, fields: Fields) -> int:
        if self._contents.is_of_agent or fields.isSidechain is not True or not fields.is_chained:
            return 0
        return self._contents.sides.get(fields.uuid, 0)

    def _record(
        self, body: bytes, fields: Fields, place: int, remark: Callable[[tuple[str, str]], None]
    ) -> SourceRecord | None:
        """Return a record's piece; None for a duplicate, or a record that cannot be stored."""
        chain = self._chains[place]
        try:
            kind = kind_of(fields)
            time = epoch_ms(fields.timestamp)
            if fields.is_chained:
                own = stored_id(fields.uuid)
                if self._is_repeat(place, own, body):
                    remark(("skipped", REPEAT))
                    return None
                if self._is_taken(place, own):
                    remark(("differs", f"id {fields.uuid!r} is taken: {_IN_PLACE}"))
                    own = self._free(place, own)
                parent, waits_for, is_guessed = self._parent(fields, own, kind, place, remark)
            else:
                own, parent, waits_for, is_guessed = self._minted(place, kind, body), chain.last, "", False
            above = self._above(place, parent) if kind == "compaction" else None
            facts = facts_of(kind, body, fields, above)
            if is_guessed:
                facts = msgspec.structs.replace(facts, flags=facts.flags | Flag.ORPHAN)
        except Exception as error:  # noqa: BLE001  no record may keep the others from being read
            remark(("skipped", f"cannot be read ({type(error).__name__})"))
            return None
        chain.records += 1
        self._ids[place][own] = sha256(body).digest()
        if kind != "note":
            self._parents[place][own] = kind, parent
            if is_boundary(fields):
                self._boundaries[place, own] = body
            self._go_on(place, fields, kind, own)
        event = NewEvent(id=own, kind=kind, body=body, format=VERSION, parent=parent, time=time, facts=facts)
        return SourceRecord(event, session=place, line=self._line, waits_for=waits_for)

    def _go_on(self, place: int, fields: Fields, kind: str, own: str) -> None:
        """Make a record the newest one in the tree."""
        chain = self._chains[place]
        if not fields.is_chained and chain.last is not None:
            chain.instead[chain.last] = own
        if is_boundary(fields):
            chain.boundary = own
        elif kind == "compaction" and chain.boundary is not None:
            boundary = self._above(place, chain.boundary)
            kept = kept_by(boundary) if boundary else None
            if kept is not None and not kept.before:
                # What follows names the last message that is kept, which stands behind the summary.
                chain.instead[stored_id(kept.last)] = own
            chain.boundary = None
        chain.last = own
        if fields.is_chained:
            chain.chained = own

    def _moved(self, place: int, note: NewEvent, fields: Fields) -> Iterator[DerivedEvent]:
        """Yield a move to the leaf that a `last-prompt` names, if the newest path leaves its path.

        So a rewind after which nothing was said moves the session too.
        """
        chain, named = self._chains[place], fields.leafUuid
        if fields.type != "last-prompt" or not (isinstance(named, str) and is_name(named)):
            return
        leaf, newest = stored_id(named), chain.last
        if newest is None or not self._is_placed(place, leaf):
            return
        if not self._leaves_messages(place, leaf, newest):
            return
        chain.last = leaf
        move = compose(LeafMoved(from_id=newest), id=f"moved-{note.id}", time=note.time, parent=leaf)
        yield DerivedEvent(move, session=place)

    def _is_placed(self, place: int, leaf: str) -> bool:
        """Return True if a leaf and all its ancestors have been read so far."""
        above, seen = self._parents[place], set[str]()
        at: str | None = leaf
        while at in above and at not in seen:
            seen.add(at)
            at = above[at][1]
        return at is None or (at not in seen and self._known.body(place, at) is not None)

    def _leaves_messages(self, place: int, leaf: str, newest: str) -> bool:
        """Return True if a message is on the path to the newest record but not on the leaf's."""
        session, above = self._contents.sessions[place].name, self._parents[place]
        at: str | None = newest
        has_message, seen = False, set[str]()
        while at is not None and at != leaf and at not in seen:
            seen.add(at)
            stored = None if at in above else self._known.event(session, at)
            kind, at = (stored.kind, stored.parent) if stored else above.get(at, ("", None))
            has_message = has_message or kind == "message"
        return has_message or at != leaf

    def _above(self, place: int, parent: str | None) -> Fields | None:
        if parent is None:
            return None
        body = self._boundaries.get((place, parent)) or self._known.body(place, parent)
        return fields_of(body) if body else None

    def _parent(
        self,
        fields: Fields,
        own: str,
        kind: str,
        place: int,
        remark: Callable[[tuple[str, str]], None],
    ) -> tuple[str | None, str, bool]:
        """Return a record's parent, the id of a parent still to come, and True if it is a guess."""
        chain = self._chains[place]
        named = fields.parentUuid
        if is_boundary(fields) and named is None:
            named = fields.logicalParentUuid if isinstance(fields.logicalParentUuid, str) else chain.last
        if kind == "compaction" and chain.boundary is not None:
            return chain.boundary, "", False
        if named is None:
            return None, "", False
        if isinstance(named, str) and is_name(named) and (name := stored_id(named)) != own:
            if name in self._ids[place] or self._is_stored(place, name):
                return chain.instead.get(name, name), "", False
            if name in self._to_come[place]:
                return name, name, False
        if not is_boundary(fields) and chain.last is not None:
            remark(
                (
                    "differs",
                    f"its parent {str(named)[:80]!r} is not in the file: it continues from the previous record",
                )
            )
        return chain.last, "", not is_boundary(fields) and chain.last is not None

    def _is_stored(self, place: int, name: str) -> bool:
        return self._known.has(place, name)

    def _is_repeat(self, place: int, own: str, body: bytes) -> bool:
        if own in self._ids[place]:
            return self._ids[place][own] == sha256(body).digest()
        return self._known.body(place, own) == body

    def _is_taken(self, place: int, own: str) -> bool:
        return own in self._ids[place] or self._known.body(place, own) is not None

    def _free(self, place: int, own: str) -> str:
        nth = 2
        while self._is_taken(place, f"{own}~{nth}"):
            nth += 1
        return f"{own}~{nth}"

    def _minted(self, place: int, kind: str, body: bytes) -> str:
        """Return an id for a record without one, made from its contents and a repetition count."""
        base = f"{kind}-{sha256(body).hexdigest()[:16]}"
        return base if not self._is_taken(place, base) else self._counted(place, base)

    def _counted(self, place: int, base: str) -> str:
        """Return the first free numbered id, in as many steps as its number has digits."""
        high = 2
        while self._is_taken(place, f"{base}-{high}"):
            high *= 2
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            if self._is_taken(place, f"{base}-{middle}"):
                low = middle
            else:
                high = middle
        return f"{base}-{high}"
