"""Going elsewhere in a session's tree, with or without a summary of what is left behind."""

from __future__ import annotations

from compaction.file_tags import with_file_tags
from eventstore.errors import NotFoundError
from eventstore.frame import decode
from eventstore.log import Snapshot
from eventstore.records import BranchSummary, LeafMoved
from eventstore.writing import SessionWriter
from projections.files import files_of
from projections.standpoint import Leaf, Standpoint, path, stand


def move_to(writer: SessionWriter, target: Leaf) -> str:
    """Stand at another entry, or at `ROOT`; the move is an entry below it, and its id is given.

    Raises NotFoundError, and VersionConflictError where somebody appended in the meantime.
    """
    with writer.log.snapshot() as snapshot:
        here = stand(snapshot, writer.session)
        there = stand(snapshot, writer.session, leaf=target)
        version = snapshot.head(writer.session).version
        left, parent = _id_at(snapshot, here) or "", _id_at(snapshot, there)
    return writer.append(LeafMoved(from_id=left), parent=parent, expected=version)[0]


def record_branch_summary(writer: SessionWriter, *, summary: str, target: Leaf) -> str:
    """Leave the branch that the session stands on for `target`, and put a summary of it there.

    The summary is about the entries from the leaf up to, not including, the deepest one that both paths
    share; the files that those touched are recomputed. Gives the new entry's id. Raises NotFoundError, also
    where there is nothing to summarize, and VersionConflictError where somebody appended in the meantime.
    """
    with writer.log.snapshot() as snapshot:
        here, there = stand(snapshot, writer.session), stand(snapshot, writer.session, leaf=target)
        version = snapshot.head(writer.session).version
        shared = {entry.seq for entry in path(snapshot, there)}
        left = [entry for entry in path(snapshot, here) if entry.seq not in shared]
        if all(entry.kind == "leaf_moved" for entry in left):
            raise NotFoundError(
                "entries to summarize before", str(target), "the target is on this very branch"
            )
        files = files_of(left, snapshot).lists()
        parent = _id_at(snapshot, there)
    record = BranchSummary(
        from_id=parent or "root", summary=with_file_tags(summary, files), left=left[-1].id, details=files
    )
    return writer.append(record, parent=parent, expected=version)[0]


def _id_at(snapshot: Snapshot, at: Standpoint) -> str | None:
    return decode(snapshot.frame(at.session, at.leaf), at.session).id if at.leaf else None
