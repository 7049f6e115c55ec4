"""Compose and append a compaction's records: the compaction, restored files, continuation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import compress, islice
from typing import Any, Final, NamedTuple

import msgspec

from compaction.continuations import CONTINUATIONS, NONE, ContextAfter, ContinuationPlan
from compaction.file_tags import with_file_tags
from compaction.part import Limits, Reason
from compaction.plan import Plan, shrink_outputs
from compaction.policy.model import Policy, Restoring
from compaction.rewrites import Evict, read_of
from compaction.sized_context import sized
from compaction.summary import Summary
from compaction.window import has_open_calls
from eventstore.checked import checked
from eventstore.errors import NotFoundError
from eventstore.event import Event, Parent
from eventstore.harnesses import format_of, node_of
from eventstore.harnesses.base import Tools
from eventstore.harnesses.refold.events import compose
from eventstore.log import Snapshot
from eventstore.preview import Preview
from eventstore.records import (
    RESTORED_FILE,
    RESTORED_PLAN,
    Compaction,
    CustomMessage,
    FileOperations,
    Record,
    Rewrite,
    own_record,
)
from eventstore.views import Message
from eventstore.writing import SessionWriter
from projections.context.build import context_at
from projections.context.cursor import Cursor, newest_first, path, resolve_cursor
from projections.context.parts import Fate, Part
from projections.files import files_at
from projections.tokens import Counter, counter


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A compaction with its summary, not yet composed into records.

    `is_supplied` means that a hook wrote the summary; `extension_details` came with it. `continues` asks for
    the policy's continuation message.
    """

    plan: Plan
    summary: Summary
    reason: Reason
    preserve_data: dict[str, Any] = {}
    extension_details: dict[str, Any] = {}
    is_supplied: bool = False
    continues: bool = False


class CompactionAppend(msgspec.Struct, frozen=True, kw_only=True):
    """The records that a compaction appends, and the context's size before and after.

    The compaction's own record comes first. `tokens_kept` counts the kept messages within `tokens_after`.
    """

    records: list[Record]
    continued: ContinuationPlan
    tokens_before: int
    tokens_after: int
    tokens_kept: int

    @property
    def is_gain(self) -> bool:
        """True if the context shrinks."""
        return self.tokens_after < self.tokens_before


def compose_compaction(
    snapshot: Snapshot,
    here: Cursor,
    draft: Draft,
    *,
    policy: Policy,
    limits: Limits,
    tokens: Counter,
    parent: str | Parent | None,
) -> CompactionAppend:
    """Return the records to append below `parent` for a planned compaction.

    `here` is the current leaf: the plan's, or a leaf below it, whose newer messages are kept. While tool calls
    of the newest answer are open, compose neither restored files nor a continuation, because either would come
    between a call and its result. Drop restored files until the context shrinks and is not too large at once
    for these limits. If it is too large without any, drop a continuation that only says to go on, because the
    session would compact and continue forever.
    """
    plan = draft.plan
    before = context_at(snapshot, here, readable=True).parts
    own = [part for part in before if part.session == here.session]
    come_since = [entry.id for entry in path(snapshot, here, first=plan.at.leaf + 1)]
    kept = {*plan.cut.kept, *come_since}
    shown_before = [part for part in own if part.id in kept]
    is_open = has_open_calls(before)
    entries = path(snapshot, here, first=min((part.seq for part in own), default=1))
    follows = CONTINUATIONS[policy.continuation] if draft.continues else NONE
    continued = follows.following(ContextAfter(before=before, kept=kept, entries=entries, is_open=is_open))
    overlays = _rewrites(plan, shown_before, continued, tokens)
    restored: list[CustomMessage] = []
    if policy.restoring and not is_open:
        history = partial(newest_first, snapshot, here)
        restored = restore_files(history, policy.restoring, shown_before, tokens)
    first_kept = plan.cut.first_kept or next(iter(come_since), "")
    compaction = _record(draft, policy, continued, first_kept, sum(tokens.count(before)))
    while True:
        going_on = [continued.record] if continued.record else []
        more: list[Record] = [*overlays, *restored, *going_on]
        shown = parts_after(snapshot, here.session, [compaction, *more], parent=parent)
        sizes = tokens.count(shown)
        after = sum(sizes)
        is_too_large = policy.trigger.fires(after, limits)
        if restored and (is_too_large or after >= compaction.tokens_before):
            restored = drop_least_recent(restored)
        elif is_too_large and draft.reason == "threshold" and going_on and not continued.repeats_request:
            why = f"{continued.reason}, but the context is still too large"
            continued = msgspec.structs.replace(continued, reason=why, record=None)
            said = {"branch": continued.branch, "reason": why}
            compaction = msgspec.structs.replace(compaction, continuation=said)
        else:
            break
    of_kept = [part.session == here.session and part.id in kept for part in shown]
    return CompactionAppend(
        records=[msgspec.structs.replace(compaction, tokens_after=after), *more],
        continued=continued,
        tokens_before=compaction.tokens_before,
        tokens_after=after,
        tokens_kept=sum(compress(sizes, of_kept)),
    )


def _rewrites(
    plan: Plan, kept: Sequence[Part], continued: ContinuationPlan, tokens: Counter
) -> list[Rewrite]:
    """Return rewrites of kept messages: long outputs shortened, images left out."""
    found = {
        "offload": shrink_outputs(plan, tokens),
        "evict": Evict().plan(sized(plan.at.session, kept, tokens)) if continued.evicts else [],
    }
    return [Rewrite(reason=reason, targets=targets) for reason, targets in found.items() if targets]


def _record(
    draft: Draft, policy: Policy, continued: ContinuationPlan, first_kept: str, tokens_before: int
) -> Compaction:
    after_refusal = policy.recovery_placement if draft.reason == "overflow" else None
    return compaction_record(
        draft.summary,
        files=draft.plan.files,
        first_kept=first_kept,
        tokens_before=tokens_before,
        placement=after_refusal or policy.placement,
        reason=draft.reason,
        policy=policy.name,
        from_extension=draft.is_supplied,
        preserve_data=draft.preserve_data,
        extension_details=draft.extension_details,
        continuation={"branch": continued.branch, "reason": continued.reason} if draft.continues else {},
    )


def compaction_record(
    summary: Summary, *, files: FileOperations, first_kept: str, tokens_before: int, **more: Any
) -> Compaction:
    """Return the record of a summary, with file tags at its end and no size after it yet."""
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
    """Return the context as it would be with unappended records, the first below `parent`."""
    events, above = [], parent
    for number, record in enumerate(records):
        events.append(compose(record, id=f"\0{number}", time=None, parent=above))
        above = events[-1].id
    preview = Preview(snapshot, session, events)
    return context_at(preview, resolve_cursor(preview, session)).parts


def record_compaction(
    writer: SessionWriter,
    *,
    summary: str,
    first_kept: str,
    reason: str = "manual",
    policy: str = "",
    template: str = "",
) -> str:
    """Append a summary in place of the path before `first_kept`; return the entry's id.

    File operations and token counts are recomputed from the log. The file operations go into the record and,
    as tags, to the end of the summary. Raises NotFoundError if `first_kept` is not on the leaf's path,
    VersionConflictError if others appended meanwhile.
    """
    with checked(writer.log) as snapshot:
        cursor = resolve_cursor(snapshot, writer.session)
        version = snapshot.head(writer.session).version
        first_seq = snapshot.locate(writer.session, first_kept)
        if first_seq not in {entry.seq for entry in path(snapshot, cursor)}:
            raise NotFoundError("entry on the path", first_kept, "name one that the path to the leaf has")
        tokens = counter("utf16/4")
        record = compaction_record(
            Summary(text=summary, template=template),
            files=files_at(snapshot, cursor, before=first_seq).lists(),
            first_kept=first_kept,
            tokens_before=sum(tokens.count(context_at(snapshot, cursor, readable=True).parts)),
            reason=reason,
            policy=policy,
        )
        after = sum(tokens.count(parts_after(snapshot, writer.session, [record])))
    return writer.append(msgspec.structs.replace(record, tokens_after=after), expected=version)[0]


_SOURCE: Final = "source"
"""The field of such a message's details that names the entry which it repeats."""
_TALK: Final = frozenset({"assistant", "toolResult"})


class _MessageAt(NamedTuple):
    """A stored message and its entry."""

    entry: str
    message: Message
    tools: Tools


class _Read(NamedTuple):
    """A result that holds a whole file, and its entry."""

    entry: str
    path: str
    result: Message


def restore_files(
    entries: Callable[[], Iterable[Event]], restoring: Restoring, shown: Sequence[Part], tokens: Counter
) -> list[CustomMessage]:
    """Return messages that repeat recently read files, newest first, then the current plan.

    Take the newest whole read of each file, within the policy's limits of files and tokens; cut a longer
    file. `entries` yields those of the path, newest first, as stored; only as many are read as needed.
    `shown` are the kept messages: a file that one of them shows whole is not restored. A file whose newest
    read failed is not shown in an older state.
    """
    there = _shown_whole(shown, entries)
    found: list[CustomMessage] = []
    room = restoring.tokens
    for read in _newest_reads(_talk(entries())):
        if len(found) == restoring.files or room <= 0:
            break
        if read.entry in there or read.result.is_error:
            continue
        text = _cut(read.result.text, min(restoring.tokens_a_file, room), tokens)
        room -= tokens.of_text(text)
        found.append(_again(RESTORED_FILE, f"{read.path}, as it was read last:\n{text}", read.entry))
    return found + _plan(filter(_may_plan, entries()), there)


def drop_least_recent(shown: Sequence[CustomMessage]) -> list[CustomMessage]:
    """Drop the file that was read longest ago; without files, drop the plan."""
    files = [each for each in shown if each.custom_type == RESTORED_FILE]
    others = [each for each in shown if each.custom_type != RESTORED_FILE]
    return [*files[:-1], *others] if files else others[:-1]


def _again(kind: str, content: str, source: str) -> CustomMessage:
    return CustomMessage(custom_type=kind, content=content, details={_SOURCE: source})


def _shown_whole(shown: Sequence[Part], entries: Callable[[], Iterable[Event]]) -> set[str]:
    """Return the entries that messages show as stored, and those that own messages repeat."""
    whole = {part.id for part in shown if part.fate is not Fate.REWRITTEN}
    custom = {part.id for part in shown if part.id in whole and part.kind == "custom_message"}
    found = islice((each for each in entries() if each.id in custom), len(custom))
    records = (record for each in found if isinstance(record := own_record(each), CustomMessage))
    sources = (each.details for each in records if each.custom_type in (RESTORED_FILE, RESTORED_PLAN))
    return whole | {str(source.get(_SOURCE)) for source in sources if isinstance(source, dict)}


def _talk(newest_first: Iterable[Event]) -> Iterator[_MessageAt]:
    for each in newest_first:
        view = node_of(each).message if each.role in _TALK else None
        if view is not None:
            yield _MessageAt(each.id, view, format_of(each.format).tools)


def _newest_reads(newest_first: Iterable[_MessageAt]) -> Iterator[_Read]:
    """Yield the newest whole read of each file, newest first.

    A result belongs to the nearest call of its id before it.
    """
    results: dict[str, list[_MessageAt]] = {}
    seen: set[str] = set()
    for each in newest_first:
        if each.message.role == "toolResult":
            results.setdefault(each.message.tool_call_id, []).append(each)
            continue
        for call in reversed(each.message.tool_calls):
            for entry, result, _ in results.pop(call.id, ()):
                read = read_of(result, call, each.tools)
                if read and not read[1] and read[0] not in seen:
                    seen.add(read[0])
                    yield _Read(entry, read[0], result)


def _cut(text: str, room: int, tokens: Counter) -> str:
    size = tokens.of_text(text)
    if size <= room:
        return text
    shorter = text[: len(text) * room // size]
    while tokens.of_text(shorter) > room:
        shorter = shorter[: len(shorter) * 9 // 10]
    return f"{shorter}\n[... {len(text) - len(shorter)} more characters]"


def _may_plan(entry: Event) -> bool:
    """Return True if an entry contains the name of a planning tool."""
    return entry.role == "assistant" and any(
        name.encode() in entry.body for name in format_of(entry.format).tools.plans
    )


def _plan(newest_first: Iterable[Event], there: Collection[str]) -> list[CustomMessage]:
    for entry, message, tools in _talk(newest_first):
        for call in reversed(message.tool_calls):
            if call.name in tools.plans:
                text = f"The current plan:\n{call.arguments.decode('utf-8', 'replace')}"
                return [] if entry in there else [_again(RESTORED_PLAN, text, entry)]
    return []
