"""Undo an append, or undo an undo, by appending an event."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from eventstore.errors import BadInputError, NotFoundError, no_event, shell_command
from eventstore.event import Event, Parent
from eventstore.harnesses import node_of
from eventstore.log import EventLog, Snapshot
from eventstore.paths import LazyEvent, append_with, entry_id, event, events_of_kinds, in_effect_on, path
from eventstore.records import Label, Undone
from eventstore.writing import SessionWriter, retry_on_conflict
from projections.context.cursor import resolve_cursor
from projections.tree import labels_of

PRODUCED: Final = frozenset({"compaction", "rewrite", "branch_summary", "leaf_moved"})
"""Kinds of entries that change what contexts show; an undo without a target looks for them."""

_MOVES: Final = frozenset({"branch_summary", "leaf_moved"})
_UNDONE: Final = "undone"
_MOVES_ALONE: Final = _MOVES | {_UNDONE}
"""Kinds of entries that cannot be undone once the session has continued after them."""
_NOTHING_BUILT: Final = frozenset({"label", "session_info", _UNDONE})
"""Kinds of entries that do not count as a continuation after a move."""


class Undo(msgspec.Struct, frozen=True, kw_only=True):
    """The plan of an undo: the append to undo, and the records that do so.

    `entries` is the append, oldest first. `record` is appended below `parent`, followed by `labels`, which
    restore the labels that the append had set.
    """

    entries: tuple[Event, ...]
    record: Undone
    parent: str | Parent | None
    labels: tuple[Label, ...]


class UndoResult(msgspec.Struct, frozen=True, kw_only=True):
    """A finished undo, and the ids of its events: the `undone` entry, then labels."""

    undo: Undo
    events: tuple[str, ...]


def undo(writer: SessionWriter, target: str | None = None) -> UndoResult:
    """Undo an append in one append, as `plan_undo` plans it.

    If others appended meanwhile, plan again for the same append; if they undid it, raise rather than undo
    another one. Raises what `plan_undo` raises, and VersionConflictError if others keep appending.
    """
    chosen = target

    def look_and_append() -> UndoResult:
        nonlocal chosen
        with writer.log.snapshot() as snapshot:
            version = snapshot.head(writer.session).version
            plan = plan_undo(snapshot, writer.session, chosen)
        chosen = plan.record.target_id
        records = (plan.record, *plan.labels)
        ids = writer.fresh_ids(len(records))
        cause = ids[0] if plan.labels else ""
        writer.append(*records, parent=plan.parent, cause=cause, expected=version, ids=ids)
        return UndoResult(undo=plan, events=tuple(ids))

    return retry_on_conflict(look_and_append)


def plan_undo(log: EventLog | Snapshot, session: str, target: str | None = None) -> Undo:
    """Plan the undo of the append that an event belongs to; append nothing.

    Without a target, choose the newest append in effect on the leaf's path that refold wrote and that can be
    undone: a compaction, a rewrite, or a move that nothing followed. An imported append is undone only if it
    is the target. If the target is an undo, its effect is taken back. The context is then what it was before,
    plus what was appended since.

    If the append moved elsewhere and nothing followed it, its undo is appended where the session was before.
    A move that was followed cannot be undone. Of compactions only the newest in effect can be undone, because
    it summarizes what the older ones left. Raises NotFoundError if there is nothing to undo, BadInputError
    with the reason if it cannot be undone.
    """
    with log.snapshot() as snapshot:
        branch = _Branch(snapshot, session)
        entries = branch.newest() if target is None else branch.named(target)
        return branch.undo_of(entries)


class _Branch:
    """The path to a session's leaf, and its entries in effect."""

    def __init__(self, snapshot: Snapshot, session: str) -> None:
        self._snapshot, self._session = snapshot, session
        leaf = resolve_cursor(snapshot, session).leaf
        self._path = list(path(snapshot, session, leaf))
        self._newest_first = list(in_effect_on(snapshot, session, leaf))

    def _event(self, seq: int) -> Event:
        return event(self._snapshot, self._session, seq).decode()

    def newest(self) -> tuple[Event, ...]:
        """Return the newest append of refold's own that can be undone."""
        imported: Event | None = None
        for entry in self._newest_first:
            if entry.kind in PRODUCED:
                entries = self._append_with(entry.seq)
                if self._objection(entries) is None:
                    if entries[0].is_own:
                        return entries
                    imported = imported or entry.decode()
        if imported is not None:
            raise NotFoundError(
                "compaction, rewrite or move to undo in session",
                self._session,
                f"{imported.kind} {imported.id!r} was imported; to undo it, name it: "
                + shell_command("undo", self._session, imported.id),
            )
        raise NotFoundError(
            "compaction, rewrite or move to undo in session",
            self._session,
            "none is in effect on this branch, or the session has continued after it",
        )

    def named(self, target: str) -> tuple[Event, ...]:
        """Return the append that an event belongs to, if it can be undone."""
        seq = self._snapshot.locate(self._session, target)
        if not seq:
            raise no_event(self._session, target)
        where = f"event {target!r}"
        if not self._event(seq).is_entry:
            raise BadInputError(where, "is not in the tree", "name a compaction, a rewrite or a move")
        undo_of_it = self._undo_of(seq)
        if undo_of_it is not None:
            raise BadInputError(where, "is already undone", f"undo {undo_of_it!r} to restore it")
        if all(entry.seq != seq for entry in self._path):
            remedy = f"go there first: {shell_command('go', self._session, target)}"
            raise BadInputError(where, "is on another branch", remedy)
        entries = self._append_with(seq)
        objection = self._objection(entries)
        if objection is not None:
            raise objection
        return entries

    def _append_with(self, seq: int) -> tuple[Event, ...]:
        """Return the entries of the path that were appended together with one, oldest first."""
        append = append_with(self._snapshot, self._session, seq)
        return tuple(entry.decode() for entry in self._path if entry.append == append)

    def _undo_of(self, seq: int) -> str | None:
        """Return the id of the undo in effect of an entry's append, None for none."""
        append = append_with(self._snapshot, self._session, seq)
        undos = (entry for entry in self._newest_first if entry.kind == _UNDONE and entry.target_seq)
        found = (
            undo.id for undo in undos if append_with(self._snapshot, self._session, undo.target_seq) == append
        )
        return next(found, None)

    def _objection(self, entries: tuple[Event, ...]) -> BadInputError | None:
        """Return the error that says why an append cannot be undone, None if it can."""
        main = _main_of(entries)
        if main is None:
            return BadInputError(
                f"event {entries[0].id!r}",
                f"a {entries[0].kind} cannot be undone",
                "only compactions, rewrites, moves and undos can be undone; to leave other entries, move away",
            )
        where = f"{main.kind} {main.id!r}"
        compactions = {entry.seq for entry in entries if entry.kind == "compaction"}
        newest = next((entry.seq for entry in self._newest_first if entry.kind == "compaction"), 0)
        if compactions and newest not in compactions:
            problem = "a newer compaction is in effect"
            return BadInputError(where, problem, f"undo {self._event(newest).id!r} first")
        if main.kind in _MOVES_ALONE and self._went(entries) and self._is_followed(entries):
            problem = "the session has continued after it"
            return BadInputError(where, problem, "move back with refold go instead")
        return None

    def _went(self, entries: tuple[Event, ...]) -> bool:
        """Return True if an append moved the session elsewhere.

        Of a harness's records only branch summaries say so; its other moves leave no entry.
        """
        first = entries[0]
        is_own = first.is_own and first.parent_seq != self._stood_before(first)
        return is_own or any(entry.kind in _MOVES for entry in entries)

    def _stood_before(self, entry: Event) -> int:
        return resolve_cursor(self._snapshot, self._session, as_of=entry.seq - 1).leaf

    def _is_followed(self, entries: tuple[Event, ...]) -> bool:
        """Return True if anything was appended that depends on an append."""
        own = {entry.seq for entry in entries}
        later = (entry for entry in self._newest_first if entry.seq > entries[0].seq and entry.seq not in own)
        return any(entry.kind not in _NOTHING_BUILT for entry in later)

    def undo_of(self, entries: tuple[Event, ...]) -> Undo:
        """Return the undo of an append that can be undone."""
        main = _main_of(entries)
        assert main is not None  # noqa: S101  there was no objection
        parent: str | Parent | None = Parent.LEAF
        if self._went(entries) and not self._is_followed(entries):
            parent = entry_id(self._snapshot, self._session, self._stood_before(entries[0]))
        return Undo(
            entries=entries,
            record=Undone(target_id=main.id),
            parent=parent,
            labels=tuple(_labels_before(self._snapshot, entries)),
        )


def _main_of(entries: tuple[Event, ...]) -> Event | None:
    """Return the main entry of an append, None if refold did not produce it."""
    return next((entry for entry in entries if entry.kind in PRODUCED or entry.kind == _UNDONE), None)


def _labels_before(snapshot: Snapshot, entries: tuple[Event, ...]) -> Iterator[Label]:
    """Yield the earlier values of labels that an append set and that have not changed since."""
    own = {entry.seq for entry in entries}
    labelled = {_labelled(entry) for entry in entries if entry.kind == "label"} - {""}
    if not labelled:
        return
    session, first = entries[0].session, entries[0].seq
    later = events_of_kinds(snapshot, session, {"label"}, first=first)
    labelled -= {_labelled(label) for label in later if label.seq not in own}
    before = labels_of(snapshot, session, last=first - 1)
    for target in sorted(labelled):
        yield Label(target_id=target, label=before.get(target, ""))


def _labelled(entry: Event | LazyEvent) -> str:
    label = node_of(entry).label
    return label.target if label else ""
