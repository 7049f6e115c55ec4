"""Compact a recorded session at a boundary by another policy, without appending anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Final, Literal, NamedTuple

import msgspec

from compaction.compactor import Compactor
from compaction.giving_back import masked_words
from compaction.part import Limits
from compaction.plan import plan_compaction
from compaction.policy.model import Policy
from compaction.processes import ProgramError
from compaction.recorded_boundaries import behind
from compaction.replay.boundaries import Boundary
from compaction.replay.program import Program, compact_by_program, new_part
from compaction.replay.variants import Variant
from compaction.rewriting import record_rewrites
from compaction.summarizers.extractive import ExtractiveSummarizer
from compaction.summary import SummaryOptions
from eventstore.event import Event, NewEvent, Parent
from eventstore.harnesses import as_new, node_of
from eventstore.log import Snapshot
from eventstore.paths import event as event_at
from eventstore.paths import events_of_kinds
from eventstore.preview import Preview, PreviewLog
from eventstore.writing import SessionWriter
from projections.context.build import context_at
from projections.context.cursor import Cursor, path, resolve_cursor
from projections.context.parts import Context
from projections.replacement import end_of_change
from projections.tokens import counter

_REPLACEMENTS: Final = frozenset({"compaction", "rewrite", "undone", "reset_boundary"})
_NO_GAIN: Final = "the context would not get smaller"


class Attempted(NamedTuple):
    """The context at a boundary, and what a variant makes of it, or why there is nothing to do.

    `requests` counts the requests to a model for it, None if they are not recorded.
    """

    before: Context
    after: Context | str
    requests: int | None = None


def try_variant(
    snapshot: Snapshot, cursor: Cursor, course: Sequence[Boundary], variant: Variant, *, limits: Limits
) -> Iterator[Attempted]:
    """Yield the contexts that a variant makes at the boundaries of a course, in turn.

    At each but the first one, it compacts what it made before, with the messages that were recorded since, as if the
    session had not been compacted or rewritten between. Raises SummarizersFailedError, and what a policy's parts raise.
    """
    if variant.program is not None or variant.drops:
        yield from _by_messages(snapshot, cursor, course, variant, limits)
    elif variant.policy is None:
        for boundary in course:
            before = context_at(snapshot, cursor.at_leaf(boundary.leaf.seq))
            yield Attempted(before, _recorded(snapshot, cursor, boundary, gives_back=variant.gives_back))
    else:
        state, here = snapshot, cursor.at_leaf(course[0].leaf.seq)
        for last, boundary in zip((None, *course), course, strict=False):
            if last is not None:
                state, here = _gone_on(state, here, _between(snapshot, cursor, last, boundary))
            before = context_at(state, here)
            done = compacted(state, here, variant, variant.policy, limits)
            if isinstance(done, str):
                yield Attempted(before, done)
                continue
            requests = _requests(done, cursor.session, since=state.head(cursor.session).version)
            state, here = done, resolve_cursor(done, cursor.session)
            yield Attempted(before, context_at(state, here), requests)


def _recorded(snapshot: Snapshot, cursor: Cursor, boundary: Boundary, *, gives_back: bool) -> Context | str:
    """Return a recorded context, on request with what refold would give back there."""
    if boundary.compaction is None:
        return "the session was not compacted here"
    after = context_at(snapshot, cursor.at_leaf(end_of_change(boundary.compaction, snapshot, cursor)))
    if not gives_back:
        return after
    given = behind(snapshot, cursor, boundary.compaction, masked_words())
    if not given.text:
        return after
    return msgspec.structs.replace(
        after, parts=(*after.parts, new_part("given-back", "user", {"role": "user", "content": given.text}))
    )


def _by_messages(
    snapshot: Snapshot, cursor: Cursor, course: Sequence[Boundary], variant: Variant, limits: Limits
) -> Iterator[Attempted]:
    """Yield the contexts of a program, or those without a summary."""
    state, here = snapshot, cursor.at_leaf(course[0].leaf.seq)
    whole = before = context_at(state, here)
    for last, boundary in zip((None, *course), course, strict=False):
        if last is not None:
            known = {part.key for part in whole.parts}
            state, here = _gone_on(state, here, _between(snapshot, cursor, last, boundary))
            whole = context_at(state, here)
            new = [part for part in whole.parts if part.key not in known]
            before = msgspec.structs.replace(whole, parts=(*before.parts, *new))
        after: Context | str
        if variant.program is not None:
            after = _by_program(state, before, variant.program, limits)
        else:
            assert variant.policy is not None  # noqa: S101  it says what to keep
            tokens = counter(variant.policy.counter)
            plan = plan_compaction(state, here, variant.policy, limits=limits, tokens=tokens)
            after = plan if isinstance(plan, str) else msgspec.structs.replace(before, parts=plan.kept)
        yield Attempted(before, after, 0 if variant.drops else None)
        before = before if isinstance(after, str) else after


def _between(snapshot: Snapshot, cursor: Cursor, last: Boundary, boundary: Boundary) -> list[Event]:
    """Return the messages that were recorded between two boundaries."""
    entries = path(snapshot, cursor.at_leaf(boundary.leaf.seq))
    place = next(number for number, each in enumerate(entries, 1) if each.seq == last.leaf.seq)
    return conversation(entries[place:])


def _gone_on(state: Snapshot, here: Cursor, new: Sequence[Event]) -> tuple[Snapshot, Cursor]:
    """Return a session that goes on from a cursor with copies of messages, and its new end."""
    if not new:
        return state, here
    above = event_at(state, here.session, here.leaf).id
    longer = Preview(state, here.session, following(new, above=above))
    return longer, resolve_cursor(longer, here.session)


def _requests(snapshot: Snapshot, session: str, since: int) -> int:
    """Count the requests to models for compactions behind an event."""
    made = events_of_kinds(snapshot, session, {"compaction"}, first=since + 1)
    asked = [each.summarizer for compaction in made for each in node_of(compaction, snapshot).requests]
    return sum(name != ExtractiveSummarizer.name for name in asked)


def conversation(entries: Sequence[Event]) -> list[Event]:
    """Leave out entries that replaced messages, and what was appended with a compaction."""
    causes = {entry.cause for entry in entries if entry.kind == "compaction" and entry.cause}
    return [entry for entry in entries if entry.kind not in _REPLACEMENTS and entry.cause not in causes]


def following(entries: Sequence[Event], *, above: str | Literal[Parent.LEAF] | None) -> list[NewEvent]:
    """Return copies of entries, each below the one before it, the first below `above`."""
    return [
        as_new(entry, parent=Parent.LEAF if place else above, target=None)
        for place, entry in enumerate(entries)
    ]


def _size(context: Context) -> int:
    return sum(counter("utf16/4").count(context.parts))


def _by_program(snapshot: Snapshot, before: Context, program: Program, limits: Limits) -> Context | str:
    try:
        after = compact_by_program(snapshot, before, program, limits)
    except ProgramError as error:
        return str(error)
    if _size(after) >= _size(before):
        return _NO_GAIN
    return after


def compacted(
    snapshot: Snapshot, here: Cursor, variant: Variant, policy: Policy, limits: Limits
) -> Snapshot | str:
    """Return the session after a policy's rewrites and its compaction, or why there are none.

    Raises SummarizersFailedError.
    """
    session, tokens = here.session, counter(policy.counter)
    log = PreviewLog(snapshot, session)
    writer, leaf = preview_writer(log, session), event_at(snapshot, session, here.leaf).id
    rewritten = record_rewrites(
        writer,
        policy.rewrites,
        tokens=tokens,
        is_compacting=policy.cut is not None,
        leaf=leaf,
        since=snapshot.head(session).version,
    ).events
    if policy.cut is not None:
        compactor = Compactor(
            policy=policy, chain=variant.chain, limits=limits, tokens=tokens, sources=variant.sources
        )
        done = compactor.compact(
            writer,
            reason="threshold",
            options=SummaryOptions(template=variant.template),
            leaf=[leaf, *rewritten][-1],
        )
        if done.outcome != "compacted":
            return _NO_GAIN if done.outcome == "no-gain" else done.reason
    elif not rewritten:
        return "no rewrite of the policy shortens anything"
    with log.snapshot() as preview:
        return preview


def preview_writer(log: PreviewLog, session: str) -> SessionWriter:
    """Return a writer that reads no clock and draws no random ids."""
    with log.snapshot() as snapshot:
        # A second writer of a session makes other ids.
        numbers = count(snapshot.head(session).version + 1)
    return SessionWriter(log, session, clock=lambda: 0, new_id=lambda: f"new-{next(numbers)}")
