"""Search the messages of all sessions, and find the fate of each in its context."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from enum import StrEnum
from itertools import islice
from typing import Final

import msgspec

from eventstore.errors import CorruptionError, NotFoundError
from eventstore.harnesses import format_of, node_of
from eventstore.log import EventLog, Progress, Snapshot, damage_behind
from eventstore.paths import LazyEvent, event, events, path
from projections.audit.readings import losses_by_event
from projections.context.build import context_at, parts_in_native_history
from projections.context.cursor import resolve_cursor
from projections.context.parts import Fate, Part
from projections.descriptions import event_name
from projections.files import beside
from projections.search.full_text import open_index
from projections.search.words import Excerpt, Query, text_of_message, text_of_node

_WIDTH: Final = 200
"""Characters of an excerpt."""


class State(StrEnum):
    """The place of a found event, as seen from its session's current leaf."""

    CONTEXT = "context"
    """In the context: the model is sent it."""
    COMPACTED = "compacted"
    """Before the compaction in effect, and not kept."""
    NATIVE = "native"
    """Before the compaction in effect, in a history that only its provider can read."""
    REWRITTEN = "rewritten"
    """In the context, but a rewrite replaced the text that matches."""
    REMOVED = "removed"
    """Of the path to the leaf but not in the context: undone, or left out by the rules."""
    BRANCH = "branch"
    """On another branch of the session."""
    UNSENT = "unsent"
    """A record that no model was sent: a title, or a summary undone before the next call."""

    @property
    def is_gone(self) -> bool:
        """True if the model was sent it, and the context does not have it as far as it can be read."""
        return self not in (State.CONTEXT, State.UNSENT)


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """An event that matches; `name` is its role or kind, `time` in epoch milliseconds.

    `losses` say what a model read was lost of it, if the search asked for that.
    """

    session: str
    seq: int
    id: str
    name: str
    time: int | None
    state: State
    excerpt: Excerpt
    losses: tuple[str, ...] = ()


def search(
    log: EventLog,
    folder: str | os.PathLike[str] | None,
    query: Query,
    *,
    limit: int | None = None,
    sessions: Collection[str] | None = None,
    gone: bool = False,
    lost: bool = False,
    width: int = _WIDTH,
    progress: Progress = lambda _done, _total: None,
    read: EventLog | Snapshot | None = None,
    problems: dict[str, str] | None = None,
) -> list[Hit]:
    """Return the events that match a query, those with the newest time first.

    There are at most `limit`. The index in the store's `folder` catches up first (None: a temporary one); each hit is
    read from the log, and matched again. `sessions` are those to search, None for all. With `gone`, only hits whose
    state `is_gone`; with `lost`, only those that a reading quotes for a loss. Excerpts have about `width` characters,
    of the texts that `read` has (None: the log): what it hides is not found. `problems` gets what is wrong with damaged
    sessions, by name, and without it, one raises CorruptionError. Raises StoreError.
    """
    with open_index(log, folder, progress) as index:
        found = index.find(query.expression, sessions)
        with (read or log).snapshot() as snapshot:
            reading = _Reading(snapshot, query, gone=gone, lost=lost, width=width)
            for head in snapshot.heads():
                if not head.version and (sessions is None or head.name in sessions):
                    with _isolated(snapshot, head.name, problems):
                        snapshot.head(head.name)
            hits = (reading.isolated_hit(session, seq, problems) for session, seq in found)
            return list(islice((hit for hit in hits if hit is not None), limit))


def search_by_reading(
    snapshot: Snapshot, session: str, query: Query, *, limit: int | None = None, gone: bool = False
) -> list[Hit]:
    """Return the events of one session that match, the newest first, without an index.

    See `search`. Of some thousand events, this takes less time than to bring an index up to date.
    """
    reading = _Reading(snapshot, query, gone=gone, lost=False, width=_WIDTH)
    hits = (reading.hit(session, seq) for seq in range(snapshot.head(session).version, 0, -1))
    return list(islice((hit for hit in hits if hit is not None), limit))


@contextmanager
def _isolated(snapshot: Snapshot, session: str, problems: dict[str, str] | None) -> Iterator[None]:
    """Let a session's damage be a problem, if somebody takes it."""
    try:
        yield
    except Exception as error:
        damage = error if isinstance(error, CorruptionError) else damage_behind(error, snapshot, [session])
        if problems is None or damage is None:
            raise
        problems[session] = str(damage)


class _Reading:
    """Read what an index has found, once for sessions that share it."""

    def __init__(self, snapshot: Snapshot, query: Query, *, gone: bool, lost: bool, width: int) -> None:
        self._snapshot, self._query, self._width = snapshot, query, width
        self._gone, self._lost = gone, lost
        # A fork has the events that it shares with its original under the same digests: one of them is enough.
        self._shown = set[bytes]()
        self._contexts: dict[str, _Context] = {}
        self._losses: dict[str, dict[int, tuple[str, ...]]] = {}

    def isolated_hit(self, session: str, seq: int, problems: dict[str, str] | None) -> Hit | None:
        """Return a hit as `hit` does, None for a damaged session."""
        if session not in (problems or ()):
            with _isolated(self._snapshot, session, problems):
                return self.hit(session, seq)
        return None

    def hit(self, session: str, seq: int) -> Hit | None:
        """Return an event as it was searched for, None if it is not, or was returned before."""
        try:
            each = event(self._snapshot, session, seq)
        except NotFoundError:
            # The store was replaced just now.
            return None
        if each.digest in self._shown:
            return None
        losses = self._losses_of(session).get(seq, ()) if self._lost else ()
        if self._lost and not losses:
            return None
        view = node_of(each, self._snapshot)
        excerpt = self._query.excerpt(text_of_node(view), self._width)
        if excerpt is None:
            return None
        has_messages = bool(view.messages) or view.summary is not None
        state = self._context_of(session).state(each, self._query) if has_messages else State.UNSENT
        if self._gone and not state.is_gone:
            return None
        self._shown.add(each.digest)
        return Hit(
            session=session,
            seq=seq,
            id=each.id,
            name=event_name(each.decode()),
            time=each.time,
            state=state,
            excerpt=excerpt,
            losses=losses,
        )

    def _losses_of(self, session: str) -> dict[int, tuple[str, ...]]:
        if session not in self._losses:
            self._losses[session] = losses_by_event(self._snapshot, session)
        return self._losses[session]

    def _context_of(self, session: str) -> _Context:
        if session not in self._contexts:
            self._contexts[session] = _Context(self._snapshot, session)
        return self._contexts[session]


class _Context:
    """The current context of a session, and the path to its leaf."""

    def __init__(self, snapshot: Snapshot, session: str) -> None:
        cursor = resolve_cursor(snapshot, session)
        self._snapshot, self._session = snapshot, session
        self._parts: dict[int, list[Part]] = {}
        sent = context_at(snapshot, cursor)
        for part in sent.parts:
            if part.session == session:
                for seq in (part.seq, *part.merged):
                    self._parts.setdefault(seq, []).append(part)
        native = parts_in_native_history(snapshot, sent)
        self._native = {seq for part in native if part.session == session for seq in (part.seq, *part.merged)}
        on_path = list(path(snapshot, session, cursor.leaf))
        # Results of parallel calls stand beside the path and were sent with it.
        others = beside(snapshot, on_path) if on_path else ()
        self._path = {each.seq for each in (*on_path, *others)}
        self._compaction = event(snapshot, session, cursor.leaf).compaction_seq if cursor.leaf else 0

    def state(self, found: LazyEvent, query: Query) -> State:
        """Return where an event with messages is."""
        if parts := self._parts.get(found.seq):
            is_changed = all(part.fate is Fate.REWRITTEN for part in parts)
            if is_changed and not any(query.matches(_text_of(part)) for part in parts):
                return State.REWRITTEN
            return State.CONTEXT
        if found.seq in self._native:
            return State.NATIVE
        if found.kind in {"compaction", "branch_summary"} and not self._was_sent(found):
            return State.UNSENT
        if found.seq not in self._path:
            return State.BRANCH
        return State.COMPACTED if found.seq < self._compaction else State.REMOVED

    def _was_sent(self, summary: LazyEvent) -> bool:
        """Return True if the model answered with a compaction in effect or below a branch summary."""
        below = {summary.seq}
        for each in events(self._snapshot, self._session, first=summary.seq + 1):
            if each.parent_seq in below and summary.kind == "branch_summary":
                below.add(each.seq)
            is_below = each.seq in below or each.compaction_seq == summary.seq
            if each.role == "assistant" and is_below:
                return True
        return False


def _text_of(part: Part) -> str:
    return text_of_message(format_of(part.format).message(part.raw))
