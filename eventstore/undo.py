"""Which events of a path are in effect, undos considered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from eventstore.frame import Buffer, Header, header_of, names_of
from eventstore.kinds import UNDONE

ReadFrame = Callable[[int], Buffer]
"""Gives the frame of a sequence number of the session at hand."""


def append_of(frame: Buffer, head: Header) -> str:
    """Return what an undo undoes as a whole: the cause that the events of an append share, else the event's own id."""
    event_id, cause = names_of(frame, head)
    return cause or event_id


def in_effect(
    newest_first: Iterable[Buffer], read: ReadFrame, *, undoing: int = 0
) -> Iterator[tuple[Buffer, Header]]:
    """Return the frames of a path that no undo on it has put out of effect, newest first, with their headers.

    Newest first, an undo is met before what it undoes, and an undo of an undo before that one. `undoing` is
    the number of an event whose append counts as undone from the start, 0 for none.
    """
    undone = {append_at(undoing, read)} if undoing else set()
    for frame in newest_first:
        head = header_of(frame)
        if undone and append_of(frame, head) in undone:
            continue
        if head.kind == UNDONE and head.target_seq:
            undone.add(append_at(head.target_seq, read))
        yield frame, head


def append_at(seq: int, read: ReadFrame) -> str:
    """Return the append that an event belongs to, by its number; see `append_of`."""
    frame = read(seq)
    return append_of(frame, header_of(frame))
