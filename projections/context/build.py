"""The context at a leaf: what the model was sent there, message for message."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from eventstore.checked import checked
from eventstore.event import Flag
from eventstore.files.sources import observed_rewrites
from eventstore.frame import (
    Buffer,
    Header,
    body_of,
    digest_of,
    header_of,
    kind_of,
    names_of,
    pointers_of,
    role_of,
    span_of,
    time_of,
)
from eventstore.kinds import BRANCH_SUMMARY, COMPACTION, MESSAGE, REWRITE
from eventstore.log import EventLog, Snapshot
from eventstore.records import Rewrite, Shown, record_of
from eventstore.undo import in_effect
from projections.context.cursor import Leaf, Standpoint, stand
from projections.context.overlay import NO_REWRITES, Rewrites
from projections.context.parts import Context, Fate, Part, pi_json, told_of
from projections.continuation import continues
from projections.memo import Memo
from projections.rules import rules_named
from projections.rules.base import HarnessRules, ShowEntry
from projections.settings import settings_at, settings_json

_NOTHING: Final = b""
"""In place of the message of an entry that after all shows none."""


def _nothing(frame: Buffer, empty: list[Buffer]) -> bytes:
    empty.append(frame)
    return _NOTHING


def build_context(
    log: EventLog | Snapshot,
    session: str,
    *,
    leaf: Leaf = None,
    as_of: int | None = None,
    rules: str = "pi",
    verify: bool = True,
) -> Context:
    """Return the context at a leaf, as its harness built it, faults and all.

    Its cost follows the context's size, not the history's. Every event that it is made of is checked; without
    `verify` none is, which is for looking at a damaged store, not for a request or a summary. Raises NotFoundError,
    and CorruptionError for an event that is not as it was appended.
    """
    with checked(log) if verify else log.snapshot() as snapshot:
        return context_at(snapshot, stand(snapshot, session, leaf=leaf, as_of=as_of), rules=rules)


def context_at(snapshot: Snapshot, at: Standpoint, *, rules: str = "pi") -> Context:
    """The context at a standpoint. Raises NotFoundError for rules that are not there."""
    parts = tuple(_part(frame, raw, fate) for frame, raw, fate in _shown(snapshot, at, rules_named(rules)))
    leaf = snapshot.frame(at.session, at.leaf) if at.leaf else None
    return Context(
        session=at.session,
        leaf=names_of(leaf, header_of(leaf))[0] if leaf is not None else None,
        as_of=at.as_of,
        rules=rules,
        parts=parts,
        settings=settings_at(snapshot, at.session, at.leaf),
    )


def context_json(
    log: EventLog | Snapshot, session: str, *, leaf: Leaf = None, as_of: int | None = None, rules: str = "pi"
) -> bytes:
    """`build_context(…).pi_json()` without the parts in between: stored bytes, sliced and joined once."""
    harness = rules_named(rules)
    with log.snapshot() as snapshot:
        at = stand(snapshot, session, leaf=leaf, as_of=as_of)
        leaf_frame = snapshot.frame(session, at.leaf) if at.leaf else None
        settings = settings_json(snapshot, session, leaf_frame)
        compaction, frames, is_overlaid = _selected(snapshot, at, leaf_frame)
        if is_overlaid:
            return pi_json([raw for _, raw, _ in _shown(snapshot, at, harness)], settings)
        # The loop that a rebuild's cost is made of: one unpacking and one slice a message, nothing else.
        shown, empty = harness.shown, list[Buffer]()
        messages = [
            frame[start:stop] if stop else _shown_of_entry(frame, harness) or _nothing(frame, empty)
            for frame in frames
            for start, stop in (span_of(frame),)
            if stop or frame[1] in shown
        ]
        if empty:
            messages = [message for message in messages if message is not _NOTHING]
        if compaction is not None:
            messages.insert(0, _summary(compaction, harness))
        return pi_json(messages, settings)


def part_of(frame: Buffer, *, changed: Sequence[bytes] = (), rules: str = "pi") -> Part | None:
    """What one entry shows by itself, were it the newest of a context; None for one that shows nothing.

    A compaction shows its summary. `changed` are the entry's observed rewrites.
    """
    harness = rules_named(rules)
    head = header_of(frame)
    if head.kind == COMPACTION:
        return _part(frame, _summary(frame, harness), Fate.SUMMARY)
    message = _message_of(frame, head, changed, harness)
    fate = Fate.REWRITTEN if changed else _fate(frame, head)
    return None if message is None else _part(frame, message, fate)


def parts_from(
    snapshot: Snapshot, at: Standpoint, first: int, *, rules: str = "pi", rewritten: bool = True
) -> tuple[Part, ...]:
    """Return what a path shows from entry `first` on, whatever a compaction hides: what one from there keeps.

    Without `rewritten`, the messages are as the log has them: no rewrite is in effect.
    """
    shown = _shown(snapshot, at, rules_named(rules), first=first, rewritten=rewritten)
    return tuple(_part(frame, raw, fate) for frame, raw, fate in shown)


def _selected(
    snapshot: Snapshot, at: Standpoint, leaf: Buffer | None, first: int = 0
) -> tuple[Buffer | None, Iterator[Buffer], bool]:
    """The compaction in effect, the entries that may show, and whether anything else has a say in them.

    pi §buildSessionContext: the newest compaction's summary, then the path from its first kept entry on,
    or only what follows it where that entry is not above it on the path. With `first`, the path from there
    on, and no compaction.
    """
    if leaf is None:
        return None, iter(()), False
    _, flags, _, _, compaction_seq, _, _, _ = pointers_of(leaf)
    is_overlaid = at.has_observed or flags & Flag.OVERLAID.value != 0
    if first:
        return None, snapshot.path(at.session, at.leaf, first=first), is_overlaid
    if not compaction_seq:
        return None, snapshot.path(at.session, at.leaf), is_overlaid
    compaction = snapshot.frame(at.session, compaction_seq)
    first = pointers_of(compaction)[-1] or compaction_seq + 1
    return compaction, snapshot.path(at.session, at.leaf, first=first), is_overlaid


def _shown(
    snapshot: Snapshot, at: Standpoint, harness: HarnessRules, first: int = 0, *, rewritten: bool = True
) -> Iterator[tuple[Buffer, bytes, Fate]]:
    """The messages of a context with the frames they come from and their fates."""
    leaf = snapshot.frame(at.session, at.leaf) if at.leaf else None
    compaction, frames, is_overlaid = _selected(snapshot, at, leaf, first)
    rewrites, observed = NO_REWRITES, dict[int, list[bytes]]()
    if is_overlaid:
        if at.has_observed:
            observed = observed_rewrites(snapshot, at.session, as_of=at.as_of)
        in_effect_there, frames = _rewrites_among(snapshot, at, frames)
        rewrites = in_effect_there if rewritten else NO_REWRITES
    if compaction is not None:
        changed = observed.get(header_of(compaction).seq)
        summary = harness.summary(changed[-1], time_of(compaction)) if changed else None
        yield (
            compaction,
            summary or _summary(compaction, harness),
            Fate.REWRITTEN if summary else Fate.SUMMARY,
        )
    for frame, span in rewrites.visible(frames, _id_of):
        if span:
            yield frame, span.message(harness, time_of(frame)), Fate.REWRITTEN
            continue
        head = header_of(frame)
        changed = observed.get(head.seq)
        message = _message_of(frame, head, changed or (), harness)
        if message is None:
            continue
        changes = rewrites.changes.get(names_of(frame, head)[0]) if rewrites.changes else None
        if changes and changed:
            yield frame, harness.rewrite(message, changes), Fate.REWRITTEN
        elif changes:
            yield frame, _rewritten(frame, message, changes, harness), Fate.REWRITTEN
        else:
            yield frame, message, Fate.REWRITTEN if changed else _fate(frame, head)


def _rewrites_among(
    snapshot: Snapshot, at: Standpoint, path: Iterable[Buffer]
) -> tuple[Rewrites, Iterator[Buffer]]:
    """The rewrites in effect on a path, and its other entries that are."""
    newest_first: list[list[Shown]] = []
    others: list[Buffer] = []
    for frame, head in in_effect(reversed(list(path)), lambda seq: snapshot.frame(at.session, seq)):
        if head.kind == REWRITE:
            record = record_of("rewrite", body_of(frame))
            assert isinstance(record, Rewrite)  # noqa: S101  the kind says so
            newest_first.append(record.targets)
        else:
            others.append(frame)
    return Rewrites(chain.from_iterable(reversed(newest_first))), reversed(others)


def _id_of(frame: Buffer) -> str:
    return names_of(frame, header_of(frame))[0]


def _fate(frame: Buffer, head: Header) -> Fate:
    """How an entry stands in a context whose message nothing changed."""
    if head.kind == BRANCH_SUMMARY:
        return Fate.SUMMARY
    return Fate.KEPT if head.kind == MESSAGE and not _continues(frame, head) else Fate.INJECTED


def _continues(frame: Buffer, head: Header) -> bool:
    return continues(kind_of(frame, head), role_of(frame), lambda: bytes(body_of(frame)))


def _rewritten(frame: Buffer, message: bytes, changes: list[Shown], harness: HarnessRules) -> bytes:
    """A message as rewrites show it; contexts of one session ask for the same ones again and again."""
    key = (harness.name, digest_of(frame), *((shown.shown, shown.block) for shown in changes))
    return _REWRITTEN.get(key, lambda: harness.rewrite(message, changes))


_REWRITTEN: Final = Memo[bytes]()


def _summary(compaction: Buffer, harness: HarnessRules) -> bytes:
    message = _SUMMARIES.get(
        (harness.name, digest_of(compaction)), lambda: _from_record(compaction, harness.summary)
    )
    assert message is not None  # noqa: S101  a compaction in effect always shows
    return message


_SUMMARIES: Final = Memo[bytes | None]()


def _message_of(frame: Buffer, head: Header, changed: Sequence[bytes], harness: HarnessRules) -> bytes | None:
    """What an entry shows, as its harness changed it last."""
    if changed:
        show = _show_of(frame, harness)
        return show(changed[-1], time_of(frame)) if show else None
    return bytes(frame[head.start : head.stop]) if head.stop else _shown_of_entry(frame, harness)


def _shown_of_entry(frame: Buffer, harness: HarnessRules) -> bytes | None:
    """The message of an entry that is not shown as it is stored."""
    show = _show_of(frame, harness)
    return _from_record(frame, show) if show else None


def _show_of(frame: Buffer, harness: HarnessRules) -> ShowEntry | None:
    _, flags, *_ = pointers_of(frame)
    is_migrated = flags & Flag.MIGRATED_ROLE.value
    return harness.migrated if is_migrated else harness.shown.get(frame[1])


def _from_record(frame: Buffer, show: ShowEntry) -> bytes | None:
    return show(bytes(body_of(frame)), time_of(frame))


def _part(frame: Buffer, raw: bytes, fate: Fate) -> Part:
    head = header_of(frame)
    event_id, _ = names_of(frame, head)
    role, utf16, utf8 = role_of(frame), head.utf16, head.utf8
    if head.kind == COMPACTION:
        role = "compactionSummary"
    if fate is Fate.REWRITTEN:
        role, utf16, utf8 = told_of(raw, role)
    return Part(
        seq=head.seq,
        id=event_id,
        kind=kind_of(frame, head),
        role=role,
        fate=fate,
        raw=raw,
        utf16=utf16,
        utf8=utf8,
        continues=_continues(frame, head),
    )
