"""Where an event stands: what its frame says of the path above it.

Computed once, when the event is appended, from its parent's frame; a fold then jumps instead of walking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from eventstore.event import Flag, NewEvent
from eventstore.frame import Header, header_of, names_of
from eventstore.kinds import COMPACTION, REWRITE, UNDONE, CODE_OF_KIND, is_entry

ReadFrame = Callable[[int], "bytes | memoryview"]
"""Gives the frame of a sequence number of the session at hand."""


class Standing(NamedTuple):
    """The pointers of a frame; names follow `Event`."""

    flags: Flag
    run_start: int
    compaction_seq: int
    model_seq: int
    thinking_seq: int
    target_seq: int


def stand(event: NewEvent, seq: int, parent_seq: int, target_seq: int, read: ReadFrame) -> Standing:
    """The standing of an event that is about to be `seq`, child of `parent_seq`, pointing at `target_seq`."""
    flags = event.facts.flags
    if not is_entry(event.kind):
        return Standing(flags | Flag.OFF_PATH, seq, 0, 0, 0, target_seq)
    above = header_of(read(parent_seq)) if parent_seq else None
    kind = CODE_OF_KIND.get(event.kind, 0)
    if kind in (REWRITE, UNDONE) or (above and above.flags & Flag.OVERLAID):
        flags |= Flag.OVERLAID
    compaction = above.compaction_seq if above else 0
    if kind == COMPACTION:
        compaction = seq
        target_seq = target_seq if _lies_on_path(target_seq, parent_seq, read) else 0
    elif kind == UNDONE:
        compaction = _effective_compaction(parent_seq, target_seq, read)
    return Standing(
        flags=flags,
        run_start=above.run_start if above and parent_seq == seq - 1 else seq,
        compaction_seq=compaction,
        model_seq=seq if flags & Flag.SETS_MODEL else above.model_seq if above else 0,
        thinking_seq=seq if flags & Flag.SETS_THINKING else above.thinking_seq if above else 0,
        target_seq=target_seq,
    )


def _lies_on_path(seq: int, leaf: int, read: ReadFrame) -> bool:
    if not seq:
        return False
    while leaf > seq:
        run_start = header_of(read(leaf)).run_start
        if run_start <= seq:
            return True
        leaf = header_of(read(run_start)).parent_seq
    return leaf == seq


def _upward(leaf: int, read: ReadFrame) -> Iterator[tuple[int, Header, str]]:
    """Sequence number, header and append name (see `append_of`) of each entry from `leaf` to the root."""
    while leaf:
        frame = read(leaf)
        head = header_of(frame)
        yield leaf, head, append_of(frame, head)
        leaf = head.parent_seq


def append_of(frame: bytes | memoryview, head: Header) -> str:
    """What an undo undoes as a whole: the cause shared by the events of an append, else the event's own id."""
    event_id, cause = names_of(frame, head)
    return cause or event_id


def _effective_compaction(leaf: int, target_seq: int, read: ReadFrame) -> int:
    """The newest compaction on the path that stays in effect once `target_seq`'s append is undone.

    Newest first, an undo is met before what it undoes, and an undo of an undo before that one.
    """
    undone = {_append_at(target_seq, read)} if target_seq else set()
    for seq, head, append in _upward(leaf, read):
        if append in undone:
            continue
        if head.kind == UNDONE and head.target_seq:
            undone.add(_append_at(head.target_seq, read))
        elif head.kind == COMPACTION:
            return seq
    return 0


def _append_at(seq: int, read: ReadFrame) -> str:
    frame = read(seq)
    return append_of(frame, header_of(frame))
