"""Whether what others appended while a summary was made leaves it anything to stand for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from eventstore.event import Event
from eventstore.frame import decode, header_of
from eventstore.log import Snapshot
from projections.audit.coverage import bears_message
from projections.context.cursor import Standpoint, stand

COMPACTED: Final = "somebody has compacted it meanwhile"
LEFT: Final = "somebody has left the branch meanwhile"
WENT_ON: Final = "somebody has gone on from there meanwhile"


def overtaken(snapshot: Snapshot, at: Standpoint, *, since: int, is_elsewhere: bool) -> str:
    """Why a summary of the path to a leaf has nothing to stand for any more, "" where it has.

    `since` is the session's version by which the leaf was chosen. `is_elsewhere`: another leaf than the session's
    own was asked for; who goes on below that one does so from what was there. Else the session may have grown, and
    the summary stands all the same.
    """
    if is_elsewhere:
        kinds = {entry.kind for entry in _come_below(snapshot, at, since)}
        return COMPACTED if "compaction" in kinds else WENT_ON if kinds else ""
    here = stand(snapshot, at.session)
    frames = {head.seq: head for head in map(header_of, snapshot.path(here.session, here.leaf))}
    if at.leaf not in frames:
        return LEFT
    return "" if frames[at.leaf].compaction_seq == frames[here.leaf].compaction_seq else COMPACTED


def went_on(snapshot: Snapshot, at: Standpoint, since: int) -> bool:
    """Whether a message or a compaction has come below a leaf since a version of the session."""
    return next(_come_below(snapshot, at, since), None) is not None


def _come_below(snapshot: Snapshot, at: Standpoint, since: int) -> Iterator[Event]:
    for frame in snapshot.frames(at.session, first=since + 1):
        entry = decode(frame, at.session)
        if entry.kind == "compaction" or bears_message(entry):
            above = next(iter(snapshot.path(at.session, entry.seq, first=at.leaf)), None)
            if above is not None and header_of(above).seq == at.leaf:
                yield entry
