"""Verify a whole log against itself: chains, indexes, heads, frames and bodies."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated, Final, Literal

import msgspec

from eventstore import chain
from eventstore.append import resolve_pointers
from eventstore.errors import BadInputError, CorruptionError, NotFoundError, RefoldError, StoreError
from eventstore.event import OWN_FLAGS, Event, EventFacts, Flag, NewEvent, Parent
from eventstore.files.glue import segment_digests
from eventstore.formats import facts_of
from eventstore.frame import VERSION, Buffer, decode, digest_of, header_of, is_intact, linked_digest_of
from eventstore.imports import newest_copy
from eventstore.log import EventLog, Head, HeadFold, Progress, Snapshot
from eventstore.records import Import, record_of


class SavedHead(msgspec.Struct, frozen=True, kw_only=True):
    """A session's version (≥ 1), and the digest of its newest event in 64 hex digits."""

    session: str
    version: Annotated[int, msgspec.Meta(ge=1)]
    digest: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]


class SavedHeads(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a file of heads. A backup's file belongs to it and never changes."""

    format: Literal["refold-heads/1"] = "refold-heads/1"
    by: Literal["backup", "verify"]
    heads: tuple[SavedHead, ...]


def encode_heads(heads: Iterable[Head], by: Literal["backup", "verify"]) -> bytes:
    """Encode heads as a file: a line of JSON with one line per head in it."""
    saved = SavedHeads(
        by=by,
        heads=tuple(
            SavedHead(session=head.name, version=head.version, digest=head.digest.hex()) for head in heads
        ),
    )
    return msgspec.json.format(msgspec.json.encode(saved), indent=0) + b"\n"


def read_heads(path: str | os.PathLike[str]) -> SavedHeads:
    """Read the heads saved in a file. Raises BadInputError."""
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=SavedHeads)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInputError(
            str(path), f"is not a file of saved heads ({error})", "name another file with --heads"
        ) from error
    except IsADirectoryError as error:
        raise BadInputError(str(path), "is a folder", "name a file with --heads") from error
    except OSError as error:
        raise BadInputError(
            str(path), f"cannot be read ({error.strerror})", "name another file with --heads"
        ) from error


_FLAGS_OF_BODY: Final = OWN_FLAGS & ~Flag.ORPHAN
"""The flags that depend on the body alone."""
_ALTERED: Final = "its header has been altered"
_UNLINKED: Final = "its digest does not match its content and the previous event"


class IntegrityFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the store that differs from what was appended.

    `seq` is 0 if no single event is concerned, `session` is "" if no single session is.
    """

    session: str
    seq: int
    problem: str


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """The extent and the findings of a verification; a sound store has no findings."""

    sessions: int
    events: int
    findings: list[IntegrityFinding]


def verify(
    log: EventLog, *, saved: Iterable[SavedHead] = (), progress: Progress = lambda *_: None
) -> Verification:
    """Verify a whole log. Find every changed, missing, misplaced or surplus event.

    After an unreadable event, continue with the next session. Each session is read in its own snapshot, so
    that a large store's old pages are not held long. The pages of the store's file are not checked;
    `eventstore.lmdb.pages` does that before a possibly damaged file is opened. With saved heads, a removed
    end of a session is found too, which leaves no other trace. Raises StoreError if the store cannot be read
    for a reason other than damage.
    """
    findings: list[IntegrityFinding] = []
    heads: list[Head] = []
    with _reading(findings), log.snapshot() as snapshot:
        heads.extend(snapshot.heads())
    total, checked = sum(head.version for head in heads), 0
    for each in heads:
        # One snapshot per session: after LMDB has met a damaged page, a snapshot cannot read any more.
        with _reading(findings, each.name), log.snapshot() as snapshot:
            for count, finding in _session_findings(snapshot, snapshot.head(each.name)):
                if finding is not None:
                    findings.append(finding)
                elif count % 1000 == 0:
                    progress(min(checked + count, total), total)
        checked += each.version
    progress(total, total)
    with _reading(findings), log.snapshot() as snapshot:
        versions = {each.name: snapshot.head(each.name).version for each in heads}
        findings += _feed_findings(snapshot, versions)
        findings += _head_findings(snapshot, versions, saved)
    return Verification(sessions=len(heads), events=checked, findings=findings)


@contextmanager
def _reading(findings: list[IntegrityFinding], session: str = "") -> Iterator[None]:
    """Add a finding if the body cannot continue to read.

    Raises StoreError for other problems than damage, such as too many readers.
    """
    try:
        yield
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001  damaged bytes fail in any way there is
        findings.append(_unreadable(error, session))


def _head_findings(
    snapshot: Snapshot, versions: dict[str, int], saved: Iterable[SavedHead]
) -> Iterator[IntegrityFinding]:
    """Yield a finding for each saved head whose event the session no longer has."""
    for head in saved:
        version = versions.get(head.session, 0)
        try:
            if not version:
                problem = f"the session is missing: it was saved with {head.version} events"
            elif version < head.version:
                problem = f"events are missing: the session was saved with {head.version}, and has {version}"
            elif digest_of(snapshot.frame(head.session, head.version)).hex() != head.digest:
                problem = "differs from the event at the time when the heads were saved"
            else:
                continue
        except Exception as error:  # noqa: BLE001  damaged bytes fail in any way there is
            yield _unreadable(error, head.session, head.version)
        else:
            yield IntegrityFinding(session=head.session, seq=head.version, problem=problem)


def _unreadable(error: Exception, session: str = "", seq: int = 0) -> IntegrityFinding:
    if isinstance(error, CorruptionError):
        return IntegrityFinding(session=error.session or session, seq=error.seq or seq, problem=error.problem)
    if isinstance(error, NotFoundError):
        return IntegrityFinding(session=session, seq=seq, problem=f"{error.what} {error.name!r} is missing")
    return IntegrityFinding(
        session=session, seq=seq, problem=f"cannot be read ({type(error).__name__}: {error})"
    )


def _session_findings(snapshot: Snapshot, head: Head) -> Iterator[tuple[int, IntegrityFinding | None]]:
    """Yield the number of each verified event, and every finding."""
    walked = HeadFold(Head(name=head.name, number=head.number, source=head.source))
    seq = 0
    for seq, frame in enumerate(snapshot.frames(head.name), 1):
        try:
            event = decode(frame, head.name)
            problems = [] if is_intact(frame) else [_ALTERED]
            problems += _event_problems(snapshot, event, seq, walked.digest)
        except Exception as error:  # noqa: BLE001  damaged bytes fail in any way there is
            yield seq, _unreadable(error, head.name, seq)
            return
        for problem in problems:
            yield seq, IntegrityFinding(session=head.name, seq=seq, problem=problem)
        walked.add_event(event)
        yield seq, None
    if seq != head.version:
        yield (
            seq,
            IntegrityFinding(
                session=head.name, seq=seq, problem=f"{head.version - seq} events are missing after it"
            ),
        )
    elif walked.head() != head:
        yield (
            seq,
            IntegrityFinding(
                session=head.name, seq=0, problem="the session's head does not match its events"
            ),
        )
    for problem in _surplus(snapshot, head):
        yield seq, IntegrityFinding(session=head.name, seq=0, problem=problem)


def _surplus(snapshot: Snapshot, head: Head) -> Iterator[str]:
    """Yield findings for data of a session beyond the events that its head counts."""
    try:
        snapshot.frame(head.name, head.version + 1)
    except NotFoundError:
        pass
    else:
        yield "an event follows the newest one"
    try:
        ids = sum(1 for _ in snapshot.ids(head.name))
    except (RefoldError, ValueError) as error:
        yield f"the index of ids cannot be read ({error})"
    else:
        if ids != head.version:
            yield f"the index of ids has {ids} rows for {head.version} events"


def check_event(snapshot: Snapshot, session: str, seq: int) -> None:
    """Check one event; see `check_frame`. Raises CorruptionError, or NotFoundError for no event."""
    check_frame(snapshot, session, seq, snapshot.frame(session, seq))


def check_frame(
    snapshot: Snapshot, session: str, seq: int, frame: Buffer, *, previous: bytes | None = None
) -> bytes:
    """Verify that a frame is the event as it was appended; return its digest.

    The header must match its checksum, and the content, together with the previous digest (`previous`, None
    to look it up), must match the digest. Raises CorruptionError.
    """
    if not is_intact(frame):
        raise CorruptionError(session, seq, _ALTERED)
    if previous is None:
        previous = _digest_before(snapshot, session, seq)
    head = header_of(frame)
    if head.version != VERSION:
        raise CorruptionError(session, seq, f"its frame is of version {head.version}")
    if head.seq != seq:
        raise CorruptionError(session, seq, f"is event {head.seq}")
    if linked_digest_of(frame, head, previous) != head.digest:
        raise CorruptionError(session, seq, _UNLINKED)
    return head.digest


def _digest_before(snapshot: Snapshot, session: str, seq: int) -> bytes:
    if seq <= 1:
        return chain.START
    try:
        before = snapshot.frame(session, seq - 1)
    except NotFoundError as error:
        raise CorruptionError(session, seq - 1, "is missing") from error
    if not is_intact(before):
        raise CorruptionError(session, seq - 1, _ALTERED)
    return digest_of(before)


def _digest(event: Event, previous: bytes) -> bytes:
    return chain.link(
        previous,
        body=event.body,
        format=event.format,
        id=event.id,
        parent=event.parent,
        kind=event.kind,
        time=event.time,
        cause=event.cause,
    )


def _event_problems(snapshot: Snapshot, event: Event, seq: int, previous: bytes) -> Iterator[str]:
    if event.seq != seq:
        yield f"is in the place of event {seq}"
    if _digest(event, previous) != event.digest:
        yield _UNLINKED
    if snapshot.locate(event.session, event.id) != seq:
        yield "the index of ids does not point to it"
    elif not snapshot.sessions_with(event.id, only=event.session):
        yield "the index from ids to sessions lacks it"
    if event.parent is not None and snapshot.locate(event.session, event.parent) != event.parent_seq:
        yield "its parent's number differs"
    facts = facts_of(event, snapshot)
    if not _says(event, facts):
        yield "its frame contradicts its body"
    elif not _stands(snapshot, event, facts):
        yield "its pointers along the path are wrong"
    if event.kind == "import":
        yield from _missing_payloads(snapshot, event)


def _says(event: Event, facts: EventFacts) -> bool:
    return (event.role, event.message_span, event.utf16, event.utf8, event.flags & _FLAGS_OF_BODY) == (
        facts.role,
        facts.message,
        facts.utf16,
        facts.utf8,
        facts.flags,
    )


def _stands(snapshot: Snapshot, event: Event, facts: EventFacts) -> bool:
    """Return True if the frame's pointers match the path above it."""
    new = NewEvent(
        id=event.id,
        kind=event.kind,
        body=b"",
        format=event.format,
        parent=Parent.LEAF,
        facts=msgspec.structs.replace(facts, flags=event.flags & OWN_FLAGS),
    )

    def read(seq: int) -> Buffer:
        return snapshot.frame(event.session, seq)

    target_seq = event.target_seq
    if not facts.needs_source:
        name = facts.target
        target_seq = newest_copy(snapshot, event.session, name, before=event.seq) if name else 0
    # The target came later, so it did not exist when this event was appended.
    target_seq = target_seq if target_seq < event.seq else 0
    standing = resolve_pointers(new, event.seq, event.parent_seq, target_seq, read)
    own = (
        event.flags,
        event.run_start,
        event.compaction_seq,
        event.model_seq,
        event.thinking_seq,
        event.target_seq,
    )
    return own == tuple(standing)


def _missing_payloads(snapshot: Snapshot, event: Event) -> Iterator[str]:
    record = record_of("import", event.body)
    assert isinstance(record, Import)  # noqa: S101  the kind says so
    for digest in segment_digests(record.head, record.lines, record.tail):
        try:
            payload = snapshot.blob(digest)
        except NotFoundError:
            yield f"payload {digest.hex()[:16]} is missing"
            continue
        if chain.payload_digest(payload) != digest:
            yield f"payload {digest.hex()[:16]} is changed"


def _feed_findings(snapshot: Snapshot, versions: dict[str, int]) -> Iterator[IntegrityFinding]:
    """Yield findings unless the positions number all events without gaps, in session order."""
    read = dict.fromkeys(versions, 0)
    for position, item in enumerate(snapshot.feed(), 1):
        read[item.session] = read.get(item.session, 0) + 1
        places = (item.position, header_of(item.frame).position)
        if places != (position, position) or item.seq != read[item.session]:
            yield IntegrityFinding(
                session=item.session, seq=item.seq, problem="the index of positions is out of order"
            )
            return
    for session, version in versions.items():
        if read[session] != version:
            yield IntegrityFinding(
                session=session, seq=0, problem="the index of positions lacks some of its events"
            )
