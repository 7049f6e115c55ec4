"""Read the records of a Claude Code file, for the sessions that it holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, Protocol

from eventstore.event import Absent, Flag, NewEvent, Place
from eventstore.harnesses.claude_code.links import Links
from eventstore.harnesses.claude_code.meaning import facts_of
from eventstore.harnesses.claude_code.record import (
    KNOWN_TYPES,
    VERSION,
    Fields,
    is_boundary,
    is_known_type,
    kind_of,
    place_of,
)
from eventstore.harnesses.claude_code.transcript_lines import alone, parse
from eventstore.harnesses.lines import REPEAT, count_type
from eventstore.harnesses.names import stored_id
from eventstore.harnesses.source import (
    LINE_END,
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
    without_parent,
)
from eventstore.javascript import epoch_ms, is_utf8
from eventstore.records import Remark, Resume

_REPLACED_TEXT: Final = int(Flag.REPLACED_TEXT)
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
    """The state of a session while its file is read.

    `orphans` maps missing parents to the lines of the records that name them, `unknown` counts the records of unknown
    types, `chained` is the newest record with an id of its own. A boundary counts until the record after it; if that is
    a plugin's, what the compaction keeps follows as copies, with times before that of the boundary.
    """

    def __init__(self, state: dict[str, Any]) -> None:
        self.chained: str | None = state.get("chained")
        self._boundary: str = state.get("boundary", "")
        self._began: int | None = state.get("began")
        self.records: int = state.get("records", 0)
        self.unknown: dict[str, int] = dict(state.get("unknown", {}))
        self.orphans: dict[str, list[int]] = {
            parent: [*lines] for parent, lines in state.get("orphans", {}).items()
        }

    def kind_of(self, fields: Fields) -> str:
        """Return the kind of a record: what a plugin puts in place of a summary is one."""
        kind = kind_of(fields)
        is_behind = self._boundary and fields.parentUuid == self._boundary
        is_plugins = is_behind and fields.rowSource == "hook" and fields.type == "user" and kind == "message"
        return "compaction" if is_plugins else kind

    def place_of(self, own: str, fields: Fields, kind: str, time: int | None) -> tuple[str | None, Place]:
        """Return a record's parent and place; a result that a plugin keeps follows the boundary."""
        is_kept = self._began is not None and not self._boundary and time is not None and time < self._began
        if is_kept and kind == "message" and fields.contents[0].role == "toolResult":
            return None, Place(absent=Absent.PREVIOUS, continues=True)
        return place_of(own, fields, kind)

    def go_on(self, own: str, fields: Fields, kind: str, time: int | None) -> None:
        """Go past a record with a place in the tree."""
        self.chained = own
        if is_boundary(fields):
            self._boundary, self._began = fields.uuid, time
        elif self._boundary:
            is_plugins = kind == "compaction" and fields.isCompactSummary is not True
            self._boundary, self._began = "", self._began if is_plugins else None

    def count(self, fields: Fields) -> None:
        """Count a record, and its type if that is unknown."""
        self.records += 1
        if fields.type not in KNOWN_TYPES and not is_known_type(fields.type):
            count_type(self.unknown, fields.type)

    @property
    def state(self) -> dict[str, Any]:
        return {
            "records": self.records,
            **({"chained": self.chained} if self.chained else {}),
            **({"boundary": self._boundary} if self._boundary else {}),
            **({"began": self._began} if self._began is not None else {}),
            **({"unknown": dict(self.unknown)} if self.unknown else {}),
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
        self._links = Links(
            contents.session,
            [each.name for each in contents.sessions],
            known,
            VERSION,
            begun={place for place, chain in enumerate(self._chains) if chain.chained is not None},
            newest=self._chains[0].chained,
        )

    @property
    def line(self) -> int:
        return self._line + self._is_open

    @property
    def state(self) -> dict[str, Any]:
        names = (each.name for each in self._contents.sessions)
        return {
            "sessions": {name: chain.state for name, chain in zip(names, self._chains, strict=True)},
            **({"open": True} if self._is_open else {}),
        }

    def records(self, session: int) -> int:
        return self._chains[session].records

    def unknown(self, session: int) -> Mapping[str, int]:
        return self._chains[session].unknown

    def orphans(self, session: int) -> Sequence[Remark]:
        orphans = self._chains[session].orphans
        found = sorted((line, parent) for parent, lines in orphans.items() for line in lines)
        return [without_parent(*each, "it continues from the previous record") for each in found]

    def pieces(self) -> Iterator[Piece]:
        yield from pieces_of_lines(self._contents.source.file, self._offset, self)
        yield from self._links.at_end()

    def whole(self, text: bytes, offset: int) -> NewEvent | Sequence[Piece]:
        found: NewEvent | Sequence[Piece]
        fields, beside = alone(text), list[Piece]()
        if fields is None:
            found = [*self._pieces_of(text + b"\n", offset)]
        else:
            place = self._place(fields)
            event = self._event(text, offset, fields, place, beside)
            if event is None:
                found = [*beside, Glue(text + LINE_END.data)]
            elif beside or place:
                found = [SourceRecord(event, session=place, line=self._line), *beside, LINE_END]
            else:
                found = event
        self._line += 1
        self._is_open = False
        return found

    def torn(self, text: bytes, offset: int) -> Iterator[Piece]:
        if [(start, stop) for start, stop, _ in parse(text).records] == [(0, len(text))]:
            # A whole record is not read again: those that follow continue from the place that it has in the store.
            yield from self._pieces_of(text, offset)
            self._is_open = True
            return
        # Until the next piece is asked for, the state is that before this line.
        yield Tail()
        yield from self._pieces_of(text, offset)

    def go_past(self) -> None:
        self._line += 1
        self._is_open = False

    def _pieces_of(self, raw: bytes, offset: int) -> Iterator[Piece]:
        """Yield the pieces of a line at an offset, with its end, however damaged it is."""
        parsed, at = parse(raw), 0
        for start, stop, fields in parsed.records:
            place, beside = self._place(fields), list[Piece]()
            body = raw[start:stop]
            flags = 0 if is_utf8(body) else _REPLACED_TEXT
            event = self._event(body, offset + start, fields, place, beside, flags)
            if event is not None:
                if at < start:
                    yield Glue(raw[at:start])
                yield SourceRecord(event, session=place, line=self._line)
                at = stop
            yield from beside
        if at < len(raw):
            yield LINE_END if raw[at:] == LINE_END.data else Glue(raw[at:])
        if parsed.problem:
            yield SourceRemark("skipped", self._line, parsed.problem)
        yield from (SourceRemark("differs", self._line, each) for each in parsed.differs)

    def _place(self, fields: Fields) -> int:
        if self._contents.is_of_agent or fields.isSidechain is not True or not fields.is_chained:
            return 0
        return self._contents.sides.get(fields.uuid, 0)

    def _event(  # noqa: PLR0917  every record comes here
        self, body: bytes, start: int, fields: Fields, place: int, beside: list[Piece], flags: int = 0
    ) -> NewEvent | None:
        """Return the event of a record at an offset; None if it is a duplicate or cannot be stored.

        Add the links that it implies, and remarks on it, to `beside`. `flags` are those of its bytes.
        """
        chain, seen = self._chains[place], self._seen[place]
        try:
            kind = chain.kind_of(fields)
            time = epoch_ms(fields.timestamp)
            facts = facts_of(kind, body, fields, flags)
            is_chained = fields.is_chained
            if is_chained:
                own = stored_id(fields.uuid)
                if self._is_taken(place, own):
                    if self._is_repeat(place, own, body):
                        beside.append(SourceRemark("skipped", self._line, REPEAT, place))
                        return None
                    reason = f"id {fields.uuid!r} is taken: {_IN_PLACE}"
                    beside.append(SourceRemark("differs", self._line, reason, place))
                    own = self._free(place, own)
            else:
                own = self._minted(place, kind, body)
            parent, its_place = chain.place_of(own, fields, kind, time)
        except Exception as error:  # noqa: BLE001  no record may keep the others from being read
            reason = f"cannot be read ({type(error).__name__})"
            beside.append(SourceRemark("skipped", self._line, reason, place))
            return None
        chain.count(fields)
        is_missing = (
            is_chained and parent and parent not in seen and parent != own and not is_boundary(fields)
        )
        if is_missing and parent and not self._known.has(place, parent):
            chain.orphans.setdefault(parent, []).append(self._line)
        seen[own] = start
        chain.orphans.pop(own, None)
        if is_chained:
            chain.go_on(own, fields, kind, time)
        event = NewEvent(
            id=own,
            kind=kind,
            body=body,
            format=VERSION,
            parent=parent,
            time=time,
            facts=facts,
            place=its_place,
        )
        if links := self._links.of(place, event, fields):
            beside[:0] = links
        return event

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
