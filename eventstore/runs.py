"""Walk up a session's tree: the runs of a path, and what is in effect on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from eventstore.errors import CorruptionError
from eventstore.frame import Buffer, cause_of, id_of, pointers_of
from eventstore.kinds import UNDONE
from eventstore.log import Head

ReadFrame = Callable[[int], Buffer]
"""Returns the frame with a sequence number of the session."""


def runs_above(leaf: int, read: ReadFrame) -> Iterator[tuple[int, int]]:
    """Yield the runs of a path, newest first: the numbers of their first and last entries.

    A walk along damaged pointers ends, too.
    """
    seen = set[int]()
    while leaf and leaf not in seen:
        seen.add(leaf)
        _, _, above, run_start, *_ = pointers_of(read(leaf))
        yield run_start, leaf
        if run_start != leaf:
            _, _, above, *_ = pointers_of(read(run_start))
        leaf = above


def runs_of_path(head: Head, leaf: int, first: int, read: ReadFrame) -> list[tuple[int, int]]:
    """Return a path as runs of numbers, from entry `first` on.

    Without that entry on the path, they are of the entries with later numbers. Raises CorruptionError for pointers
    that lead nowhere.
    """
    runs = list[tuple[int, int]]()
    for start, stop in runs_above(leaf, read):
        if not 0 < start <= stop:
            raise CorruptionError(head.name, stop, "its run of entries starts after it")
        if start <= first <= stop:
            return [(first, stop), *reversed(runs)]
        if not head.is_late:
            if runs and stop >= runs[-1][0]:
                raise CorruptionError(head.name, runs[-1][0], "its parent comes after it")
            if stop < first:
                break
        runs.append((start, stop))
    return [(max(start, first), stop) for start, stop in reversed(runs) if stop >= first]


def append_of(frame: Buffer) -> str:
    """Return the key of an event's append: the common cause, else the event's own id."""
    return cause_of(frame) or id_of(frame)


def in_effect(newest_first: Iterable[Buffer], read: ReadFrame, *, undoing: int = 0) -> Iterator[Buffer]:
    """Yield the frames of a path's entries in effect, newest first.

    From newest to oldest, an undo comes before what it undoes, and an undo of an undo before that one.
    `undoing` is the number of an event whose append counts as undone from the start, 0 for none.
    """
    undone = {append_at(undoing, read)} if undoing else set()
    for frame in newest_first:
        if undone and append_of(frame) in undone:
            continue
        if frame[1] == UNDONE and (target := pointers_of(frame)[-1]):
            undone.add(append_at(target, read))
        yield frame


def append_at(seq: int, read: ReadFrame) -> str:
    """Return the key of the append that event number `seq` belongs to; see `append_of`."""
    return append_of(read(seq))
