"""Read messages as opencode keeps them without events: in rows of tables, or in files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from eventstore.harnesses.names import is_name
from eventstore.harnesses.opencode.document import Order, message_event, session_event
from eventstore.harnesses.opencode.related_sessions import child_links
from eventstore.harnesses.opencode.session_records import record_of
from eventstore.harnesses.source import Piece, SourceRecord, SourceRemark, SourceSession


class Rows(msgspec.Struct, frozen=True):
    """A session without events: its place, and the places of all by name."""

    session: SourceSession
    places: Mapping[str, int]

    @property
    def place(self) -> int:
        """The place of the session."""
        return self.places[self.session.name]

    def header(self, body: bytes, line: int) -> SourceRecord:
        """Return the record of what the session says of itself."""
        event = session_event(body, self.session.name, self.session.format)
        return SourceRecord(event, session=self.place, line=line)

    def messages(self, bodies: Iterable[bytes], line: int) -> Iterator[Piece]:
        """Yield messages from their JSON."""
        found = [(record_of(body), body) for body in bodies]
        order = Order(record for record, _ in found if is_name(record.message))
        for at, (record, body) in enumerate(found, line + 1):
            if not is_name(record.message):
                yield SourceRemark("skipped", at, "a message that cannot be read", self.place)
                continue
            event = message_event(record, body, self.session.format, order)
            yield SourceRecord(event, session=self.place, line=at)
            yield from child_links(self.session.name, self.place, event.id, record.parts, self.places)


def joined(info: bytes, parts: Iterable[bytes]) -> bytes:
    """Return a message with its parts as an export has it."""
    return b'{"info":%b,"parts":[%b]}' % (info, b",".join(parts))
