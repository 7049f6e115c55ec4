"""The base of a harness's rules: how it makes a request of a path.

The defaults suit a harness whose records hold a message each, and whose compactions keep a run of the path.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from eventstore.event import Event
from eventstore.formats import view_of
from eventstore.log import Snapshot
from eventstore.paths import LazyEvent, event
from eventstore.records import TextReplacement

if TYPE_CHECKING:
    from projections.context.parts import Part


SYSTEM_PROMPT: Final = "system prompt"
TOOL_DEFINITIONS: Final = "tool definitions"


class EntryRef(NamedTuple):
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
    prefix: EntryRef | None = None


def select_kept_run(snapshot: Snapshot, leaf: LazyEvent) -> Selection:
    """Return what a context shows where compactions keep a run of the path; reads no record."""
    if not leaf.compaction_seq:
        return Selection()
    compaction = event(snapshot, leaf.session, leaf.compaction_seq)
    return Selection(first=compaction.target_seq or leaf.compaction_seq + 1, compaction=compaction)


class Check(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a record says of the contexts, beside what they are.

    `event` is the record that says it, number `seq`. `expected` is its figure, `found` ours: messages, records or
    tokens, as `name` tells.
    """

    name: str
    event: str
    seq: int
    expected: int
    found: int
    passed: bool


class Gap(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Something that the model was sent, or was no longer sent, and that no record holds.

    It begins at the entry `event`, number `seq`; None and 0 for what stands before the first message. `tokens` are
    its size, negative for content that was left out, None where nothing tells it.
    """

    what: str
    event: str | None = None
    seq: int = 0
    tokens: int | None = None


class Rules(ABC):
    """The rules of one harness. `select` and `arrange` work on a session's path, the others on single records."""

    name: str
    format: str
    """The format of the messages that these rules make."""
    kinds: frozenset[str] = frozenset()
    """Kinds of entries that show messages other than the one stored in their record."""
    arranges: bool = False
    """True if `arrange` changes anything; where it does not, a context is spliced of stored bytes."""
    format_names: frozenset[str] = frozenset()
    """The names that people may give to `--format` for a context as these rules build it, beside "native"."""
    unrecorded: tuple[str, ...] = (SYSTEM_PROMPT, TOOL_DEFINITIONS)
    """What stands in every request before its messages, and in no record unless one has a prompt (`PromptView`)."""

    def select(self, snapshot: Snapshot, leaf: LazyEvent) -> Selection:
        """Return what a context at a leaf shows of its path: by default what the newest compaction keeps, and the rest.

        That is what the compaction lists, or all from the first entry that it keeps.
        """
        selected = select_kept_run(snapshot, leaf)
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
    def rewrite(self, messages: Sequence[bytes], shown: Sequence[TextReplacement]) -> Sequence[bytes]:
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

    def gaps(self, snapshot: Snapshot, entries: Iterable[LazyEvent]) -> Iterable[Gap]:  # noqa: ARG002  others ask it
        """Yield what the harness sent at entries of a path and did not record; oldest first, by default nothing.

        Leave `tokens` None where only usage can tell: what the next call measured too much is filled in. What stands
        in every request belongs into `unrecorded`.
        """
        return ()

    def checks(self, snapshot: Snapshot, session: str) -> Iterable[Check]:  # noqa: ARG002  others ask it
        """Yield what the harness's own records say of the contexts of a session; by default nothing.

        All of it is exact. What usage says, and what compactions claim, is checked for every harness.
        """
        return ()

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
