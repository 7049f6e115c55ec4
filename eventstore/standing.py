"""Where an event stands: what its frame says of the path above it.

Computed once, when the event is appended, from its parent's frame; a fold then jumps instead of walking.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from eventstore.event import Flag, NewEvent
from eventstore.frame import Buffer, header_of, pointers_of
from eventstore.kinds import CODE_OF_KIND, COMPACTION, REWRITE, UNDONE, is_entry
from eventstore.undo import ReadFrame, append_at, append_of, in_effect


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
        _, _, _, run_start, *_ = pointers_of(read(leaf))
        if run_start <= seq:
            return True
        _, _, above, *_ = pointers_of(read(run_start))
        leaf = _older(above, leaf)
    return leaf == seq


def _upward(leaf: int, read: ReadFrame) -> Iterator[Buffer]:
    while leaf:
        frame = read(leaf)
        yield frame
        _, _, above, *_ = pointers_of(frame)
        leaf = _older(above, leaf)


def _older(above: int, leaf: int) -> int:
    """What lies above an entry; nothing where damaged pointers lead down again, so that every walk ends."""
    return above if above < leaf else 0


def _effective_compaction(leaf: int, target_seq: int, read: ReadFrame) -> int:
    """The newest compaction on the path that stays in effect once `target_seq`'s append is undone."""
    above = header_of(read(leaf)) if leaf else None
    if above is None:
        return 0
    if not above.flags & Flag.OVERLAID and target_seq:
        # No undo above: the newest compaction, if there is one, is in effect, and it goes, or stays.
        if not above.compaction_seq:
            return 0
        newest = read(above.compaction_seq)
        if append_of(newest, header_of(newest)) != append_at(target_seq, read):
            return above.compaction_seq
    effective = in_effect(_upward(leaf, read), read, undoing=target_seq)
    return next((head.seq for _, head in effective if head.kind == COMPACTION), 0)
