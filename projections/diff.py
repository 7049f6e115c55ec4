"""Compare two contexts of a session, message by message."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum

import msgspec

from eventstore.log import EventLog, Snapshot
from eventstore.paths import event
from eventstore.records import FileOperations
from projections.audit.calls import shared_prefix_length
from projections.audit.coverage import compaction_coverage
from projections.context.build import context_at, parts_in_native_history
from projections.context.cursor import Cursor, Leaf, path, resolve_cursor
from projections.context.parts import Context, Part, view_of_part
from projections.files import abandoned_entries, files_of
from projections.rules.base import native_provider
from projections.tokens import Counter, counter, is_estimate

_Key = tuple[str, int, int]
"""Identifies a message: session, event number, and place among the event's messages."""


class Change(StrEnum):
    """The change of a message from one context to the other."""

    KEPT = "kept"
    """In both, with the same bytes."""
    REWRITTEN = "rewritten"
    """In both, with other content."""
    SUMMARIZED = "summarized"
    """Only in the first; a summary in the second covers it."""
    NATIVE = "native"
    """Only in the first; in the second, a history that only its provider can read stands for it."""
    GONE = "gone"
    """Only in the first, and nothing in the second covers it."""
    NEW = "new"
    """Only in the second."""


class MessageDiff(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One message: its tokens in each context, None where the context lacks it.

    `continues`: it continues the work after a compaction, and no person wrote it.
    """

    event: str
    seq: int
    role: str
    continues: bool
    change: Change
    tokens_before: int | None
    tokens_after: int | None


class NewSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A summary that only the second context has, of a compaction or a branch."""

    event: str
    seq: int
    text: str


class Diff(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Two contexts side by side: their messages in log order, and totals."""

    session: str
    first: str | None
    second: str | None
    counter: str
    exact: bool
    estimate: bool
    """True unless the counter uses the vocabulary of the model in use at `second`."""
    tokens_before: int
    tokens_after: int
    shared_prefix: int
    """The number of leading messages that are identical in both: what a prompt cache can reuse."""
    changes: list[MessageDiff]
    summaries: list[NewSummary]
    files: FileOperations
    """The files that the summarized messages read and modified."""


def diff(
    log: EventLog | Snapshot, session: str, first: Leaf, second: Leaf, *, tokens: Counter | None = None
) -> Diff:
    """Compare the contexts at two leaves. Raises NotFoundError."""
    tokens = tokens or counter("utf16/4")
    with log.snapshot() as snapshot:
        here, there = (
            resolve_cursor(snapshot, session, leaf=first),
            resolve_cursor(snapshot, session, leaf=second),
        )
        before, after = context_at(snapshot, here), context_at(snapshot, there)
        summarized = _summarized(snapshot, there, before, after)
        native = {part.key for part in parts_in_native_history(snapshot, after)}
        shown = {part.key for part in after.parts}
        left = [part for part in before.parts if part.key not in shown and part.key[:2] in summarized]
        summaries = [part for part in after.parts if _is_summary(snapshot, part)]
        events = {key for part in left for key in part.events}
        files = files_of((event(snapshot, *key).decode() for key in events), snapshot).lists()
    bytes_before, bytes_after = ({part.key: part.raw for part in each.parts} for each in (before, after))
    old = dict(zip((part.key for part in before.parts), tokens.count(before.parts), strict=True))
    new = dict(zip((part.key for part in after.parts), tokens.count(after.parts), strict=True))
    return Diff(
        session=session,
        first=before.leaf,
        second=after.leaf,
        counter=tokens.name,
        exact=tokens.is_exact,
        estimate=is_estimate(tokens, after.settings.model),
        tokens_before=sum(old.values()),
        tokens_after=sum(new.values()),
        shared_prefix=shared_prefix_length(before.parts, after.parts),
        changes=[
            MessageDiff(
                event=part.id,
                seq=part.seq,
                role=part.role,
                continues=part.continues,
                change=_change(part.key, bytes_before, bytes_after, summarized, native),
                tokens_before=old.get(part.key),
                tokens_after=new.get(part.key),
            )
            for part in _in_log_order(session, before, after)
        ],
        summaries=[
            NewSummary(event=part.id, seq=part.seq, text=view_of_part(part).text)
            for part in summaries
            if part.key not in old
        ],
        files=files,
    )


def _in_log_order(session: str, before: Context, after: Context) -> list[Part]:
    """Return the messages of two contexts; those inherited from another session come first."""
    parts = {part.key: part for part in (*before.parts, *after.parts)}
    return sorted(parts.values(), key=lambda part: (part.session == session, part.key))


def _change(
    key: _Key,
    before: Mapping[_Key, bytes],
    after: Mapping[_Key, bytes],
    summarized: Collection[tuple[str, int]],
    native: Collection[_Key],
) -> Change:
    """Return the change of a message between two contexts, given their messages' bytes."""
    if key not in before:
        return Change.NEW
    if key in after:
        return Change.KEPT if before[key] == after[key] else Change.REWRITTEN
    if key[:2] in summarized:
        return Change.SUMMARIZED
    return Change.NATIVE if key in native else Change.GONE


def _is_summary(snapshot: Snapshot, part: Part) -> bool:
    if part.kind == "compaction":
        return not native_provider(event(snapshot, part.session, part.seq))
    return part.kind == "branch_summary"


def _summarized(snapshot: Snapshot, cursor: Cursor, before: Context, after: Context) -> set[tuple[str, int]]:
    """Return the events that the summaries of a context cover, also through older summaries.

    A compaction also covers messages that the context inherited from another session.
    """
    shown = {part.seq for part in after.parts if part.session == cursor.session}
    found: set[tuple[str, int]] = set()
    compactions = list(compaction_coverage(path(snapshot, cursor), snapshot))
    newest = max((each.compaction.seq for each in compactions if each.compaction.seq in shown), default=0)
    for each in compactions:
        if each.compaction.seq <= newest:
            found |= {(cursor.session, seq) for seq in (*each.summarized, each.compaction.seq)}
    if newest:
        found.update((part.session, part.seq) for part in before.parts if part.session != cursor.session)
    for part in after.parts:
        if part.kind == "branch_summary":
            summary = event(snapshot, part.session, part.seq).decode()
            found |= {(entry.session, entry.seq) for entry in abandoned_entries(summary, snapshot)}
    return found
