"""Compose and append what a compaction adds: its record, files shown again, and the message that goes on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from compaction.continuations import CONTINUATIONS, NONE, ContextAfter, ContinuationPlan
from compaction.file_tags import with_file_tags
from compaction.part import Limits, Reason
from compaction.plan import Plan, shrink_outputs
from compaction.policy.model import Policy
from compaction.restoring import drop_least_recent, restore_files
from compaction.rewrites import Evict, sized
from compaction.summary import Summary
from compaction.window import has_open_calls
from eventstore.checked import checked
from eventstore.errors import NotFoundError
from eventstore.event import Parent
from eventstore.formats.refold.events import compose
from eventstore.log import Snapshot
from eventstore.preview import Preview
from eventstore.records import Compaction, CustomMessage, FileOperations, Record, Rewrite, TextReplacement
from eventstore.writing import SessionWriter
from projections.context.build import context_at
from projections.context.cursor import Cursor, newest_first, path, resolve_cursor
from projections.context.parts import Part
from projections.files import files_of
from projections.tokens import Counter, counter


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A compaction with its summary, to be composed into records.

    `is_supplied`: a hook wrote the summary, and gave `extension_details` to keep with it. `continues`: the policy's
    continuation follows.
    """

    plan: Plan
    summary: Summary
    reason: Reason
    preserve_data: dict[str, Any] = {}
    extension_details: dict[str, Any] = {}
    is_supplied: bool = False
    continues: bool = False


class CompactionAppend(msgspec.Struct, frozen=True, kw_only=True):
    """The records that a compaction appends, itself first, and the context's size before and after.

    `tokens_kept` is what the messages that are kept have of `tokens_after`. `is_still_too_large`: the trigger would
    fire at once again.
    """

    records: list[Record]
    continued: ContinuationPlan
    tokens_before: int
    tokens_after: int
    tokens_kept: int
    is_still_too_large: bool

    @property
    def is_gain(self) -> bool:
        """True if the context gets smaller."""
        return self.tokens_after < self.tokens_before


def compose_compaction(
    snapshot: Snapshot,
    cursor: Cursor,
    here: Cursor,
    draft: Draft,
    *,
    policy: Policy,
    limits: Limits,
    tokens: Counter,
    parent: str | Parent | None,
) -> CompactionAppend:
    """Return what is appended below `parent`, `here`, for a plan that was made `at` the same leaf, or one before it.

    Messages that have come since are kept. While calls of the newest answer are open, no file is shown again and no
    message goes on: either would stand between a call and its result. Files that are shown again are as few as leave a
    gain, and a context that is not too large at once for a model of these limits. Where it is too large all the same,
    a mere word to go on is left out: the session would be compacted and go on by itself for ever.
    """
    plan = draft.plan
    before = context_at(snapshot, here).parts
    come_since = [entry.id for entry in path(snapshot, here, first=cursor.leaf + 1)]
    kept = {*plan.cut.kept, *come_since}
    follows = CONTINUATIONS[policy.continuation] if draft.continues else NONE
    own = [part for part in before if part.session == here.session]
    entries = path(snapshot, here, first=min((part.seq for part in own), default=1))
    is_open = has_open_calls(before)
    continued = follows.following(ContextAfter(before=before, kept=kept, entries=entries, is_open=is_open))
    overlays = [
        *_rewrite("offload", shrink_outputs(cursor.session, plan, tokens)),
        *_rewrite("evict", _evicted(cursor.session, own, kept, continued, tokens)),
    ]
    shown_again: list[CustomMessage] = []
    if policy.restoring and not is_open:
        shown = [part for part in own if part.id in kept]
        shown_again = restore_files(partial(newest_first, snapshot, here), policy.restoring, shown, tokens)
    compaction = compaction_record(
        draft.summary,
        files=plan.files,
        first_kept=plan.cut.first_kept or next(iter(come_since), ""),
        tokens_before=sum(tokens.count(before)),
        placement=_placement(draft, policy),
        reason=draft.reason,
        policy=policy.name,
        from_extension=draft.is_supplied,
        preserve_data=draft.preserve_data,
        extension_details=draft.extension_details,
        continuation={"branch": continued.branch, "reason": continued.reason} if draft.continues else {},
    )
    while True:
        going_on = [continued.record] if continued.record else []
        more: list[Record] = [*overlays, *shown_again, *going_on]
        shown_then = parts_after(snapshot, here.session, [compaction, *more], parent=parent)
        sizes = tokens.count(shown_then)
        after = sum(sizes)
        is_too_large = policy.trigger.fires(after, limits)
        if (after < compaction.tokens_before and not is_too_large) or not shown_again:
            if not (is_too_large and _goes_on_by_itself(draft, continued)):
                break
            why = f"{continued.reason}, but the context is still too large"
            continued = msgspec.structs.replace(continued, reason=why, record=None)
            compaction = msgspec.structs.replace(
                compaction, continuation={"branch": continued.branch, "reason": why}
            )
        else:
            shown_again = drop_least_recent(shown_again)
    return CompactionAppend(
        records=[msgspec.structs.replace(compaction, tokens_after=after), *more],
        continued=continued,
        tokens_before=compaction.tokens_before,
        tokens_after=after,
        tokens_kept=sum(
            size
            for part, size in zip(shown_then, sizes, strict=True)
            if part.session == here.session and part.id in kept
        ),
        is_still_too_large=is_too_large,
    )


def _goes_on_by_itself(draft: Draft, continued: ContinuationPlan) -> bool:
    """Return True if neither a person nor a request to be sent again waits for the continuation's answer."""
    return draft.reason == "threshold" and continued.record is not None and not continued.repeats_request


def compaction_record(
    summary: Summary, *, files: FileOperations, first_kept: str, tokens_before: int, **more: Any
) -> Compaction:
    """Return the record of a summary, with the files as tags at its end, and without the size after it."""
    return Compaction(
        summary=with_file_tags(summary.text, files),
        short_summary=summary.short,
        first_kept_entry_id=first_kept,
        tokens_before=tokens_before,
        details=files,
        template=summary.template,
        request=summary.request,
        **more,
    )


def parts_after(
    snapshot: Snapshot, session: str, records: Sequence[Record], *, parent: str | Parent | None = Parent.LEAF
) -> tuple[Part, ...]:
    """Return the context with records that are not there yet, the first of them below `parent`."""
    events, above = [], parent
    for number, record in enumerate(records):
        events.append(compose(record, id=f"\0{number}", time=None, parent=above))
        above = events[-1].id
    prospect = Preview(snapshot, session, events)
    return context_at(prospect, resolve_cursor(prospect, session)).parts


def _placement(draft: Draft, policy: Policy) -> str:
    after_refusal = policy.recovery_placement if draft.reason == "overflow" else None
    return after_refusal or policy.placement


def _evicted(
    session: str, before: Sequence[Part], kept: set[str], continued: ContinuationPlan, tokens: Counter
) -> list[TextReplacement]:
    """Return what to show of the images in what is kept, where the continuation asks for it."""
    if not continued.evicts:
        return []
    return Evict().plan(sized(session, [part for part in before if part.id in kept], tokens))


def _rewrite(reason: str, targets: list[TextReplacement]) -> list[Record]:
    return [Rewrite(reason=reason, targets=targets)] if targets else []


def record_compaction(
    writer: SessionWriter,
    *,
    summary: str,
    first_kept: str,
    reason: str = "manual",
    policy: str = "",
    template: str = "",
) -> str:
    """Put a summary in place of the path before `first_kept`, and give the new entry's id.

    File operations and tokens before and after are recomputed from the log; the file operations stand in
    the record and, as tags, at the end of the summary. Raises NotFoundError where `first_kept` is not on the
    leaf's path, VersionConflictError where somebody appended in the meantime.
    """
    with checked(writer.log) as snapshot:
        cursor = resolve_cursor(snapshot, writer.session)
        version = snapshot.head(writer.session).version
        first_seq = snapshot.locate(writer.session, first_kept)
        entries = path(snapshot, cursor)
        if first_seq not in {entry.seq for entry in entries}:
            raise NotFoundError("entry on the path", first_kept, "name one that the path to the leaf has")
        tokens = counter("utf16/4")
        record = compaction_record(
            Summary(text=summary, template=template),
            files=files_of([entry for entry in entries if entry.seq < first_seq], snapshot).lists(),
            first_kept=first_kept,
            tokens_before=sum(tokens.count(context_at(snapshot, cursor).parts)),
            reason=reason,
            policy=policy,
        )
        after = sum(tokens.count(parts_after(snapshot, writer.session, [record])))
    return writer.append(msgspec.structs.replace(record, tokens_after=after), expected=version)[0]
