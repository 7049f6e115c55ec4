"""Compose and append what a compaction adds: its record, files shown again, and the message that goes on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec

from compaction.continuations import CONTINUATIONS, NONE, Continued, Situation
from compaction.file_tags import with_file_tags
from compaction.part import Limits, Reason
from compaction.plan import Plan, shrunk
from compaction.policy.model import Policy, Restoring
from compaction.rewrites import Evict, sized
from compaction.rewrites.supersede import whole_read
from compaction.summary import Summary
from compaction.window import has_open_calls
from eventstore.checked import checked
from eventstore.errors import NotFoundError
from eventstore.event import Event, Parent
from eventstore.formats import tools_of, view_of_event
from eventstore.formats.base import Tools
from eventstore.formats.refold.events import compose
from eventstore.log import Snapshot
from eventstore.preview import Prospect
from eventstore.records import Compaction, CustomMessage, FileOperations, Record, Rewrite, Shown
from eventstore.views import Message
from eventstore.writing import SessionWriter
from projections.context.build import context_at
from projections.context.cursor import Standpoint, newest_first, path, stand
from projections.context.parts import Fate, Part, view_of_part
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
    continued: Continued
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
    at: Standpoint,
    here: Standpoint,
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
    come_since = [entry.id for entry in path(snapshot, here, first=at.leaf + 1)]
    kept = {*plan.cut.kept, *come_since}
    follows = CONTINUATIONS[policy.continuation] if draft.continues else NONE
    own = [part for part in before if part.session == here.session]
    entries = path(snapshot, here, first=min((part.seq for part in own), default=1))
    is_open = has_open_calls(before)
    continued = follows.following(Situation(before=before, kept=kept, entries=entries, is_open=is_open))
    overlays = [
        *_rewrite("offload", shrunk(at.session, plan, tokens)),
        *_rewrite("evict", _evicted(at.session, own, kept, continued, tokens)),
    ]
    shown_again: list[CustomMessage] = []
    if policy.restoring and not is_open:
        shown = [part for part in own if part.id in kept]
        shown_again = restored(partial(newest_first, snapshot, here), policy.restoring, shown, tokens)
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
            shown_again = fewer(shown_again)
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


def _goes_on_by_itself(draft: Draft, continued: Continued) -> bool:
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
    prospect = Prospect(snapshot, session, events)
    return context_at(prospect, stand(prospect, session)).parts


def _placement(draft: Draft, policy: Policy) -> str:
    after_refusal = policy.recovery_placement if draft.reason == "overflow" else None
    return after_refusal or policy.placement


def _evicted(
    session: str, before: Sequence[Part], kept: set[str], continued: Continued, tokens: Counter
) -> list[Shown]:
    """Return what to show of the images in what is kept, where the continuation asks for it."""
    if not continued.evicts:
        return []
    return Evict().plan(sized(session, [part for part in before if part.id in kept], tokens))


def _rewrite(reason: str, targets: list[Shown]) -> list[Record]:
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
        at = stand(snapshot, writer.session)
        version = snapshot.head(writer.session).version
        first_seq = snapshot.locate(writer.session, first_kept)
        entries = path(snapshot, at)
        if first_seq not in {entry.seq for entry in entries}:
            raise NotFoundError("entry on the path", first_kept, "'refold tree' shows the path to the leaf")
        tokens = counter("utf16/4")
        record = compaction_record(
            Summary(text=summary, template=template),
            files=files_of([entry for entry in entries if entry.seq < first_seq], snapshot).lists(),
            first_kept=first_kept,
            tokens_before=sum(tokens.count(context_at(snapshot, at).parts)),
            reason=reason,
            policy=policy,
        )
        after = sum(tokens.count(parts_after(snapshot, writer.session, [record])))
    return writer.append(msgspec.structs.replace(record, tokens_after=after), expected=version)[0]


RESTORED: Final = "restored_file"
"""The type of the messages that show a file again."""
_RESTORED_PLAN: Final = "restored_plan"
_SOURCE: Final = "source"
"""The field of such a message's details that names the entry which it shows again."""
_TALK: Final = frozenset({"assistant", "toolResult"})


class _Said(NamedTuple):
    """A message as it is stored, and the entry that it is."""

    entry: str
    message: Message
    tools: Tools


class _Read(NamedTuple):
    """A result that holds all of a file, and the entry that it is."""

    entry: str
    path: str
    result: Message


def restored(
    entries: Callable[[], Iterable[Event]], restoring: Restoring, shown: Sequence[Part], tokens: Counter
) -> list[CustomMessage]:
    """Messages with the newest whole read of each recently read file, newest first, then the current plan.

    `entries` gives those of the path, newest first, as they are stored, whatever rewrites and compactions show of
    them; no more of them are read than it takes. At most so many files, and so many tokens, as the policy says; a
    longer file is cut. `shown` are the messages that the context keeps: what one of them has whole, or shows again
    already, needs no restoring. A file whose newest read failed is not shown as it was before that.
    """
    there = _shown_whole(shown)
    found: list[CustomMessage] = []
    room = restoring.tokens
    for read in _newest_reads(_talk(entries())):
        if len(found) == restoring.files or room <= 0:
            break
        if read.entry in there or read.result.is_error:
            continue
        text = _cut(read.result.text, min(restoring.tokens_a_file, room), tokens)
        room -= tokens.of_text(text)
        found.append(_again(RESTORED, f"{read.path}, as it was read last:\n{text}", read.entry))
    return found + _plan(filter(_may_plan, entries()), there)


def fewer(shown: Sequence[CustomMessage]) -> list[CustomMessage]:
    """Return what is shown again, less the file that was read longest ago; without files, less the plan."""
    files = [each for each in shown if each.custom_type == RESTORED]
    others = [each for each in shown if each.custom_type != RESTORED]
    return [*files[:-1], *others] if files else others[:-1]


def _again(kind: str, content: str, source: str) -> CustomMessage:
    return CustomMessage(custom_type=kind, content=content, details={_SOURCE: source})


def _shown_whole(shown: Sequence[Part]) -> set[str]:
    """Return the entries that messages show as they are stored, and those that they show again."""
    whole = {part.id for part in shown if part.fate is not Fate.REWRITTEN}
    custom = [part for part in shown if part.id in whole and part.kind == "custom_message"]
    extensions = (view_of_part(part).extension for part in custom)
    sources = (each.data for each in extensions if each and each.type in (RESTORED, _RESTORED_PLAN))
    return whole | {str(source.get(_SOURCE)) for source in sources if isinstance(source, dict)}


def _talk(newest_first: Iterable[Event]) -> Iterator[_Said]:
    for each in newest_first:
        view = view_of_event(each) if each.role in _TALK else None
        if view is not None:
            yield _Said(each.id, view, tools_of(each.format))


def _newest_reads(newest_first: Iterable[_Said]) -> Iterator[_Read]:
    """Yield the newest whole read of each file, newest first; a result is of the nearest call of its id before it."""
    results: dict[str, list[_Said]] = {}
    seen: set[str] = set()
    for said in newest_first:
        if said.message.role == "toolResult":
            results.setdefault(said.message.tool_call_id, []).append(said)
            continue
        for call in reversed(said.message.tool_calls):
            for entry, result, _ in results.pop(call.id, ()):
                path = whole_read(result, call, said.tools)
                if path is not None and path not in seen:
                    seen.add(path)
                    yield _Read(entry, path, result)


def _cut(text: str, room: int, tokens: Counter) -> str:
    size = tokens.of_text(text)
    if size <= room:
        return text
    shorter = text[: len(text) * room // size]
    while tokens.of_text(shorter) > room:
        shorter = shorter[: len(shorter) * 9 // 10]
    return f"{shorter}\n[... {len(text) - len(shorter)} more characters]"


def _may_plan(entry: Event) -> bool:
    """Return True if an entry may hold a call of such a tool: its name stands in it somewhere."""
    return entry.role == "assistant" and any(
        name.encode() in entry.body for name in tools_of(entry.format).plans
    )


def _plan(newest_first: Iterable[Event], there: Collection[str]) -> list[CustomMessage]:
    for entry, message, tools in _talk(newest_first):
        for call in reversed(message.tool_calls):
            if call.name in tools.plans:
                text = f"The current plan:\n{call.arguments.decode('utf-8', 'replace')}"
                return [] if entry in there else [_again(_RESTORED_PLAN, text, entry)]
    return []
