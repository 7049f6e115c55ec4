"""Build the context at a leaf: the messages that the model was sent there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Final

import msgspec

from eventstore.as_of import as_of_event
from eventstore.checked import checked
from eventstore.errors import CorruptionError
from eventstore.event import Event
from eventstore.harnesses import node_of
from eventstore.imports import observed_rewrites
from eventstore.log import EventLog, Snapshot
from eventstore.paths import (
    LazyEvent,
    Order,
    SnapshotCache,
    event,
    in_effect_on,
    messages_of_path,
    path,
    path_of_kinds,
)
from eventstore.records import FORMAT, TextReplacement
from projections.context.cursor import Cursor, Leaf, resolve_cursor
from projections.context.overlay import NO_REWRITES, Rewrites, resolve_targets
from projections.context.parts import Context, Fate, Part, is_by_person, origin, role_of
from projections.rules import beside_path, rules_at, rules_named, rules_of_format, select_readable
from projections.rules.base import Rules, Selection, native_provider
from projections.settings import encode_settings, settings_at, settings_json


def build_context(
    log: EventLog | Snapshot,
    session: str,
    *,
    leaf: Leaf = None,
    as_of: int | None = None,
    rules: str | None = None,
    readable: bool = False,
    verify: bool = True,
) -> Context:
    """Return the context at a leaf exactly as its harness built it, mistakes included.

    Uses the rules of the session's harness unless `rules` names others. For a request to another provider, ask for a
    `readable` one: messages replace a history that only its provider can read. The cost grows with the context, not
    with the history. Every event in the context is verified; pass `verify=False` only to look at a damaged
    store, never to build a request or a summary. Raises NotFoundError, and CorruptionError if an event
    differs from what was appended.
    """
    with checked(log) if verify else log.snapshot() as newest:
        snapshot = as_of_event(newest, session, as_of)
        cursor = resolve_cursor(snapshot, session, leaf=leaf, as_of=as_of)
        return context_at(snapshot, cursor, rules=rules, readable=readable)


def context_at(
    snapshot: Snapshot, cursor: Cursor, *, rules: str | None = None, readable: bool = False
) -> Context:
    """Return the context at a cursor. Raises NotFoundError for unknown rules.

    A `readable` one has the messages in place of a history that only its provider can read.
    """
    leaf = _leaf(snapshot, cursor)
    harness = _rules(snapshot, leaf, rules)
    return Context(
        session=cursor.session,
        leaf=leaf.id if leaf else None,
        as_of=cursor.as_of,
        rules=harness.name,
        parts=_parts(snapshot, cursor, leaf, harness, _select(snapshot, leaf, harness, readable=readable))
        if leaf
        else (),
        settings=settings_at(snapshot, cursor.session, cursor.leaf),
        expanded=_unread(snapshot, leaf) if leaf and readable else "",
    )


def _unread(snapshot: Snapshot, leaf: LazyEvent) -> str:
    """Return the id of the compaction in effect if only its provider can read it, else ""."""
    compaction = event(snapshot, leaf.session, leaf.compaction_seq) if leaf.compaction_seq else None
    return compaction.id if compaction and native_provider(compaction) else ""


def parts_in_native_history(snapshot: Snapshot, sent: Context) -> list[Part]:
    """Return the messages that a history replaces which only its provider can read."""
    snapshot = as_of_event(snapshot, sent.session, sent.as_of)
    cursor = resolve_cursor(snapshot, sent.session, leaf=sent.leaf, as_of=sent.as_of)
    leaf = _leaf(snapshot, cursor) if sent.leaf else None
    if leaf is None or not _unread(snapshot, leaf):
        return []
    shown = {part.key for part in sent.parts}
    return [part for part in context_at(snapshot, cursor, readable=True).parts if part.key not in shown]


def harness_json(context: Context) -> bytes:
    """Return a context as JSON in the harness's own shape: messages and settings."""
    return rules_named(context.rules).document(
        [part.raw for part in context.parts], encode_settings(context.settings)
    )


def messages_json(
    snapshot: Snapshot, parts: Sequence[Part], tokens: Sequence[int]
) -> list[dict[str, object]]:
    """Return messages as JSON values with all facts about each, `tokens` being their sizes."""
    return [
        {
            "event": part.id,
            "records": [event(snapshot, session, seq).id for session, seq in part.events if seq],
            "seq": part.seq,
            "kind": part.kind,
            "role": part.role,
            "fate": part.fate,
            "tokens": count,
            "message": msgspec.Raw(part.raw),
        }
        for part, count in zip(parts, tokens, strict=True)
    ]


def context_json(
    log: EventLog | Snapshot,
    session: str,
    *,
    leaf: Leaf = None,
    as_of: int | None = None,
    rules: str | None = None,
) -> bytes:
    """Return `harness_json(build_context(…))` by joining slices of stored bytes."""
    with log.snapshot() as newest:
        snapshot = as_of_event(newest, session, as_of)
        cursor = resolve_cursor(snapshot, session, leaf=leaf, as_of=as_of)
        entry = _leaf(snapshot, cursor)
        harness = _rules(snapshot, entry, rules)
        settings = settings_json(snapshot, entry)
        if entry is None:
            return harness.document([], settings)
        selected = harness.select(snapshot, entry)
        if harness.arranges or selected.kept is not None or selected.prefix or _is_overlaid(cursor, entry):
            parts = _parts(snapshot, cursor, entry, harness, selected)
            return harness.document([part.raw for part in parts], settings)
        marks = list[LazyEvent]()
        messages = messages_of_path(
            snapshot,
            session,
            cursor.leaf,
            first=selected.first,
            kinds=_kinds(harness),
            show=_messages_shown,
            marked=harness.arranged_by,
            marks=marks,
        )
        if _is_arranged_by(snapshot, entry, harness, selected.first, marks):
            parts = _parts(snapshot, cursor, entry, harness, selected)
            return harness.document([part.raw for part in parts], settings)
        if selected.compaction:
            messages[:0] = _summary(selected.compaction)
        return harness.document(messages, settings)


def parts_of(
    entry: Event | LazyEvent, *, changed: Sequence[bytes] = (), restored: bool = False
) -> list[Part]:
    """Return the parts that one entry contributes if it is the newest of a context.

    A compaction contributes its summary. `changed` are the entry's observed rewrites, `restored` is `is_restored`.
    """
    if entry.kind == "compaction":
        return _parts_of_messages(entry, _summary(entry), Fate.SUMMARY)
    return _parts_shown(entry, changed, restored=restored)


def is_restored(snapshot: Snapshot, entry: Event | LazyEvent) -> bool:
    """Return True for an entry by which a harness sends content again after a compaction.

    Between it and the compaction there is no message, of the model, a tool or a person.
    """
    compaction, above = entry.compaction_seq, entry.parent_seq
    if not compaction or entry.kind != "custom_message":
        return False
    behind = [entry]
    while above > compaction:
        behind.append(between := event(snapshot, entry.session, above))
        if between.kind == "message":
            return False
        above = between.parent_seq
    return above == compaction and node_of(entry).restores and not any(map(is_by_person, behind))


def parts_from(
    snapshot: Snapshot, cursor: Cursor, selected: Selection, *, rewritten: bool = True
) -> tuple[Part, ...]:
    """Return the parts from a selection's first entry on, also those that compactions hide.

    They are not arranged: what the harness leaves out of requests, such as failed turns, is among them. If the
    selection lists what is kept, entries off the list stay hidden: a summary covers them. Without `rewritten`,
    messages appear as stored, with no rewrite applied.
    """
    leaf = _leaf(snapshot, cursor)
    if leaf is None:
        return ()
    harness = rules_at(snapshot, leaf)
    if selected.kept is None:
        selected = Selection(first=selected.first)
    parts = [
        part
        for part in _selected(snapshot, cursor, leaf, harness, selected, rewritten=rewritten, unsent=True)
        if selected.compaction is None or part.seq != selected.compaction.seq
    ]
    return tuple(harness.joined(parts))


def _leaf(snapshot: Snapshot, cursor: Cursor) -> LazyEvent | None:
    return event(snapshot, cursor.session, cursor.leaf) if cursor.leaf else None


def _rules(snapshot: Snapshot, leaf: LazyEvent | None, name: str | None) -> Rules:
    return rules_at(snapshot, leaf) if name is None else rules_named(name)


@cache
def _kinds(rules: Rules) -> frozenset[str]:
    """Return the kinds of entries that may not appear as stored, including refold's own."""
    return rules.kinds | rules_of_format(FORMAT).kinds


def _is_overlaid(cursor: Cursor, leaf: LazyEvent) -> bool:
    """Return True if a rewrite, an undo or a record its harness changed may affect the context."""
    return cursor.has_observed or leaf.is_overlaid


def unarranged_at(snapshot: Snapshot, cursor: Cursor) -> list[Part]:
    """Return the parts of the context at a cursor before its harness's rules arrange them."""
    leaf = _leaf(snapshot, cursor)
    if leaf is None:
        return []
    rules = rules_at(snapshot, leaf)
    return _unarranged(snapshot, cursor, leaf, rules, rules.select(snapshot, leaf))


def _select(snapshot: Snapshot, leaf: LazyEvent, rules: Rules, *, readable: bool) -> Selection:
    return select_readable(snapshot, leaf, rules) if readable else rules.select(snapshot, leaf)


def _parts(  # noqa: PLR0917
    snapshot: Snapshot,
    cursor: Cursor,
    leaf: LazyEvent,
    rules: Rules,
    selected: Selection,
    behind: tuple[str, ...] = (),
) -> tuple[Part, ...]:
    """Return the parts of a context; `behind` are the sessions whose prefix it is."""
    parts = _unarranged(snapshot, cursor, leaf, rules, selected, behind)
    return tuple(
        rules.arrange(snapshot, leaf, parts) if _is_arranged(snapshot, leaf, rules, selected) else parts
    )


def _is_arranged(snapshot: Snapshot, leaf: LazyEvent, rules: Rules, selected: Selection) -> bool:
    if rules.arranges or not rules.arranged_by:
        return rules.arranges
    found = path_of_kinds(snapshot, leaf.session, leaf.seq, rules.arranged_by, first=selected.first)
    return _is_arranged_by(snapshot, leaf, rules, selected.first, found)


def _is_arranged_by(
    snapshot: Snapshot, leaf: LazyEvent, rules: Rules, first: int, found: Iterable[LazyEvent]
) -> bool:
    """Return True if entries of `Rules.arranged_by` may change messages of a path."""
    is_marked = any(rules.is_arranged_by(snapshot, entry) for entry in found)
    return is_marked and rules.arranges_at(snapshot, leaf, first)


def _unarranged(  # noqa: PLR0917
    snapshot: Snapshot,
    cursor: Cursor,
    leaf: LazyEvent,
    rules: Rules,
    selected: Selection,
    behind: tuple[str, ...] = (),
) -> list[Part]:
    parts = _selected(snapshot, cursor, leaf, rules, selected)
    if selected.prefix:
        session, entry = selected.prefix.session, selected.prefix.entry
        behind = (*behind, cursor.session)
        if session in behind:
            raise CorruptionError(
                cursor.session, cursor.leaf, f"its context begins in {session!r}, which begins in it"
            )
        there = resolve_cursor(snapshot, session, leaf=entry)
        end = _leaf(snapshot, there)
        assert end is not None  # noqa: S101  an entry was named
        its = rules_at(snapshot, end)
        parts[:0] = _parts(snapshot, there, end, its, its.select(snapshot, end), behind)
    return parts


def _selected(
    snapshot: Snapshot,
    cursor: Cursor,
    leaf: LazyEvent,
    harness: Rules,
    selected: Selection,
    *,
    rewritten: bool = True,
    unsent: bool = False,
) -> list[Part]:
    """Return the parts of a session's own entries, in order."""
    compaction, kept = selected.compaction, selected.kept
    rewrites, observed = NO_REWRITES, dict[int, list[bytes]]()
    on_path = list(path(snapshot, cursor.session, cursor.leaf, first=selected.first))
    beside = beside_path(snapshot, on_path, harness)
    entries: Iterable[LazyEvent] = (*on_path, *beside) if beside else on_path
    if _is_overlaid(cursor, leaf):
        if cursor.has_observed:
            observed = observed_rewrites(snapshot, cursor.session, as_of=cursor.as_of)
        effective = in_effect_on(snapshot, cursor.session, cursor.leaf, first=selected.first)
        in_effect, entries = _rewrites_among(chain(effective, beside))
        rewrites = in_effect if rewritten else NO_REWRITES
    order = Order(snapshot, cursor.session)
    if beside:
        entries = sorted(entries, key=lambda entry: order.place(entry.seq))
    behind = order.place(compaction.seq) if compaction else 0
    if compaction:
        entries = _kept_by(compaction, kept, entries, order)
    due, answered = compaction, -1
    parts = list[Part]()
    for seq in selected.leading:
        parts += _parts_shown(event(snapshot, cursor.session, seq), restored=True)
    for entry, span in rewrites.visible(entries, attrgetter("id")):
        if due and (not selected.keeps_before or order.place(entry.seq) > behind):
            parts += _summarized(due, observed)
            due = None
        if span:
            rules = rules_of_format(entry.format)
            made = _parts_of_messages(entry, span.messages(rules, entry.time), Fate.REWRITTEN)
            parts += (msgspec.structs.replace(part, by_person=False) for part in made)
            continue
        changed = observed.get(entry.seq, ()) if observed else ()
        changes = rewrites.changes.get(entry.id, ()) if rewrites.changes else ()
        answered = entry.compaction_seq if entry.kind == "message" else answered
        restored = entry.compaction_seq != answered and is_restored(snapshot, entry)
        parts += _parts_shown(entry, changed, changes, restored=restored, unsent=unsent)
    if due:
        parts += _summarized(due, observed)
    return parts


def _kept_by(
    compaction: LazyEvent, kept: frozenset[str] | None, entries: Iterable[LazyEvent], order: Order
) -> list[LazyEvent]:
    """Return the entries that show beside the summary of the compaction in effect."""
    behind = order.place(compaction.seq)
    return [
        entry
        for entry in entries
        if entry.seq != compaction.seq
        and (kept is None or order.place(entry.seq) > behind or entry.id in kept)
    ]


def _rewrites_among(newest_first: Iterable[LazyEvent]) -> tuple[Rewrites, Iterator[LazyEvent]]:
    """Split a path into the rewrites and the other entries in effect, from the root on."""
    rewrites: list[Sequence[TextReplacement]] = []
    others: list[LazyEvent] = []
    for entry in newest_first:
        if entry.kind == "rewrite":
            rewrites.append(node_of(entry).rewrites)
        else:
            others.append(entry)
    targets = list(chain.from_iterable(reversed(rewrites)))
    return Rewrites(resolve_targets(targets, others)), reversed(others)


def _parts_shown(
    entry: Event | LazyEvent,
    changed: Sequence[bytes] = (),
    changes: Sequence[TextReplacement] = (),
    *,
    restored: bool = False,
    unsent: bool = False,
) -> list[Part]:
    """Return an entry's parts after its harness's latest change and all rewrites.

    With `unsent`, answers that a harness summarizes, though it sends them no more, are among them.
    """
    stored = b"" if changed else entry.message
    if stored and not changes:
        return [_part(entry, stored, None, entry.format)]
    rules = rules_of_format(entry.format)
    messages: Sequence[bytes]
    if stored:
        messages = (stored,)
    elif entry.kind in rules.kinds:
        messages = rules.show(entry, changed[-1] if changed else entry.body)
    else:
        return []
    if unsent and not messages and not changes and rules.summarizes_unsent and entry.role == "assistant":
        said = node_of(entry).raw
        # What is not sent has no size in the log.
        return (
            [msgspec.structs.replace(_part(entry, said, None, entry.format), recorded=None)] if said else []
        )
    fate = Fate.REWRITTEN if changed or changes else Fate.RESTORED if restored else None
    if changes:
        messages = rules.rewrite(messages, changes)
    return (
        [_part(entry, raw, fate, entry.format) for raw in messages]
        if stored
        else _parts_of_messages(entry, messages, fate)
    )


def _messages_shown(entry: LazyEvent) -> Sequence[bytes]:
    """Return the messages of an entry that does not store its message as shown."""
    rules = rules_of_format(entry.format)
    return rules.show(entry, entry.body) if entry.kind in rules.kinds else ()


def _summarized(compaction: LazyEvent, observed: dict[int, list[bytes]]) -> list[Part]:
    """Return the summary of the compaction in effect, after its harness's latest change."""
    changed = observed.get(compaction.seq)
    if changed and (messages := rules_of_format(compaction.format).show(compaction, changed[-1])):
        return _parts_of_messages(compaction, messages, Fate.REWRITTEN)
    return _parts_of_messages(compaction, _summary(compaction), Fate.SUMMARY)


def _summary(compaction: Event | LazyEvent) -> Sequence[bytes]:
    rules = rules_of_format(compaction.format)
    return _SUMMARIES.get(compaction.digest, lambda: rules.show(compaction, compaction.body))


_SUMMARIES: Final = SnapshotCache[Sequence[bytes]]()


def _parts_of_messages(entry: Event | LazyEvent, messages: Sequence[bytes], fate: Fate | None) -> list[Part]:
    """Return the parts for messages that the rules of an entry's format made from it."""
    shape = rules_of_format(entry.format).format
    parts = [_part(entry, raw, fate, shape) for raw in messages]
    return parts if len(parts) == 1 else [_adapted(part, place) for place, part in enumerate(parts)]


def _adapted(part: Part, place: int) -> Part:
    """Return one of several parts of an event, with the role of its own message."""
    role = role_of(part.raw, part.role, part.format)
    by_person = part.by_person and role == "user"
    return msgspec.structs.replace(part, role=role, recorded=None, place=place, by_person=by_person)


def _part(entry: Event | LazyEvent, raw: bytes, fate: Fate | None, format: str) -> Part:
    """Return the part for a message; without a fate, one that nothing changed."""
    kind, role = entry.kind, entry.role
    goes_on, by_person = origin(entry) if role == "user" or kind == "custom_message" else (False, False)
    if kind == "compaction":
        role = "compactionSummary"
    if fate is Fate.REWRITTEN:
        role = role_of(raw, role, format)
    elif fate is None and kind == "branch_summary":
        fate = Fate.SUMMARY
    elif fate is None:
        fate = Fate.KEPT if kind == "message" and not goes_on else Fate.INJECTED
    return Part(
        session=entry.session,
        seq=entry.seq,
        id=entry.id,
        kind=kind,
        role=role,
        fate=fate,
        raw=raw,
        format=format,
        recorded=None if fate is Fate.REWRITTEN else (entry.utf16, entry.utf8),
        continues=goes_on,
        by_person=by_person,
    )
