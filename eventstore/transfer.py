"""Copy the events that one log has and another lacks; both get the same chain of digests."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from functools import partial
from typing import Final

import msgspec

from eventstore.checked import check_frame
from eventstore.errors import CorruptionError, NotFoundError, RefoldError, StoreError
from eventstore.event import NewEvent
from eventstore.files.glue import segment_digests
from eventstore.frame import decode, digest_of
from eventstore.harnesses import as_new
from eventstore.imports import earlier_generation, generations, import_parts, newest_import, started_link
from eventstore.log import EventLog, Head, Progress, Snapshot
from eventstore.records import Import, Link, own_record, record_of
from eventstore.writing import retry_on_conflict

BATCH_EVENTS: Final = 1000
"""Maximum number of events in one append."""
_BATCH_BYTES: Final = 8 << 20
"""Bytes of bodies and payloads from which an append is full."""


class DivergedError(RefoldError):
    """A session has other events in two logs, from event number `seq` on.

    `source_id` and `target_id` are the ids of that event in the two logs.
    """

    def __init__(self, session: str, seq: int, source_id: str, target_id: str) -> None:
        self.session, self.seq, self.source_id, self.target_id = session, seq, source_id, target_id
        ids = (
            f"{source_id!r} in both, with different content"
            if source_id == target_id
            else f"{source_id!r} in the source and {target_id!r} in the target"
        )
        super().__init__(
            f"session {session!r} has diverged: event #{seq}, the first that differs, is {ids}; "
            "to keep both, fork one of them under another name"
        )


class SessionTransfer(msgspec.Struct, frozen=True, kw_only=True):
    """The result for one session.

    `added` counts the events that were copied, or that a comparison found missing. `version` is the session's
    version in the source, and `ahead` the number of later events that only the target has. With an `error`,
    the events after the first `added` ones are not in the target.
    """

    session: str
    version: int
    added: int = 0
    ahead: int = 0
    error: RefoldError | None = None


class _Comparison(msgspec.Struct, frozen=True):
    """A session's heads in two logs (None: not in the target), and its number of common events."""

    common: int
    source: Head
    target: Head | None


def compare(
    source: EventLog, target: EventLog, *, sessions: Collection[str] | None = None
) -> list[SessionTransfer]:
    """Return what `transfer` would copy, for the sessions named or all, the last written last.

    Raises NotFoundError for a session that the source lacks, StoreError.
    """
    with source.snapshot() as snapshot:
        heads = list(snapshot.heads())
    if sessions is not None:
        by_name = {head.name: head for head in heads}
        for name in sessions:
            if name not in by_name:
                raise NotFoundError("session", name, "name one that the source has")
        heads = [by_name[name] for name in set(sessions)]
    with target.snapshot() as snapshot:
        there = {head.name: (head.version, head.digest) for head in snapshot.heads() if head.version}
    found = []
    for head in sorted(heads, key=lambda head: head.position):
        state = SessionTransfer(session=head.name, version=head.version)
        if there.get(head.name) != (head.version, head.digest):
            try:
                compared = _compare(source, target, head.name)
            except StoreError:
                raise
            except RefoldError as error:
                state = msgspec.structs.replace(state, error=error)
            else:
                ahead = compared.target.version - compared.common if compared.target else 0
                state = SessionTransfer(
                    session=head.name,
                    version=compared.source.version,
                    added=compared.source.version - compared.common,
                    ahead=ahead,
                )
        found.append(state)
    return found


def transfer(
    source: EventLog,
    target: EventLog,
    *,
    sessions: Collection[str] | None = None,
    progress: Progress = lambda _done, _total: None,
) -> list[SessionTransfer]:
    """Append to `target` the events of `source` that it lacks, with their payloads.

    Copy the sessions named, or all, in the order in which they were last written. Each event is verified while
    it is read, and gets the digest that it has in the source. Every append is whole and continues where the
    target's session ends, so that a transfer that was stopped at any point continues when it is repeated, and
    one that is repeated adds nothing. Times of recording, positions, and the states of files that `sync`
    remembers belong to each log and are not copied.

    A session that has diverged (DivergedError), or is damaged at one end (CorruptionError), has its error in
    the result, and the others are copied all the same. Raises NotFoundError for a session that the source
    lacks, and StoreError.
    """
    compared = compare(source, target, sessions=sessions)
    total, done = sum(each.added for each in compared), 0
    results = []
    for each in compared:
        added, error = 0, each.error
        while error is None and added < each.added:
            try:
                copied = retry_on_conflict(partial(_copy_batch, source, target, each.session, each.version))
            except StoreError:
                raise
            except RefoldError as problem:
                error = problem
                break
            if not copied:
                # Another process has copied the rest.
                break
            added += copied
            done += copied
            progress(done, total)
        results.append(msgspec.structs.replace(each, added=added, error=error))
    return results


def related_sessions(snapshot: Snapshot, session: str) -> set[str]:
    """Return a session with its subagents, generations, parents and others of its files."""
    names = {head.name for head in snapshot.heads()}
    found: set[str] = set()
    waiting = [session]
    while waiting:
        name = waiting.pop()
        if name in found or name not in names:
            continue
        found.add(name)
        waiting += [each.name for each in generations(snapshot, name)]
        waiting += [earlier] if (earlier := earlier_generation(snapshot, name)) else []
        waiting += [each for each in names if each.startswith(f"{name}/")]
        started = started_link("")
        waiting += [each.removeprefix(started) for each in snapshot.ids(name, started)]
        waiting += _parents(snapshot, name)
        if newest := newest_import(snapshot, snapshot.head(name)):
            waiting += [each for part in import_parts(snapshot, name, newest) for each in part.sessions]
    return found


def _parents(snapshot: Snapshot, session: str) -> list[str]:
    """Return the sessions from which a session's context continues, as imported."""
    try:
        seqs = [snapshot.locate(session, each) for each in snapshot.ids(session, started_link(""))]
    except NotFoundError:
        return []
    events = [decode(snapshot.frame(session, seq), session) for seq in seqs]
    links = map(own_record, events)
    return [link.session for link in links if isinstance(link, Link) and link.relation == "parent"]


def _compare(source: EventLog, target: EventLog, session: str) -> _Comparison:
    """Compare the chains of a session. Raises DivergedError, CorruptionError."""
    with source.snapshot() as here, target.snapshot() as there:
        head = here.head(session)
        try:
            other = there.head(session)
        except NotFoundError:
            return _Comparison(0, head, None)
        common = min(head.version, other.version)
        if _digest(here, session, common) != _digest(there, session, common):
            seq = 1 + bisect_left(
                range(1, common + 1),
                True,
                key=lambda seq: _digest(here, session, seq) != _digest(there, session, seq),
            )
            raise DivergedError(session, seq, _id(here, session, seq), _id(there, session, seq))
        for snapshot, each in ((here, head), (there, other)):
            if _digest(snapshot, session, each.version) != each.digest:
                raise CorruptionError(session, 0, "the session's head does not match its newest event")
        return _Comparison(common, head, other)


def _digest(snapshot: Snapshot, session: str, seq: int) -> bytes:
    return digest_of(snapshot.frame(session, seq))


def _id(snapshot: Snapshot, session: str, seq: int) -> str:
    return decode(snapshot.frame(session, seq), session).id


def _copy_batch(source: EventLog, target: EventLog, session: str, last: int) -> int:
    """Append a session's next events, up to number `last`; return how many, 0 if none is left."""
    compared = _compare(source, target, session)
    if compared.common >= last:
        return 0
    with source.snapshot() as snapshot:
        events, blobs = _batch(snapshot, session, compared.common + 1, last)
    target.append(session, events, expected=compared.common, blobs=blobs, source=compared.source.source)
    return len(events)


def _batch(snapshot: Snapshot, session: str, first: int, last: int) -> tuple[list[NewEvent], list[bytes]]:
    """Return verified events from number `first` on, and the payloads that they name."""
    events: list[NewEvent] = []
    blobs: list[bytes] = []
    size, digest = 0, None
    frames = snapshot.frames(session, first=first, last=min(last, first + BATCH_EVENTS - 1))
    for seq, frame in enumerate(frames, first):
        digest = check_frame(snapshot, session, seq, frame, previous=digest)
        event = decode(frame, session)
        target = _id(snapshot, session, event.target_seq) if event.target_seq else None
        events.append(as_new(event, parent=event.written_parent, target=target))
        size += len(event.body)
        if event.kind == "import":
            record = record_of("import", event.body)
            assert isinstance(record, Import)  # noqa: S101  the kind says so
            for name in segment_digests(record.head, record.lines, record.tail):
                blobs.append(bytes(snapshot.blob(name)))
                size += len(blobs[-1])
        if size >= _BATCH_BYTES:
            break
    if not events:
        raise CorruptionError(session, first, "is missing")
    return events, blobs
