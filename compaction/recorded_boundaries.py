"""Choose what goes back behind compactions that a session has recorded."""

from __future__ import annotations

from collections.abc import Iterator

from compaction.giving_back import GivenBack, Words, words_behind
from compaction.judge.material import pieces_in
from eventstore.errors import NotFoundError
from eventstore.event import Event
from eventstore.log import Snapshot
from projections.context.build import context_at
from projections.context.cursor import Cursor, newest_first, path


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
    shown = context_at(snapshot, cursor.at_leaf(compaction.seq))
    seen = "\n".join(each.text for each in pieces_in(shown.parts))
    return words_behind(snapshot, cursor.at_leaf(compaction.parent_seq), words, summary=seen)
