"""Plan a move to another entry of a session's tree; append nothing."""

from __future__ import annotations

import msgspec

from compaction.branching.summarize import NO_CONTENT_KINDS
from eventstore.checked import checked
from eventstore.event import Event
from eventstore.harnesses import node_of
from eventstore.imports import observed_rewrites
from eventstore.log import EventLog, Snapshot
from eventstore.paths import entry_id, event, path
from eventstore.records import FileOperations
from projections.context.cursor import Cursor, Leaf, resolve_cursor
from projections.files import files_of


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """The plan of a move to `target`; ids of entries are None for the root.

    `common_ancestor` is the deepest entry on both paths. `to_summarize` are the entries below it up to the
    leaf, oldest first, including compactions; `files` are those that they read and modified. `new_leaf` is
    the session's leaf after the move: the parent if the target is a message of a person or an extension,
    whose text is then `editor_text` for editing; otherwise the target itself. `stays` means that the leaf
    does not change. `summary_requested` means that a summarizer is to write a summary, which hooks may supply
    instead.
    """

    leaf: str | None
    target: str | None
    common_ancestor: str | None
    to_summarize: tuple[Event, ...]
    new_leaf: str | None
    editor_text: str | None
    files: FileOperations
    stays: bool
    summary_requested: bool = False


def plan_move(log: EventLog | Snapshot, session: str, target: Leaf) -> Move:
    """Return the plan of a move to an entry or to `ROOT`; append nothing. Raises NotFoundError.

    The rules are pi's (`navigateTree`). A move, label or title is not a place of its own: its parent counts
    instead.
    """
    with checked(log) as snapshot:
        here, there = resolve_cursor(snapshot, session), resolve_cursor(snapshot, session, leaf=target)
        shared = {entry.seq for entry in path(snapshot, session, there.leaf)}
        ancestor, left = 0, []
        for entry in path(snapshot, session, here.leaf):
            if entry.seq in shared:
                ancestor = entry.seq
            else:
                left.append(entry.decode())
        new_leaf, editor_text = there.leaf, None
        if there.leaf and there.leaf != here.leaf:
            new_leaf, editor_text = _landing(snapshot, there)
        return Move(
            leaf=entry_id(snapshot, session, here.leaf),
            target=entry_id(snapshot, session, there.leaf),
            common_ancestor=entry_id(snapshot, session, ancestor),
            to_summarize=tuple(left),
            new_leaf=entry_id(snapshot, session, new_leaf),
            editor_text=editor_text,
            files=files_of(left, snapshot).lists(),
            stays=_place(snapshot, session, new_leaf) == _place(snapshot, session, here.leaf),
        )


def _landing(snapshot: Snapshot, there: Cursor) -> tuple[int, str | None]:
    """Return the leaf (sequence number) after a move to an entry, and the text to edit."""
    entry = event(snapshot, there.session, there.leaf).decode()
    if not (entry.kind == "custom_message" or (entry.kind == "message" and entry.role == "user")):
        return entry.seq, None
    if there.has_observed:
        changed = observed_rewrites(snapshot, there.session).get(entry.seq, [entry.body])
        entry = msgspec.structs.replace(entry, body=changed[-1])
    message = node_of(entry).message
    return entry.parent_seq, message.text if message else ""


def _place(snapshot: Snapshot, session: str, seq: int) -> int:
    """Return the nearest entry at or above `seq` that is a place of its own."""
    while seq and (entry := event(snapshot, session, seq)).kind in NO_CONTENT_KINDS:
        seq = entry.parent_seq
    return seq
