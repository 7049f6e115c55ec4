"""Read the records of a Claude Code file, for the sessions that it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, Protocol

from eventstore.event import Flag, NewEvent
from eventstore.harnesses.claude_code.links import Links
from eventstore.harnesses.claude_code.meaning import facts_of, plain_message
from eventstore.harnesses.claude_code.record import (
    PLAIN,
    VERSION,
    Fields,
    is_boundary,
    is_known_type,
    kind_of,
    place_of,
)
from eventstore.harnesses.claude_code.transcript_lines import parse
from eventstore.harnesses.lines import REPEAT, count_type
from eventstore.harnesses.names import is_name, is_reserved, stored_id
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
from eventstore.javascript import epoch_ms
from eventstore.records import Remark, Resume

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
    types, `chained` is the newest record with an id of its own.
    """

    def __init__(self, state: dict[str, Any]) -> None:
        self.chained: str | None = state.get("chained")
        self.records: int = state.get("records", 0)
        self.unknown: dict[str, int] = dict(state.get("unknown", {}))
        self.orphans: dict[str, list[int]] = {
            parent: [*lines] for parent, lines in state.get("orphans", {}).items()
        }

    def count(self, fields: Fields) -> None:
        """Count a record, and its type if that is unknown."""
        self.records += 1
        if not is_known_type(fields.type):
            count_type(self.unknown, fields.type)

    @property
    def state(self) -> dict[str, Any]:
        return {
            "records": self.records,
            **({"chained": self.chained} if self.chained else {}),
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

    def go_past(self) -> None:
        self._line += 1
        self._is_open = False

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
        if own in chain.orphans or not self._links.pass_by(own):
            return None
        chain.records += 1
        seen[own] = offset
        chain.chained = own
        return NewEvent(
            id=own,
            kind="message",
            body=body,
            format=VERSION,
            parent=named,
            time=epoch_ms(fields.timestamp),
            facts=facts,
            place=PLAIN,
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
            for what, reason in remarks:
                yield SourceRemark("skipped" if what == "skipped" else "differs", self._line, reason, place)
        if at < len(raw):
            yield LINE_END if raw[at:] == LINE_END.data else Glue(raw[at:])
        if parsed.problem:
            yield SourceRemark("skipped", self._line, parsed.problem)
        yield from (SourceRemark("differs", self._line, each) for each in parsed.differs)

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
            facts = facts_of(kind, body, fields)
            if fields.is_chained:
                own = stored_id(fields.uuid)
                if self._is_repeat(place, own, body):
                    remark(("skipped", REPEAT))
                    return None
                if self._is_taken(place, own):
                    remark(("differs", f"id {fields.uuid!r} is taken: {_IN_PLACE}"))
                    own = self._free(place, own)
            else:
                own = self._minted(place, kind, body)
            parent, its_place = place_of(own, fields, kind)
        except Exception as error:  # noqa: BLE001  no record may keep the others from being read
            remark(("skipped", f"cannot be read ({type(error).__name__})"))
            return None
        chain.count(fields)
        self._seen[place][own] = start
        chain.orphans.pop(own, None)
        if fields.is_chained:
            chain.chained = own
            if parent and parent != own and not self._is_known(place, parent) and not is_boundary(fields):
                chain.orphans.setdefault(parent, []).append(self._line)
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
        return SourceRecord(event, session=place, line=self._line)

    def _is_known(self, place: int, name: str) -> bool:
        return name in self._seen[place] or self._known.has(place, name)

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

    The record is valid UTF-8.
    """
    if len(pieces) != 2 or pieces[1] is not LINE_END:  # noqa: PLR2004  the record, and its line end
        return None
    record = pieces[0]
    if not isinstance(record, SourceRecord) or record.session:
        return None
    return None if record.event.facts.flags & Flag.REPLACED_TEXT else record.event
