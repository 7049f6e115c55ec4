"""Choose what goes back behind compactions that a session has recorded."""

from __future__ import annotations

from collections.abc import Iterator

from compaction.giving_back import GivenBack, Words, words_behind
from eventstore.errors import NotFoundError
from eventstore.event import Event
from eventstore.log import Snapshot
from projections.context.build import context_at
from projections.context.cursor import Cursor, newest_first, path
from projections.context.parts import view_of_part
from projections.pieces import pieces_of


def behind_newest(snapshot: Snapshot, cursor: Cursor, words: Words) -> GivenBack:
    """Return what goes back behind the newest compaction on a path.

    Raises NotFoundError if there is none.
    """
    for entry in newest_first(snapshot, cursor):
        if entry.kind == "compaction":
            return behind(snapshot, cursor, entry, words)
    raise NotFoundError("compaction in session", cursor.session, "its file has none yet")


def at_boundaries(snapshot: Snapshot, cursor: Cursor, words: Words) -> Iterator[tuple[str, int, GivenBack]]:
    """Yield the id and number of each compaction on a path, and what would go back behind it."""
    for entry in path(snapshot, cursor):
        if entry.kind == "compaction" and entry.parent_seq:
            yield entry.id, entry.seq, behind(snapshot, cursor, entry, words)


def behind(snapshot: Snapshot, cursor: Cursor, compaction: Event, words: Words) -> GivenBack:
    """Return what goes back: what the context that the compaction made does not show."""
    shown = context_at(snapshot, cursor.at_leaf(compaction.seq)).parts
    pieces = (
        pieces_of(view_of_part(each), by_person=each.by_person and not each.continues) for each in shown
    )
    seen = "\n".join(text for several in pieces for _, text in several)
    return words_behind(snapshot, cursor.at_leaf(compaction.parent_seq), words, summary=seen)
