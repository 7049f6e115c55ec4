"""Carrying out a policy's rewrites."""

from __future__ import annotations

from collections.abc import Sequence

from compaction.rewrites import AnyRewrite, SizedContext, shown_after, sized
from eventstore.frame import decode
from eventstore.log import Snapshot
from eventstore.records import Link, Rewrite, Shown, record_of
from eventstore.writing import SessionWriter, until_ours
from projections.context import context_at
from projections.standpoint import stand
from projections.tokens import Counter


def plan_rewrites(
    snapshot: Snapshot,
    session: str,
    parts: Sequence[AnyRewrite],
    *,
    tokens: Counter,
    now: int | None = None,
    is_compacting: bool = False,
) -> list[Rewrite]:
    """What rewrites would do to the context at a session's leaf, each upon what the one before leaves.

    `now` in epoch milliseconds says how long nothing has happened; None: a moment. Those that would save
    nothing are left out. `tokens_saved` is by the counter.
    """
    context = context_at(snapshot, stand(snapshot, session))
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
) -> list[str]:
    """Append what rewrites do, in one append; the ids of the new entries.

    Where somebody appended in the meantime they are planned anew, until they are appended or there are none.
    """
    return until_ours(lambda: _recorded(writer, parts, tokens=tokens, now=now, is_compacting=is_compacting))


def _recorded(
    writer: SessionWriter,
    parts: Sequence[AnyRewrite],
    *,
    tokens: Counter,
    now: int | None,
    is_compacting: bool,
) -> list[str]:
    with writer.log.snapshot() as snapshot:
        version = snapshot.head(writer.session).version
        records = plan_rewrites(
            snapshot, writer.session, parts, tokens=tokens, now=now, is_compacting=is_compacting
        )
    if not records:
        return []
    ids = writer.fresh_ids(len(records))
    return writer.append(*records, cause=ids[0], expected=version, ids=ids)


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
