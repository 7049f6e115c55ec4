"""Write a session as an oh-my-pi file: a title line of fixed size, then pi's records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eventstore.event import Event
from eventstore.formats.oh_my_pi.dialect import DIALECT, SLOT
from eventstore.formats.oh_my_pi.titled_file import SLOT_BYTES
from eventstore.formats.pi.export import export_file
from eventstore.frame import decode
from eventstore.javascript import iso_time, stringify, tolerant_json
from eventstore.log import Snapshot


def export_titled(snapshot: Snapshot, session: str) -> Iterator[bytes]:
    """Yield the lines of a version 3 file for a session, including what the store appended."""
    yield title_slot(*_title(snapshot, session))
    yield from export_file(snapshot, session, DIALECT)


def _title(snapshot: Snapshot, session: str) -> tuple[str, str]:
    """Return a session's newest title and its time, from an entry or from the imported file."""
    titles = [snapshot.locate(session, each) for each in snapshot.ids(session, "title-")]
    newest = snapshot.head(session).info_seq or max(titles, default=0)
    event: Event | None = decode(snapshot.frame(session, newest), session) if newest else None
    fields: Any = tolerant_json(event.body) if event else {}
    title = fields.get("title", fields.get("name"))
    return title if isinstance(title, str) else "", iso_time(event.time if event else None) or iso_time(
        0
    ) or ""


def title_slot(title: str, updated_at: str) -> bytes:
    """Return a file's first line: 256 bytes with its line end; a title that does not fit is cut."""
    while True:
        fields = {"type": SLOT, "v": 1, "title": title, "updatedAt": updated_at, "pad": ""}
        line = stringify(fields).encode("utf-8", "replace")
        room = SLOT_BYTES - 1 - len(line)
        if room >= 0:
            return line.removesuffix(b'"}') + b" " * room + b'"}\n'
        title = title[: min(len(title) - 1, SLOT_BYTES)]
