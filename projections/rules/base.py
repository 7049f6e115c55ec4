"""The base class for a harness's rules: how it builds a request from a path.

The defaults suit a harness whose records hold one message each and whose compactions keep a contiguous run of
the path.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, Literal, Protocol

import msgspec
from msgspec import UNSET, UnsetType

from eventstore.errors import NotFoundError
from eventstore.event import Event, Flag
from eventstore.harnesses import node_of
from eventstore.imports import CONTEXT_LINK
from eventstore.log import Snapshot
from eventstore.node import PromptView
from eventstore.paths import LazyEvent, Order, event
from eventstore.records import Link, TextReplacement, own_record

if TYPE_CHECKING:
    from projections.context.parts import Part


SYSTEM_PROMPT: Final = "system prompt"
TOOL_DEFINITIONS: Final = "tool definitions"
MEMORY_FILES: Final = "memory files"


class EntryRef(msgspec.Struct, frozen=True):
    """A reference to an entry of any session in the store."""

    session: str
    entry: str


class Selection(msgspec.Struct, frozen=True):
    """The entries of a path that a context shows, and their order.

    Entries before number `first` are ignored. `compaction` is the one in effect: its summary comes first, or
    after what it keeps if `keeps_before`. `kept` are the ids of the entries above it that stay, None for all
    from `first` on. `leading` are the numbers of entries off the path that come before the summary. `prefix` is an
    entry of another session whose context comes before everything else.
    """

    first: int = 1
    compaction: LazyEvent | None = None
    kept: frozenset[str] | None = None
    keeps_before: bool = False
    leading: tuple[int, ...] = ()
    prefix: EntryRef | None = None


def select_kept_run(snapshot: Snapshot, leaf: LazyEvent) -> Selection:
    """Select what a context shows if compactions keep a contiguous run; reads no record."""
    if not leaf.compaction_seq:
        return Selection()
    is_leaf = leaf.kind == "compaction"
    compaction = leaf if is_leaf else event(snapshot, leaf.session, leaf.compaction_seq)
    return Selection(first=compaction.target_seq or compaction.seq, compaction=compaction)


def continued_from(snapshot: Snapshot, session: str) -> EntryRef | None:
    """Return the entry of another session from which this one's context continues.

    None if there is none; also if the store lacks it: then the session begins midway (`Rules.begins_midway`).
    """
    seq = snapshot.locate(session, CONTEXT_LINK)
    link = own_record(event(snapshot, session, seq)) if seq else None
    if not isinstance(link, Link):
        return None
    try:
        seq = snapshot.locate(link.session, link.event)
    except NotFoundError:
        return None
    found = event(snapshot, link.session, seq) if seq else None
    if found is not None and not found.is_entry:
        found = event(snapshot, link.session, found.parent_seq) if found.parent_seq else None
    return EntryRef(link.session, found.id) if found is not None else None


def native_provider(compaction: Event | LazyEvent) -> str:
    """Return the provider that alone can read the history behind a compaction, "" for a summary."""
    view = node_of(compaction).compaction
    return view.native if view else ""


class Check(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A figure in a record, compared with what refold computes.

    `event` and `seq` identify the record. `expected` is the record's figure, `found` is refold's, both in `unit`.
    `difference` names the first message of a recorded request that differs, or what a record names and none has.
    """

    name: str
    event: str
    seq: int
    expected: int
    found: int
    passed: bool
    unit: Literal["messages", "tokens"] = "messages"
    difference: str | UnsetType = UNSET


class RecordedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request as the harness recorded it.

    `answer` is the number of the first record of its answer, whose parent is the leaf of the context. `hashes` name
    its messages, by `hash_of` a message of `Rules.document`.
    `is_reproduced` says if its parts give the recorded digest of the whole, None if one is missing.
    """

    answer: int
    hash_of: Callable[[bytes], str]
    hashes: Sequence[str]
    is_reproduced: bool | None


SENT_AGAIN: Final = "files and lists sent again after a compaction"
"""The gap for content that a harness restores without a record."""


class Gap(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Content that the model was sent, or stopped being sent, and that no record holds.

    It starts at the entry `event`, number `seq`; None and 0 before the first message. `tokens` is its size,
    negative for removed content, None if unknown.
    """

    what: str
    event: str | None = None
    seq: int = 0
    tokens: int | None = None


class Beside(Protocol):
    """Find the entries off a path that a context shows, such as results of parallel calls.

    `found` lists the numbers of those that show with the path so far, in order, and `lost` those of entries that
    showed above, but no longer do: always the first of those found.
    """

    found: list[int]
    lost: list[int]

    def add(self, entry: Event | LazyEvent) -> bool:
        """Advance to the next entry of the path; move found ones that no longer show to the lost.

        Return False if entries of the path no longer show either.
        """


class Rules(ABC):
    """The rules of one harness.

    `select` and `arrange` work on a session's path, the other methods on single records.
    """

    name: str
    format: str
    """The format of the messages that these rules produce."""
    kinds: frozenset[str] = frozenset()
    """Kinds of entries whose messages differ from the one stored in their record."""
    arranges: bool = False
    """True if `arrange` changes anything; if not, a context can be spliced from stored bytes."""
    arranged_by: frozenset[str] = frozenset()
    """Kinds of entries behind which `arrange` changes messages, though not `arranges` always."""
    format_names: frozenset[str] = frozenset()
    """Names that `--format` accepts for contexts built by these rules, besides "native"."""
    summarizes_unsent = False
    """True if compactions summarize answers that requests leave out."""
    records_thinking: bool = True
    """False if no record of the harness says which thinking level is in use."""
    unrecorded: tuple[str, ...] = (SYSTEM_PROMPT, TOOL_DEFINITIONS)
    """Unrecorded content at the start of every request, except a prompt (`PromptView`)."""

    def select(self, snapshot: Snapshot, leaf: LazyEvent) -> Selection:
        """Select what a context at a leaf shows of its path.

        By default that is what the newest compaction keeps, and all after it. A compaction keeps the entries
        that it lists, or all from its first kept entry on.
        """
        selected = select_kept_run(snapshot, leaf)
        view = node_of(selected.compaction, snapshot).compaction if selected.compaction else None
        if view is None or view.kept is None:
            return selected
        places = [seq for name in view.kept if (seq := snapshot.locate(leaf.session, name))]
        return msgspec.structs.replace(
            selected,
            first=min(places, key=Order(snapshot, leaf.session).place, default=leaf.compaction_seq),
            kept=frozenset(view.kept),
            keeps_before=view.keeps_before,
        )

    def beside(self, snapshot: Snapshot, session: str) -> Beside | None:  # noqa: ARG002  others ask it
        """Return a finder of entries off a path that a context shows; None, the default, for none.

        Rules that return a finder must set `arranges`.
        """
        return None

    def arrange(
        self,
        snapshot: Snapshot,  # noqa: ARG002  others ask it
        leaf: LazyEvent,  # noqa: ARG002
        parts: Sequence[Part],
    ) -> Sequence[Part]:
        """Return a context's parts as the harness sends them: by default only joined."""
        return self.joined(parts)

    def is_arranged_by(self, snapshot: Snapshot, entry: Event | LazyEvent) -> bool:  # noqa: ARG002  others ask it
        """Return True if `arrange` may change messages above an entry of `arranged_by`."""
        return True

    def arranges_at(self, snapshot: Snapshot, leaf: LazyEvent, first: int) -> bool:  # noqa: ARG002  others ask it
        """Return True if `arrange` may change messages of entries from number `first` to a leaf.

        One of them is of `arranged_by`.
        """
        return True

    def varies_by(self, snapshot: Snapshot, leaf: LazyEvent) -> Hashable:  # noqa: ARG002  others ask it
        """Return what `arrange` depends on besides the parts, such as the model; by default nothing."""
        return None

    def joined(self, parts: Sequence[Part]) -> Sequence[Part]:
        """Return parts with the records of one message as one part; by default each is a message.

        A summary is made of these, also of turns that failed, which `arrange` may leave out of requests.
        """
        return parts

    def settled(self, snapshot: Snapshot, parts: Sequence[Part]) -> int:  # noqa: ARG002  others ask it
        """Return how many leading parts `arrange` handles the same way whatever follows them.

        Walks along a path arrange the remaining parts at every entry: by default, all of them. A part that shares
        one of its `links` with these parts may change them after all.
        """
        return 0

    def links(self, part: Part) -> frozenset[Hashable]:  # noqa: ARG002  others ask it
        """Return the ids of the calls that a part makes or answers, if `arrange` compares them.

        Walks along a path arrange all parts anew when a part has an id of a settled one.
        """
        return frozenset()

    @abstractmethod
    def show(self, entry: Event | LazyEvent, record: bytes) -> Sequence[bytes]:
        """Return the messages of an entry of `kinds`, or of the compaction in effect.

        `record` is the entry's own record, or its harness's later version of it.
        """

    @abstractmethod
    def rewrite(self, messages: Sequence[bytes], shown: Sequence[TextReplacement]) -> Sequence[bytes]:
        """Return an entry's messages with content replaced; empty if nothing of it remains visible."""

    @abstractmethod
    def placeholder(self, text: str, time: int | None) -> bytes:
        """Return one message that replaces several; `time` is in epoch milliseconds."""

    def begins_midway(self, snapshot: Snapshot, root: LazyEvent) -> bool:  # noqa: ARG002  others ask it
        """Return True if messages before a path's first entry are in no session of the store.

        By default, they did if the record names a parent that is not there.
        """
        return bool(root.flags & Flag.ORPHAN)

    def gaps(self, snapshot: Snapshot, entries: Iterable[LazyEvent]) -> Iterable[Gap]:  # noqa: ARG002  others ask it
        """Yield unrecorded content that the harness sent along a path, oldest first; default: none.

        Leave `tokens` as None if only usage can tell: the excess in the next measured call fills it in. Otherwise
        it is refold's estimate, which is scaled by what the provider counts.
        Content of every request belongs in `unrecorded`.
        """
        return ()

    def checks(self, snapshot: Snapshot, session: str) -> Iterable[Check]:  # noqa: ARG002  others ask it
        """Yield checks of figures in the harness's own records; by default nothing.

        These must be exact. Usage and the claims of compactions are checked for every harness.
        """
        return ()

    def recorded_requests(self, snapshot: Snapshot, session: str) -> Iterable[RecordedRequest]:  # noqa: ARG002
        """Yield the requests that the harness recorded and got an answer to; by default nothing."""
        return ()

    def recorded_prompt(self, snapshot: Snapshot, leaf: LazyEvent) -> PromptView:  # noqa: ARG002
        """Return the system prompt and tools of the newest recorded request on a leaf's path.

        Where there is one, no request of the harness has unrecorded content at its start. By default it is empty.
        """
        return PromptView()

    def document(self, messages: list[bytes | memoryview], settings: bytes) -> bytes:
        """Splice the JSON of messages and settings into a context's JSON. Consumes the list."""
        opened = b'{"messages":['
        closed = b"]," + settings[1:]
        if not messages:
            return opened + closed
        # Join once, so that the bytes of the messages are copied once.
        messages[0] = opened + messages[0]
        messages[-1] = bytes(messages[-1]) + closed
        return b",".join(messages)
