"""Whether what others appended while a summary was made leaves it anything to stand for."""

from __future__ import annotations

from eventstore.frame import decode, header_of
from eventstore.log import Snapshot
from projections.coverage import bears_message
from projections.standpoint import Standpoint, stand


def overtaken(snapshot: Snapshot, at: Standpoint, *, since: int, is_elsewhere: bool) -> str:
    """Why a summary of the path to a leaf has nothing to stand for any more, "" where it has.

    `since` is the session's version by which the leaf was chosen. `is_elsewhere`: another leaf than the session's
    own was asked for; who goes on below that one does so from what was there. Else the session may have grown, and
    the summary stands all the same.
    """
    if is_elsewhere:
        return "somebody has compacted that leaf or gone on from it" if went_on(snapshot, at, since) else ""
    here = stand(snapshot, at.session)
    return "" if _only_grew(snapshot, at, here) else "somebody has compacted or left the branch"


def _only_grew(snapshot: Snapshot, at: Standpoint, here: Standpoint) -> bool:
    """Whether a branch is what it was, or longer, with the same compaction in effect."""
    frames = {head.seq: head for head in map(header_of, snapshot.path(here.session, here.leaf))}
    return at.leaf in frames and frames[at.leaf].compaction_seq == frames[here.leaf].compaction_seq


def went_on(snapshot: Snapshot, at: Standpoint, since: int) -> bool:
    """Whether a message or a compaction has come below a leaf since a version of the session."""
    for frame in snapshot.frames(at.session, first=since + 1):
        entry = decode(frame, at.session)
        if entry.kind == "compaction" or bears_message(entry):
            above = next(iter(snapshot.path(at.session, entry.seq, first=at.leaf)), None)
            if above is not None and header_of(above).seq == at.leaf:
                return True
    return False
