"""Decide at which entry a session stands after an import."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from eventstore.event import NewEvent
from eventstore.files.matching import ImportTarget
from eventstore.frame import decode, header_of
from eventstore.harnesses.refold.events import compose
from eventstore.log import Snapshot
from eventstore.records import Import, LeafMoved, embedded

_LEAVES_LEAF_ALONE: Final = frozenset({"label", "session_info"})
"""Kinds of refold's own entries that do not keep the leaf from following a grown file."""
_CONTINUES: Final = "continues-"
"""Begins the ids of moves to where a harness continues from a file."""
_MOVES: Final = (_CONTINUES, "moved-")
"""Beginnings of the ids of moves that follow from files."""


def settle(
    snapshot: Snapshot, target: ImportTarget, record: Import, rewritten: str | None
) -> tuple[int, bool, NewEvent | None]:
    """Return the session's version, True if it has diverged, and a move of its leaf if due.

    If the file's last entry came since the last import, the session follows the file; otherwise it stays where
    it stood. A session that stood at an entry of its own follows only a file that continues from it. `rewritten` is
    the path of a file that does not continue from the last import.
    """
    session, is_diverged = target.session, False
    head = snapshot.head(session)
    leaf = stood = _stood(snapshot, target)
    is_own = _is_own(snapshot, session, stood)
    last = snapshot.locate(session, target.last) if target.last else 0
    is_moved = head.leaf <= target.since and head.leaf != stood and not _is_own(snapshot, session, head.leaf)
    is_cut_back = last and not is_own and _is_cut_back(target, record, is_in_place=head.source == rewritten)
    if last > target.since or is_moved or is_cut_back:
        # Where its harness continues need not be the file's last entry.
        goal = last if is_cut_back or _is_own(snapshot, session, head.leaf) else head.leaf
        follows = not is_own or is_on_path(snapshot, session, stood, goal)
        leaf = goal if follows else stood
        is_diverged = not follows and not is_on_path(snapshot, session, goal, stood)
    # Without an entry of the file, or an earlier one, the leaf is that of another import meanwhile.
    if not leaf or _unmoved(snapshot, session, head.leaf) == _unmoved(snapshot, session, leaf):
        return head.version, is_diverged, None
    newest, here = (decode(snapshot.frame(session, seq), session) for seq in (head.leaf, leaf))
    move = LeafMoved(from_id=newest.id)
    event_id = f"{_CONTINUES}{record.digest[:16]}-{target.newest_seq}"
    return head.version, is_diverged, compose(move, id=event_id, time=newest.time, parent=here.id)


def follows_file(snapshot: Snapshot, target: ImportTarget, events: Sequence[NewEvent]) -> bool:
    """Return True if `settle` would find the session behind these next events of its file.

    Nothing has followed the last import, the session stands at an entry of the file, and no event moves it elsewhere.
    """
    head = snapshot.head(target.session)
    return (
        head.version == target.newest_seq
        and not _is_own(snapshot, target.session, head.leaf)
        and not any(each.place and (each.place.moves_to or each.place.drops) for each in events)
    )


def _is_cut_back(target: ImportTarget, record: Import, *, is_in_place: bool) -> bool:
    """Return True if the session's file was rewritten, without the session's last position.

    A file that merely ends earlier may be an older copy of it.
    """
    newest = target.newest
    if newest is None or not is_in_place or target.shared.leaf is None:
        return False
    return bool(target.shared.changed) or embedded(newest.header) != embedded(record.header)


def is_on_path(snapshot: Snapshot, session: str, seq: int, leaf: int) -> bool:
    """Return True if an entry is on the path to a leaf."""
    # The path from the entry on begins with it, or further down if the entry is not on it.
    first = next(iter(snapshot.path(session, leaf, first=seq)), None)
    return first is not None and header_of(first).seq == seq


def _stood(snapshot: Snapshot, target: ImportTarget) -> int:
    """Return the entry where the session stood before this import, and before unfinished ones."""
    if not target.since:
        return 0
    for frame in snapshot.frames(target.session, first=target.since + 1, backward=True):
        event = decode(frame, target.session)
        if event.is_entry and event.is_own and not event.id.startswith(_MOVES):
            return event.seq
    before = decode(snapshot.frame(target.session, target.since), target.session)
    return before.seq if before.is_entry else before.parent_seq


def _is_own(snapshot: Snapshot, session: str, seq: int) -> bool:
    """Return True if an entry is the session's own, under its labels and imports' moves."""
    while seq:
        event = decode(snapshot.frame(session, seq), session)
        if not event.is_own:
            return False
        if event.kind not in _LEAVES_LEAF_ALONE and not event.id.startswith(_MOVES):
            return True
        seq = event.parent_seq
    return False


def _unmoved(snapshot: Snapshot, session: str, seq: int) -> int:
    """Return the entry that imports have moved to, if an entry is such a move, else the entry."""
    while seq:
        event = decode(snapshot.frame(session, seq), session)
        if not event.parent_seq or not event.id.startswith(_MOVES):
            break
        seq = event.parent_seq
    return seq
