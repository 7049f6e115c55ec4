"""The base of a harness's rules: how it makes a request of a path.

The defaults suit a harness whose records hold a message each, and whose compactions keep a run of the path.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from eventstore.event import Event
from eventstore.formats import view_of
from eventstore.log import Snapshot
from eventstore.paths import LazyEvent, event
from eventstore.records import Shown

if TYPE_CHECKING:
    from projections.context.parts import Part


class Place(NamedTuple):
    """An entry of a session of the store."""

    session: str
    entry: str


class Selection(msgspec.Struct, frozen=True):
    """Which entries of a path a context shows, and in what order.

    The path counts from entry `first` on. `compaction` is the one in effect: its summary stands first, or behind
    what it keeps (`keeps_before`). `kept` are the ids of the entries above it that stay, None for all from `first` on.
    `prefix` is an entry of another session whose context stands before all that.
    """

    first: int = 1
    compaction: LazyEvent | None = None
    kept: frozenset[str] | None = None
    keeps_before: bool = False
    prefix: Place | None = None


def run_kept(snapshot: Snapshot, leaf: LazyEvent) -> Selection:
    """Return what a context shows where compactions keep a run of the path; reads no record."""
    if not leaf.compaction_seq:
        return Selection()
    compaction = event(snapshot, leaf.session, leaf.compaction_seq)
    return Selection(first=compaction.target_seq or leaf.compaction_seq + 1, compaction=compaction)


class Rules(ABC):
    """The rules of one harness. `select` and `arrange` work on a session's path, the others on single records."""

    name: str
    format: str
    """The format of the messages that these rules make."""
    kinds: frozenset[str] = frozenset()
    """Kinds of entries that show messages other than the one stored in their record."""
    arranges: bool = False
    """True if `arrange` changes anything; where it does not, a context is spliced of stored bytes."""

    def select(self, snapshot: Snapshot, leaf: LazyEvent) -> Selection:
        """Return what a context at a leaf shows of its path: by default what the newest compaction keeps, and the rest.

        That is what the compaction lists, or all from the first entry that it keeps.
        """
        selected = run_kept(snapshot, leaf)
        said = view_of(selected.compaction, snapshot).compaction if selected.compaction else None
        if said is None or said.kept is None:
            return selected
        places = filter(None, (snapshot.locate(leaf.session, name) for name in said.kept))
        return msgspec.structs.replace(
            selected,
            first=min(places, default=leaf.compaction_seq + 1),
            kept=frozenset(said.kept),
            keeps_before=said.keeps_before,
        )

    def arrange(self, snapshot: Snapshot, parts: Sequence[Part]) -> Sequence[Part]:  # noqa: ARG002  others ask it
        """Return the parts as the harness sends them: groups joined, parallel results together, some left out."""
        return parts

    @abstractmethod
    def summary(self, compaction: Event | LazyEvent, record: bytes) -> Sequence[bytes]:
        """Return what a compaction in effect shows; `record` is its own, or what its harness made of it later."""

    @abstractmethod
    def show(self, entry: Event | LazyEvent, record: bytes) -> Sequence[bytes]:
        """Return the messages of an entry of `kinds`; `record` is its own, or what its harness made of it later."""

    @abstractmethod
    def rewrite(self, messages: Sequence[bytes], shown: Sequence[Shown]) -> Sequence[bytes]:
        """Return the messages of one entry with content shown otherwise; empty if nothing of it shows."""

    @abstractmethod
    def placeholder(self, text: str, time: int | None) -> bytes:
        """Return a message that stands for several; `time` in epoch milliseconds."""

    def window_start(self, compaction: Event, previous: Event | None) -> int:  # noqa: ARG002  others ask it
        """Return the number of the first entry that went into a compaction's summary; 0 for the root.

        `previous` is the compaction that was in effect above it. By default its window begins where that one left off:
        at its first kept entry.
        """
        return (previous.target_seq or previous.seq) if previous else 0

    def plain_fold(self, file: bytes) -> bytes | None:  # noqa: ARG002  others read it
        """Return the context at the leaf of a session's file, made by decoding every line of it; None by default.

        A harness without a store does that, so `refold bench` measures against it. It need not know rewrites and undos.
        """
        return None

    def document(self, messages: list[bytes | memoryview], settings: bytes) -> bytes:
        """Return a context as JSON: the messages, then the settings' JSON, spliced as they are. Uses the list up."""
        opened = b'{"messages":['
        closed = b"]," + settings[1:]
        if not messages:
            return opened + closed
        # One join, so that the bytes of the messages are copied once.
        messages[0] = opened + messages[0]
        messages[-1] = bytes(messages[-1]) + closed
        return b",".join(messages)
