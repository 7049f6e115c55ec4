"""Append overlays that change how earlier messages are shown; stored events never change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from compaction.plan import has_new_messages
from compaction.rewrites import AnyRewrite
from compaction.sized_context import SizedContext, shown_after, sized
from eventstore.checked import checked
from eventstore.errors import BadInputError, NotFoundError
from eventstore.event import Parent
from eventstore.imports import origin_of
from eventstore.log import Snapshot
from eventstore.paths import entry_id
from eventstore.records import Rewrite, TextReplacement
from eventstore.writing import SessionWriter, retry_on_conflict
from projections.context.build import context_at
from projections.context.cursor import Leaf, resolve_cursor
from projections.context.overlay import apply_rewrites
from projections.context.parts import Part, view_of_part
from projections.tokens import Counter


class RewriteFinding(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one policy part: its rewrite of `messages`, or `why` there is none."""

    part: str
    rewrite: Rewrite | None = None
    messages: int = 0
    why: str = ""


class RewriteResult(msgspec.Struct, frozen=True, kw_only=True):
    """The findings of all parts, in order, and the ids of the appended entries."""

    events: list[str] = []
    findings: list[RewriteFinding] = []

    @property
    def records(self) -> list[Rewrite]:
        """The rewrites, without those that save nothing."""
        return [each.rewrite for each in self.findings if each.rewrite]


def plan_rewrites(
    snapshot: Snapshot,
    session: str,
    parts: Sequence[AnyRewrite],
    *,
    tokens: Counter,
    now: int | None = None,
    is_compacting: bool = False,
    leaf: Leaf = None,
) -> RewriteResult:
    """Plan rewrites of the context at a leaf, each on the result of the one before.

    `now` (epoch milliseconds) determines the idle time; None means no idle time. Drop rewrites that save
    nothing. `tokens_saved` is by the counter. Append nothing.
    """
    context = context_at(snapshot, resolve_cursor(snapshot, session, leaf=leaf))
    idle = _idle(snapshot, session, now)
    seen = sized(
        session,
        context.parts,
        tokens,
        idle=idle,
        is_compacting=is_compacting,
        is_subagent=origin_of(snapshot, session, "subagent") is not None,
    )
    found: list[RewriteFinding] = []
    for part in parts:
        shown = part.plan(seen)
        left = shown_after(seen, shown, tokens)
        found.append(_finding(part, shown, seen, left))
        if found[-1].rewrite:
            seen = left
    return RewriteResult(findings=found)


def record_rewrites(
    writer: SessionWriter,
    parts: Sequence[AnyRewrite],
    *,
    tokens: Counter,
    now: int | None = None,
    is_compacting: bool = False,
    leaf: Leaf = None,
    since: int = 0,
) -> RewriteResult:
    """Append the planned rewrites at a session's leaf or another one; return the result.

    If others appended meanwhile, plan again. At another leaf, append nothing if others continued below it
    since the version `since`.
    """
    if not parts:
        return RewriteResult()

    def look_and_append() -> RewriteResult:
        with checked(writer.log) as snapshot:
            version = snapshot.head(writer.session).version
            cursor = resolve_cursor(snapshot, writer.session, leaf=leaf)
            if leaf is not None and has_new_messages(snapshot, cursor, since):
                return RewriteResult()
            parent = Parent.LEAF if leaf is None else entry_id(snapshot, writer.session, cursor.leaf)
            planned = plan_rewrites(
                snapshot,
                writer.session,
                parts,
                tokens=tokens,
                now=now,
                is_compacting=is_compacting,
                leaf=leaf,
            )
        records = planned.records
        if not records:
            return planned
        ids = writer.fresh_ids(len(records))
        events = writer.append(*records, parent=parent, cause=ids[0], expected=version, ids=ids)
        return msgspec.structs.replace(planned, events=events)

    return retry_on_conflict(look_and_append)


def record_rewrite(writer: SessionWriter, *, targets: Sequence[TextReplacement], reason: str) -> str:
    """Show messages of the context differently from here on; return the new entry's id.

    `tokens_saved` is the difference in the context's size. Raises NotFoundError for a target that the context
    does not show. Raises BadInputError for a summary, which has no content to rewrite, for a block that a
    message does not have (a shell command has only an output), and for a span that ends before it begins.
    Raises VersionConflictError if others appended meanwhile.
    """
    with checked(writer.log) as snapshot:
        version = snapshot.head(writer.session).version
        before = context_at(snapshot, resolve_cursor(snapshot, writer.session))
    missing = {shown.target for shown in targets} - {part.id for part in before.parts}
    if missing:
        raise NotFoundError("message in the context", min(missing), "name an id of its `parts`")
    parts = {part.id: part for part in before.parts}
    places = {part.id: place for place, part in enumerate(before.parts)}
    for shown in targets:
        _check_target(parts, places, shown)
    after = apply_rewrites(before.parts, targets)
    saved = sum(part.utf16 for part in before.parts) - sum(part.utf16 for part in after)
    record = Rewrite(reason=reason, targets=list(targets), tokens_saved=saved)
    return writer.append(record, expected=version)[0]


def _finding(
    part: AnyRewrite, shown: list[TextReplacement], before: SizedContext, left: SizedContext
) -> RewriteFinding:
    name = str(part.__struct_config__.tag)
    if not shown:
        return RewriteFinding(part=name, why=part.why_nothing(before))
    saved = sum(each.tokens for each in before.messages) - sum(each.tokens for each in left.messages)
    if saved <= 0:
        return RewriteFinding(part=name, why="the replacement would not be shorter")
    # The first message represents the whole span.
    hidden = len(before.messages) - len(left.messages)
    return RewriteFinding(
        part=name,
        rewrite=Rewrite(reason=name, targets=shown, tokens_saved=saved),
        messages=len({(each.target, each.call) for each in shown}) + hidden,
    )


def _idle(snapshot: Snapshot, session: str, now: int | None) -> int:
    newest = snapshot.head(session).last_time
    return 0 if now is None or newest is None else max(now - newest, 0)


def _check_target(parts: Mapping[str, Part], places: Mapping[str, int], shown: TextReplacement) -> None:
    where = f"message {shown.target!r}"
    if shown.through:
        if places.get(shown.through, -1) < places[shown.target]:
            problem = f"{shown.through!r} is not a message of the context at or after it"
            raise BadInputError(where, problem, "name the last message of the span")
        return
    message = view_of_part(parts[shown.target])
    role = parts[shown.target].role
    if role in ("compactionSummary", "branchSummary"):
        raise BadInputError(where, f"a {role} has no content to rewrite", "name another message")
    if shown.block is not None and not 0 <= shown.block < len(message.blocks):
        if message.shell:
            raise BadInputError(where, "a shell command has no blocks, only an output", "leave the block out")
        problem = f"has no block {shown.block}, but {len(message.blocks)} blocks"
        raise BadInputError(where, problem, "count blocks from 0, or leave the block out")
