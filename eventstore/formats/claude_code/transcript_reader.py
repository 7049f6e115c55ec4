"""Read the records of a Claude Code file, and place them in the trees of its sessions.

Records name their parent, which may come later in the file, or with a later import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Final, Protocol

import msgspec

from eventstore.event import Event, EventFacts, Flag, NewEvent
from eventstore.formats.claude_code.links import Links
from eventstore.formats.claude_code.record import (
    VERSION,
    Fields,
    facts_of,
    fields_of,
    is_boundary,
    is_known_type,
    kept_by,
    kind_of,
    plain_message,
)
from eventstore.formats.claude_code.transcript_lines import parse
from eventstore.formats.lines import REPEAT, count_type
from eventstore.formats.names import is_name, is_reserved, stored_id
from eventstore.formats.refold.events import compose
from eventstore.formats.source import (
    LINE_END,
    DerivedEvent,
    Glue,
    KnownEvents,
    Piece,
    SeenRecords,
    SessionReader,
    Source,
    SourceRecord,
    SourceRemark,
    SourceSession,
    Tail,
    pieces_of_lines,
)
from eventstore.imports import copy_id, recorded_id
from eventstore.javascript import epoch_ms
from eventstore.records import LeafMoved, Resume

_IN_PLACE: Final = "Claude Code shows this record in place of the other"


class Transcript(Protocol):
    """An open file.

    `session` owns it. `sides` maps ids of sidechain records to the places of their sessions.
    """

    source: Source
    sessions: Sequence[SourceSession]
    session: str
    is_of_agent: bool
    sides: dict[str, int]


class _Chain:
    """The state of a session while its file is read: the newest record, and substituted parents.

    `last` is the last record in the tree, `chained` the last with an id of its own. `newest` is the one with the
    latest `time`: if a parent came after its child (`is_late`), the session continues from the `tip` below it.
    `instead` maps a record to the one that children have in its place: a rewrite without an id below it, another
    record with its id, or its copy below a late parent. `summaries` maps boundaries to their summaries, `kept` the
    messages that these keep to the summary; `is_whole` means that each summary came behind all that it keeps.
    `orphans` maps missing parents to the records that name them, `copies` records to their newest copies. `unknown`
    counts the records of unknown types.
    """

    def __init__(self, state: dict[str, Any]) -> None:
        self.last: str | None = state.get("last")
        self.chained: str | None = state.get("chained", self.last)
        self.newest: str | None = state.get("newest")
        self.tip: str | None = state.get("tip")
        self.is_late: bool = state.get("late", False)
        self.time: int | None = state.get("time")
        self.instead: dict[str, str] = dict(state.get("instead", {}))
        self.boundary: str | None = state.get("boundary")
        self.records: int = state.get("records", 0)
        self.unknown: dict[str, int] = dict(state.get("unknown", {}))
        self.summaries: dict[str, str] = dict(state.get("summaries", {}))
        self.orphans: dict[str, list[str]] = {
            parent: [*waiting] for parent, waiting in state.get("orphans", {}).items()
        }
        self.copies: dict[str, str] = dict(state.get("copies", {}))
        self.is_whole: bool = state.get("whole", not self.summaries)
        self.kept: dict[str, str] = {}
        # Where earlier walks along `instead` ended: an id that thousands of records share is not walked from anew.
        self._found: dict[str, str] = {}

    def count(self, fields: Fields) -> None:
        """Count a record, and its type if that is unknown."""
        self.records += 1
        if not is_known_type(fields.type):
            count_type(self.unknown, fields.type)

    def date(self, own: str, time: int | None) -> None:
        """Note the time of the last record in the tree."""
        if time is None or self.time is None or time >= self.time:
            self.newest, self.tip, self.time = own, None, self.time if time is None else time

    def retargeted(self, facts: EventFacts) -> EventFacts:
        """Return facts with the newest copy as target of a record that names the original."""
        copy = self.copies.get(facts.target or "")
        return facts if copy is None else msgspec.structs.replace(facts, target=copy)

    def parent(self, name: str) -> str:
        """Return the record that a child has as its parent if it names `name`."""
        return self.current(self.kept.get(name, name))

    def current(self, name: str) -> str:
        """Return the record that stands in a record's place."""
        at = self._found.get(name, name)
        if at not in self.instead:
            return at
        seen = set[str]()
        while at in self.instead and at not in seen:
            seen.add(at)
            at = self.instead[at]
        self._found[name] = at
        return at

    def replace(self, copies: dict[str, str]) -> None:
        """Continue from copies in place of the records that are this mapping's keys."""
        if self.newest in copies or self.tip in copies:
            self.tip = None
        self.last, self.chained, self.newest, self.boundary = (
            copies.get(each, each) if each else each
            for each in (self.last, self.chained, self.newest, self.boundary)
        )
        self.summaries = {above: copies.get(each, each) for above, each in self.summaries.items()}
        self.kept = {name: copies.get(each, each) for name, each in self.kept.items()}
        self.orphans = {
            parent: [copies.get(each, each) for each in waiting] for parent, waiting in self.orphans.items()
        }
        self._found.clear()
        # A rewrite below a record stays in its place.
        self.instead = copies | {name: copies.get(each, each) for name, each in self.instead.items()}

    @property
    def state(self) -> dict[str, Any]:
        return {
            "last": self.last,
            "records": self.records,
            **({"unknown": dict(self.unknown)} if self.unknown else {}),
            **({"chained": self.chained} if self.chained != self.last else {}),
            **({"newest": self.newest} if self.newest else {}),
            **({"late": True} if self.is_late else {}),
            **({"tip": self.tip} if self.tip not in (None, self.newest) else {}),
            **({"time": self.time} if self.time is not None else {}),
            **({"instead": dict(self.instead)} if self.instead else {}),
            **({"boundary": self.boundary} if self.boundary else {}),
            **({"summaries": dict(self.summaries)} if self.summaries else {}),
            **({"whole": True} if self.summaries and self.is_whole else {}),
            **({"copies": dict(self.copies)} if self.copies else {}),
            **({"orphans": {name: [*some] for name, some in self.orphans.items()}} if self.orphans else {}),
        }


class TranscriptReader(SessionReader):
    """One reading of a file, from where an earlier one ended."""

    def __init__(self, contents: Transcript, resume: Resume, known: KnownEvents) -> None:
        self._contents, self._known = contents, known
        # The end of the last line read may still be missing, and comes first then.
        self._is_open: bool = resume.state.get("open", False)
        self._offset = resume.offset
        self._line: int = resume.line - self._is_open
        states: dict[str, Any] = resume.state.get("sessions", {})
        self._chains = [_Chain(states.get(each.name, {})) for each in contents.sessions]
        self._seen = [SeenRecords(contents.source) for _ in contents.sessions]
        self._boundaries: dict[tuple[int, str], bytes] = {}
        self._links = Links(
            contents.session,
            [each.name for each in contents.sessions],
            known,
            VERSION,
            begun={place for place, chain in enumerate(self._chains) if chain.last is not None},
            newest=self._chains[0].chained,
        )
        self._begun = [chain.last for chain in self._chains]
        self._earlier = [{**chain.summaries} for chain in self._chains]
        self._parents: list[dict[str, tuple[str, str | None]]] = [{} for _ in contents.sessions]
        self._placed: list[set[str]] = [set() for _ in contents.sessions]

    @property
    def line(self) -> int:
        return self._line + self._is_open

    @property
    def state(self) -> dict[str, Any]:
        names = (each.name for each in self._contents.sessions)
        for place, chain in enumerate(self._chains):
            chain.tip = self.leaf(place)
        return {
            "sessions": {name: chain.state for name, chain in zip(names, self._chains, strict=True)},
            **({"open": True} if self._is_open else {}),
        }

    def records(self, session: int) -> int:
        return self._chains[session].records

    def unknown(self, session: int) -> Mapping[str, int]:
        return self._chains[session].unknown

    def orphans(self, session: int) -> Sequence[tuple[int, str]]:  # noqa: ARG002  rules attach them
        return []

    def leaf(self, session: int) -> str | None:
        chain = self._chains[session]
        if not chain.is_late:
            # The file has the order in which Claude Code wrote the branches.
            return None
        tip = chain.tip or chain.newest
        below = {above: own for own, (_, above) in self._parents[session].items()}
        seen = set[str]()
        while tip is not None and tip in below and tip not in seen:
            seen.add(tip)
            tip = below[tip]
        return tip

    def pieces(self) -> Iterator[Piece]:
        for place in range(len(self._chains)):
            yield from self._continue(place)
        yield from pieces_of_lines(self._contents.source.file, self._offset, self)
        yield from self._links.at_end()

    def whole(self, text: bytes, offset: int) -> NewEvent | Sequence[Piece]:
        pieces: Sequence[Piece] = ()
        event = self._plain(text, offset)
        if event is None:
            pieces = [*self._pieces_of(text + b"\n", offset)]
            event = _only_event(pieces)
        self._line += 1
        self._is_open = False
        return event or pieces

    def torn(self, text: bytes, offset: int) -> Iterator[Piece]:
        if [(start, stop) for start, stop, _ in parse(text).records] == [(0, len(text))]:
            # A whole record is not read again: those that follow continue from the place that it has in the store.
            yield from self._pieces_of(text, offset)
            self._is_open = True
            return
        # Until the next piece is asked for, the state is that before this line.
        yield Tail()
        yield from self._pieces_of(text, offset)

    def _plain(self, body: bytes, offset: int) -> NewEvent | None:
        """Return the event of a line that is an ordinary message of the file's own session.

        Return None for any other line, and for one that needs more than its bytes and the records before it:
        `_pieces_of` reads every line, with the same result.
        """
        chain, seen = self._chains[0], self._seen[0]
        found = plain_message(body) if body.startswith(b"{") and body.endswith(b"}") else None
        if found is None:
            return None
        fields, facts = found
        own, named = fields.uuid, fields.parentUuid
        is_known = named is None or (named in seen and named != own)
        is_side = fields.isSidechain and not self._contents.is_of_agent
        if is_side or not is_known or not is_name(own) or is_reserved(own) or self._is_taken(0, own):
            return None
        if not self._links.pass_by(own):
            return None
        parent = None if named is None else chain.parent(named)
        time = epoch_ms(fields.timestamp)
        chain.records += 1
        seen[own] = offset
        self._parents[0][own] = "message", parent
        chain.last = chain.chained = own
        chain.date(own, time)
        return NewEvent(
            id=own, kind="message", body=body, format=VERSION, parent=parent, time=time, facts=facts
        )

    def _pieces_of(self, raw: bytes, offset: int) -> Iterator[Piece]:
        """Yield the pieces of a line at an offset."""
        parsed, at = parse(raw), 0
        for start, stop, fields in parsed.records:
            place = self._place(fields)
            body = raw[start:stop]
            remarks: list[tuple[str, str]] = []
            record = self._record(body, offset + start, fields, place, remarks.append)
            if record is not None:
                if at < start:
                    yield Glue(raw[at:start])
                yield record
                at = stop
                yield from self._links.of(place, record.event, fields)
                if fields.type == "last-prompt":
                    yield from self._moved(place, record.event, fields)
            for what, reason in remarks:
                yield SourceRemark("skipped" if what == "skipped" else "differs", self._line, reason, place)
        if at < len(raw):
            yield LINE_END if raw[at:] == LINE_END.data else Glue(raw[at:])
        if parsed.problem:
            yield SourceRemark("skipped", self._line, parsed.problem)
        yield from (SourceRemark("differs", self._line, each) for each in parsed.differs)

    @cached_property
    def _to_come(self) -> list[dict[str, str | None]]:
        """All records of this reading with the parents that they name, by session.

        A parent may come later than its child, but rarely does: only then does this read the file twice.
        """
        file = self._contents.source.file
        here = file.tell()
        file.seek(self._offset)
        found: list[dict[str, str | None]] = [{} for _ in self._chains]
        for raw in file:
            for start, stop, fields in parse(raw).records:
                if fields.is_chained:
                    place, own = self._place(fields), stored_id(fields.uuid)
                    parent = fields.parentUuid
                    named = stored_id(parent) if isinstance(parent, str) and is_name(parent) else None
                    is_first = own not in found[place] and not self._is_taken(place, own)
                    found[place].setdefault(own, named)
                    if is_first and is_boundary(fields):
                        # A boundary is read together with its summary, and may come after it.
                        self._boundaries[place, own] = raw[start:stop]
        file.seek(here)
        return found

    def _continue(self, place: int) -> Iterator[DerivedEvent]:
        """Find what earlier summaries keep; yield copies of records whose parents come now."""
        chain = self._chains[place]
        if chain.is_late or chain.orphans or not chain.is_whole:
            self._keep_earlier(place)
        here = chain.orphans.keys() & self._to_come[place].keys() if chain.orphans else ()
        arrived = {own: parent for parent in here for own in chain.orphans.pop(parent)}
        if arrived:
            yield from self._copies(place, arrived)

    def _copies(self, place: int, arrived: dict[str, str]) -> Iterator[DerivedEvent]:
        """Yield copies of records, and of all below them, below the parents that they name.

        Events never change.

        `arrived` are the names of these records with those of their parents.
        """
        below = {
            each.seq: each
            for own in arrived
            for each in self._known.descendants(self._known.name(place), own)
        }
        parents = {each.id: arrived.get(each.id, each.parent) for each in below.values()}
        way = {each for parent in arrived.values() for each in self._above_it(place, parent, parents)}
        chain, copies = self._chains[place], dict[str, str]()
        chain.is_late = True
        made: list[DerivedEvent] = []
        for _, stored in sorted(below.items()):
            fields = fields_of(stored.body)
            if stored.id not in arrived and (
                stored.parent not in copies or self._has_copy(place, stored, fields)
            ):
                continue
            parent = arrived.get(stored.id) or copies.get(stored.parent or "", stored.parent)
            if stored.flags & Flag.ORPHAN and stored.id in way and stored.id not in arrived:
                # It was attached to a record that turns out to be below it.
                parent = self._above_copies(place, stored.parent, copies)
            copies[stored.id] = copy = copy_id(stored.id, str(parent))
            chain.copies[recorded_id(stored.id)] = copy
            self._parents[place][copy] = stored.kind, parent
            if is_boundary(fields):
                self._boundaries[place, copy] = stored.body
            above = self._above(place, parent) if stored.kind == "compaction" else None
            facts = facts_of(stored.kind, stored.body, fields, above)
            if stored.flags & Flag.ORPHAN and stored.id not in arrived:
                facts = msgspec.structs.replace(facts, flags=facts.flags | Flag.ORPHAN)
            event = NewEvent(
                id=copy,
                kind=stored.kind,
                body=stored.body,
                format=VERSION,
                parent=parent,
                time=stored.time,
                facts=facts,
            )
            made.append(DerivedEvent(event, session=place, waits_for=arrived.get(stored.id, "")))
        self._begun[place] = self._above_copies(place, self._begun[place], copies)
        chain.replace(copies)
        for each in made:
            # A summary may have been read before the messages that it keeps.
            event = msgspec.structs.replace(each.event, facts=chain.retargeted(each.event.facts))
            yield msgspec.structs.replace(each, event=event)

    def _has_copy(self, place: int, stored: Event, fields: Fields) -> bool:
        """Return True if a record was copied to below its parent before."""
        named = fields.parentUuid
        if not stored.flags & Flag.ORPHAN or not (isinstance(named, str) and is_name(named)):
            return False
        return self._known.event(self._known.name(place), copy_id(stored.id, stored_id(named))) is not None

    def _above_copies(self, place: int, name: str | None, copies: Mapping[str, str]) -> str | None:
        """Return the first of a record and those above it that has no copy."""
        while name in copies:
            name = self._parent_of(place, str(name))[1]
        return name

    def _keep_earlier(self, place: int) -> None:
        """Find what the summaries of earlier readings keep."""
        chain, earlier = self._chains[place], self._earlier[place]
        since, chain.kept = chain.kept, {}
        for above, own in earlier.items():
            self._keep(place, above, own)
        chain.kept |= since
        earlier.clear()

    def _is_before_summary(self, place: int, name: str) -> bool:
        """Return True if a summary of an earlier reading came after a record, which it may keep."""
        earlier, session = self._earlier[place], self._known.name(place)
        if not earlier or name in self._seen[place]:
            return False
        stored, summary = (
            self._known.event(session, each) for each in (name, next(reversed(earlier.values())))
        )
        return stored is not None and summary is not None and stored.seq < summary.seq

    def _keep(self, place: int, above: str, own: str) -> None:
        """Give records behind a summary that continue from a message it keeps the summary as parent."""
        chain, boundary = self._chains[place], self._above(place, above)
        kept = kept_by(boundary) if boundary else None
        if kept is None or kept.before:
            return
        # What follows names the last message that is kept; a rewind, any of them.
        names = self._run(place, kept.first, kept.last) if kept.ids is None else kept.ids
        ids = [*map(stored_id, {*names, kept.last})]
        chain.is_whole &= bool(names) and all(self._parent_of(place, each)[0] for each in ids)
        chain.kept |= dict.fromkeys(ids, own)

    def _run(self, place: int, first: str, last: str) -> Sequence[str]:
        """Return the ids of the path from a record to a later one; empty if it is broken."""
        names: dict[str, None] = {}
        at: str | None = stored_id(last)
        first = stored_id(first)
        while at is not None and at not in names:
            names[at] = None
            if at == first:
                return list(names)
            at = self._parent_of(place, at)[1]
        return ()

    def _parent_of(self, place: int, name: str) -> tuple[str, str | None]:
        """Return the kind of a record read so far, and its parent; ("", None) if it is unknown."""
        if (found := self._parents[place].get(name)) is not None:
            return found
        stored = self._known.event(self._known.name(place), name)
        return (stored.kind, stored.parent) if stored else ("", None)

    def _place(self, fields: Fields) -> int:
        if self._contents.is_of_agent or fields.isSidechain is not True or not fields.is_chained:
            return 0
        return self._contents.sides.get(fields.uuid, 0)

    def _record(
        self, body: bytes, start: int, fields: Fields, place: int, remark: Callable[[tuple[str, str]], None]
    ) -> SourceRecord | None:
        """Return the piece of a record at an offset; None if it is a duplicate or cannot be stored."""
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
                if own != (named := stored_id(fields.uuid)):
                    chain.instead[chain.current(named)] = own
            else:
                own, parent, waits_for, is_guessed = self._minted(place, kind, body), chain.last, "", False
            above = self._above(place, parent) if kind == "compaction" else None
            facts = facts_of(kind, body, fields, above)
            facts = chain.retargeted(facts)
            if is_guessed:
                facts = msgspec.structs.replace(facts, flags=facts.flags | Flag.ORPHAN)
        except Exception as error:  # noqa: BLE001  no record may keep the others from being read
            remark(("skipped", f"cannot be read ({type(error).__name__})"))
            return None
        chain.count(fields)
        self._seen[place][own] = start
        if kind != "note":
            self._parents[place][own] = kind, parent
            if is_boundary(fields):
                self._boundaries[place, own] = body
            self._go_on(place, fields, kind, own)
            if fields.is_chained or parent in (chain.newest, chain.tip):
                chain.date(own, time)
        event = NewEvent(
            id=own,
            kind=kind,
            body=body,
            format=VERSION,
            parent=parent,
            time=time,
            facts=facts,
        )
        return SourceRecord(event, session=place, line=self._line, waits_for=waits_for)

    def _go_on(self, place: int, fields: Fields, kind: str, own: str) -> None:
        """Make a record the newest one in the tree."""
        chain = self._chains[place]
        if not fields.is_chained and chain.last is not None:
            chain.instead[chain.last] = own
        if is_boundary(fields):
            chain.boundary = own
        elif kind == "compaction" and chain.boundary is not None:
            chain.summaries[chain.boundary] = own
            self._keep(place, chain.boundary, own)
            chain.boundary = None
        chain.last = own
        if fields.is_chained:
            chain.chained = own

    def _moved(self, place: int, note: NewEvent, fields: Fields) -> Iterator[DerivedEvent]:
        """Yield a move to the leaf that a `last-prompt` names, if the newest path leaves its path.

        So a rewind after which nothing was said moves the session too.
        """
        chain, named = self._chains[place], fields.leafUuid
        if not (isinstance(named, str) and is_name(named)):
            return
        leaf, newest = chain.current(stored_id(named)), chain.last
        if newest is None or not self._is_placed(place, leaf):
            return
        if not self._leaves_messages(place, leaf, newest):
            return
        chain.last = chain.newest = leaf
        chain.tip = None
        move = compose(LeafMoved(from_id=newest), id=f"moved-{note.id}", time=note.time, parent=leaf)
        # `leaf` walks down from the newest record: the move is the newest below this one.
        self._parents[place][move.id] = move.kind, leaf
        yield DerivedEvent(move, session=place)

    def _is_placed(self, place: int, leaf: str) -> bool:
        """Return True if a leaf and all its ancestors have been read so far."""
        above, placed, seen = self._parents[place], self._placed[place], set[str]()
        at: str | None = leaf
        while at in above and at not in seen and at not in placed:
            seen.add(at)
            at = above[at][1]
        if at is not None and at not in placed:
            is_known = at in self._chains[place].instead.values() or self._known.body(place, at) is not None
            if at in seen or not is_known:
                return False
            placed.add(at)
        placed |= seen
        return True

    def _leaves_messages(self, place: int, leaf: str, newest: str) -> bool:
        """Return True if a message is on the path to the newest record but not on the leaf's."""
        at: str | None = newest
        seen = set[str]()
        while at is not None and at != leaf and at not in seen:
            seen.add(at)
            kind, at = self._parent_of(place, at)
            if kind == "message":
                return True
        return at != leaf

    def _above(self, place: int, parent: str | None) -> Fields | None:
        if parent is None:
            return None
        body = self._boundaries.get((place, parent))
        if body is None and (stored := self._known.event(self._known.name(place), parent)) is not None:
            body = stored.body
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
            named = fields.logicalParentUuid
        if kind == "compaction" and chain.boundary is not None:
            return chain.boundary, "", False
        if named is None and not is_boundary(fields):
            return None, "", False
        if isinstance(named, str) and is_name(named) and (name := stored_id(named)) != own:
            if self._is_before_summary(place, name):
                self._keep_earlier(place)
            if name in self._seen[place] or name in chain.kept or self._is_stored(place, name):
                return chain.parent(name), "", False
            if name in self._to_come[place]:
                chain.is_late = True
                return name, name, False
            chain.orphans.setdefault(name, []).append(own)
        before = self._before(place, own)
        if is_boundary(fields) or before is None:
            return before, "", False
        problem = f"its parent {str(named)[:80]!r} is not in the file: it continues from the previous record"
        remark(("differs", problem))
        return before, "", True

    def _before(self, place: int, own: str) -> str | None:
        """Return the newest record that is not below another one, which it was read before."""
        last = self._chains[place].last
        if last is None or not self._chains[place].is_late or own not in self._above_it(place, last):
            return last
        others = (each for each in reversed(self._parents[place]) if own not in self._above_it(place, each))
        return next(others, self._begun[place])

    def _above_it(
        self, place: int, name: str, earlier: Mapping[str, str | None] = MappingProxyType({})
    ) -> Iterator[str]:
        """Yield the ids of a record and of those above it.

        Records of earlier readings end the walk, except those in `earlier`.
        """
        above, seen = self._parents[place], set[str]()
        at: str | None = name
        while at is not None and at not in seen:
            seen.add(at)
            yield at
            known = earlier if at in earlier else self._to_come[place]
            named = None if at in above else known.get(at)
            at = above[at][1] if at in above else named and self._chains[place].current(named)

    def _is_stored(self, place: int, name: str) -> bool:
        return self._known.has(place, name)

    def _is_repeat(self, place: int, own: str, body: bytes) -> bool:
        if own in self._seen[place]:
            return self._seen[place].is_repeat(own, body)
        return self._known.body(place, own) == body

    def _is_taken(self, place: int, own: str) -> bool:
        return own in self._seen[place] or self._known.body(place, own) is not None

    def _free(self, place: int, own: str) -> str:
        return self._counted(place, f"{own}~")

    def _minted(self, place: int, kind: str, body: bytes) -> str:
        """Return an id for a record without one, made from its contents and a repetition count."""
        base = f"{kind}-{sha256(body).hexdigest()[:16]}"
        return base if not self._is_taken(place, base) else self._counted(place, f"{base}-")

    def _counted(self, place: int, base: str) -> str:
        """Return the first free numbered id, in as many steps as its number has digits."""
        high = 2
        while self._is_taken(place, f"{base}{high}"):
            high *= 2
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            if self._is_taken(place, f"{base}{middle}"):
                low = middle
            else:
                high = middle
        return f"{base}{high}"


def _only_event(pieces: Sequence[Piece]) -> NewEvent | None:
    """Return the event of a line that is one record of the first session, None for others.

    The record waits for none, and is valid UTF-8.
    """
    if len(pieces) != 2 or pieces[1] is not LINE_END:  # noqa: PLR2004  the record, and its line end
        return None
    record = pieces[0]
    if not isinstance(record, SourceRecord) or record.session or record.waits_for:
        return None
    return None if record.event.facts.flags & Flag.REPLACED_TEXT else record.event
