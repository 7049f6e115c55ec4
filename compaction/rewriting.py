"""Showing earlier content otherwise: overlays on a branch, never a change of what is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from compaction.overtaken import went_on
from compaction.rewrites import AnyRewrite, SizedContext, shown_after, sized
from eventstore.errors import BadInputError, NotFoundError
from eventstore.event import Parent
from eventstore.formats import view_of_message
from eventstore.frame import decode
from eventstore.log import Snapshot
from eventstore.records import Link, Rewrite, Shown, record_of
from eventstore.writing import SessionWriter, until_ours
from projections.context import Part, context_at
from projections.overlay import overlaid
from projections.standpoint import Leaf, entry_id, stand
from projections.tokens import Counter


class Rewritten(msgspec.Struct, frozen=True, kw_only=True):
    """Rewrites that were appended, and the ids of their entries, in order; none where nothing would be saved."""

    events: list[str] = []
    records: list[Rewrite] = []


def plan_rewrites(
    snapshot: Snapshot,
    session: str,
    parts: Sequence[AnyRewrite],
    *,
    tokens: Counter,
    now: int | None = None,
    is_compacting: bool = False,
    leaf: Leaf = None,
) -> list[Rewrite]:
    """What rewrites would do to the context at a leaf of a session, each upon what the one before leaves.

    `now` in epoch milliseconds says how long nothing has happened; None: a moment. Those that would save
    nothing are left out. `tokens_saved` is by the counter.
    """
    context = context_at(snapshot, stand(snapshot, session, leaf=leaf))
    idle = _idle(snapshot, session, now)
    seen = sized(
        session,
        context.parts,
        tokens,
        idle=idle,
        is_compacting=is_compacting,
        is_subagent=_is_subagent(snapshot, session),
    )
    found: list[Rewrite] = []
    for part in parts:
        shown = part.plan(seen)
        left = shown_after(seen, shown, tokens)
        rewrite = _rewrite(part, shown, seen, left)
        if rewrite.tokens_saved > 0:
            found.append(rewrite)
            seen = left
    return found


def record_rewrites(
    writer: SessionWriter,
    parts: Sequence[AnyRewrite],
    *,
    tokens: Counter,
    now: int | None = None,
    is_compacting: bool = False,
    leaf: Leaf = None,
    since: int = 0,
) -> Rewritten:
    """Append what rewrites do where a session stands or at another leaf, in one append, and give what was appended.

    Where somebody appended in the meantime they are planned anew, until they are appended or there are none. There
    are none at another leaf either, if somebody has gone on below it since a version of the session.
    """

    def look_and_append() -> Rewritten:
        with writer.log.snapshot() as snapshot:
            version = snapshot.head(writer.session).version
            at = stand(snapshot, writer.session, leaf=leaf)
            if leaf is not None and went_on(snapshot, at, since):
                return Rewritten()
            parent = Parent.LEAF if leaf is None else entry_id(snapshot, writer.session, at.leaf)
            records = plan_rewrites(
                snapshot,
                writer.session,
                parts,
                tokens=tokens,
                now=now,
                is_compacting=is_compacting,
                leaf=leaf,
            )
        if not records:
            return Rewritten()
        ids = writer.fresh_ids(len(records))
        events = writer.append(*records, parent=parent, cause=ids[0], expected=version, ids=ids)
        return Rewritten(events=events, records=records)

    return until_ours(look_and_append)


def record_rewrite(writer: SessionWriter, *, targets: Sequence[Shown], reason: str) -> str:
    """Show messages of the context otherwise from here on, and give the new entry's id.

    The tokens that it saves are what the context shrinks by. Raises NotFoundError for a target that the
    context does not show, BadInputError for a summary, which has no content to rewrite, a block that a message
    does not have (a shell command has none, but an output) or a span that ends before it begins,
    VersionConflictError where somebody appended in the meantime.
    """
    with writer.log.snapshot() as snapshot:
        version = snapshot.head(writer.session).version
        before = context_at(snapshot, stand(snapshot, writer.session))
    missing = {shown.target for shown in targets} - {part.id for part in before.parts}
    if missing:
        raise NotFoundError("message in the context", min(missing), "'refold context' shows what is there")
    parts = {part.id: part for part in before.parts}
    places = {part.id: place for place, part in enumerate(before.parts)}
    for shown in targets:
        _check_target(parts, places, shown)
    after = overlaid(before.parts, targets, rules=before.rules)
    saved = sum(part.utf16 for part in before.parts) - sum(part.utf16 for part in after)
    record = Rewrite(reason=reason, targets=list(targets), tokens_saved=saved)
    return writer.append(record, expected=version)[0]


def _rewrite(part: AnyRewrite, shown: list[Shown], before: SizedContext, left: SizedContext) -> Rewrite:
    saved = sum(each.tokens for each in before.messages) - sum(each.tokens for each in left.messages)
    return Rewrite(reason=str(part.__struct_config__.tag), targets=shown, tokens_saved=saved)


def _idle(snapshot: Snapshot, session: str, now: int | None) -> int:
    newest = snapshot.head(session).last_time
    return 0 if now is None or newest is None else max(now - newest, 0)


def _is_subagent(snapshot: Snapshot, session: str) -> bool:
    """Whether another session started this one: it says so in its first event."""
    if not snapshot.head(session).version:
        return False
    first = decode(snapshot.frame(session, 1), session)
    record = record_of("link", first.body) if first.kind == "link" else None
    return isinstance(record, Link) and record.relation == "subagent"


def _check_target(parts: Mapping[str, Part], places: Mapping[str, int], shown: Shown) -> None:
    where = f"message {shown.target!r}"
    if shown.through:
        if places.get(shown.through, -1) < places[shown.target]:
            problem = f"{shown.through!r} is no message of the context at or behind it"
            raise BadInputError(where, problem, "name the last message that it is to stand for")
        return
    message = view_of_message(parts[shown.target].raw)
    role = parts[shown.target].role
    if role in ("compactionSummary", "branchSummary"):
        raise BadInputError(where, f"a {role} has no content to rewrite", "name another message")
    if shown.block is not None and not 0 <= shown.block < len(message.blocks):
        problem = f"has no block {shown.block}, but {len(message.blocks)} blocks"
        raise BadInputError(where, problem, "count blocks from 0, or leave the block out")
