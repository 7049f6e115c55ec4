"""Read messages as opencode keeps them without events: in rows of tables, or in files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from eventstore.harnesses.names import is_name
from eventstore.harnesses.opencode.document import Order, message_event, session_event
from eventstore.harnesses.opencode.related_sessions import child_links
from eventstore.harnesses.opencode.session_records import Json, Record, record_of, time_of
from eventstore.harnesses.source import Piece, SourceRecord, SourceRemark, SourceSession


class Rows(msgspec.Struct, frozen=True):
    """A session without events: its place, the places of all by name, and when it began."""

    session: SourceSession
    place: int
    places: Mapping[str, int]
    began: int

    @classmethod
    def of(cls, session: SourceSession, info: Json, places: Mapping[str, int]) -> Rows:
        """Return the rows of a session; `info` is what it says of itself."""
        return cls(session, places[session.name], places, time_of(info) or 0)

    def header(self, body: bytes, line: int) -> SourceRecord:
        """Return the record of what the session says of itself."""
        event = session_event(body, self.session.name, self.session.format)
        return SourceRecord(event, session=self.place, line=line)

    def messages(self, bodies: Iterable[bytes], line: int) -> Iterator[Piece]:
        """Yield messages from their JSON; those from before the session are another's copies."""
        found = [self._marked(record_of(body), body) for body in bodies]
        order = Order(record for record, _ in found if is_name(record.message))
        for at, (record, body) in enumerate(found, line + 1):
            if not is_name(record.message):
                yield SourceRemark("skipped", at, "a message that cannot be read", self.place)
                continue
            event = message_event(record, body, self.session.format, order)
            yield SourceRecord(event, session=self.place, line=at)
            yield from child_links(self.session.name, self.place, event.id, record.parts, self.places)

    def _marked(self, record: Record, body: bytes) -> tuple[Record, bytes]:
        if (record.time or self.began) >= self.began:
            return record, body
        marked = body[:-1] + b',"copied":true}'
        return record_of(marked), marked


def joined(info: bytes, parts: Iterable[bytes]) -> bytes:
    """Return a message with its parts as an export has it."""
    return b'{"info":%b,"parts":[%b]}' % (info, b",".join(parts))
