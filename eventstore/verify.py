"""Verify a whole log against itself: chains, indexes, heads, frames and bodies."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Final, Literal

import msgspec

from eventstore import chain
from eventstore.append import head_of, link_of, place_all, placed_event
from eventstore.checked import ALTERED, UNLINKED
from eventstore.errors import BadInputError, CorruptionError, NotFoundError, RefoldError, StoreError
from eventstore.event import Event, NewEvent
from eventstore.files.glue import PURGED_PAYLOAD, segment_digests
from eventstore.frame import (
    Buffer,
    decode,
    digest_of,
    header_of,
    header_only,
    linked,
    written_in,
)
from eventstore.javascript import TooDeepError
from eventstore.log import EventLog, Head, Progress, Snapshot
from eventstore.records import Import, own_record, record_of


class SavedHead(msgspec.Struct, frozen=True, kw_only=True):
    """A session's version (≥ 1), and the digest of its newest event in 64 hex digits."""

    session: str
    version: Annotated[int, msgspec.Meta(ge=1)]
    digest: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]


class SavedHeads(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a file of heads. A backup's file belongs to it and never changes."""

    format: Literal["refold-heads/1"] = "refold-heads/1"
    by: Literal["backup", "sync", "verify"]
    heads: tuple[SavedHead, ...]


def encode_heads(heads: Iterable[Head], by: Literal["backup", "sync", "verify"]) -> bytes:
    """Encode heads as a file: a line of JSON with one line per head in it."""
    saved = SavedHeads(
        by=by,
        heads=tuple(
            SavedHead(session=head.name, version=head.version, digest=head.digest.hex())
            for head in heads
            if head.version
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


_MISPLACED: Final = "its frame contradicts its record, or those before it"


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
        versions = {each.name: each.version for each in snapshot.heads()}
        findings += _feed_findings(snapshot, versions)
        findings += lost_heads(snapshot, versions, saved)
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


def lost_heads(
    snapshot: Snapshot, versions: Mapping[str, int], saved: Iterable[SavedHead]
) -> Iterator[IntegrityFinding]:
    """Yield a finding for each saved head whose event the session no longer has.

    `versions` are the present numbers of events, by session.
    """
    for head in saved:
        version = versions.get(head.session, 0)
        try:
            if head.session in versions and not version:
                problem = "the session's head cannot be read"
            elif not version:
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
    walk, seq = _Walk(snapshot, head), 0
    try:
        for seq, frame in enumerate(snapshot.frames(head.name), 1):
            for problem in walk.problems(seq, frame):
                yield seq, IntegrityFinding(session=head.name, seq=seq, problem=problem)
            yield seq, None
        for number, problem in walk.end():
            yield seq, IntegrityFinding(session=head.name, seq=number, problem=problem)
    except Exception as error:  # noqa: BLE001  damaged bytes fail in any way there is
        yield seq, _unreadable(error, head.name, seq)
        return
    for problem in _surplus(snapshot, head):
        yield seq, IntegrityFinding(session=head.name, seq=0, problem=problem)


class _Walk:
    """A walk through a session's events: records on the way, places at the end."""

    def __init__(self, snapshot: Snapshot, head: Head) -> None:
        self._snapshot, self._head = snapshot, head
        self._digest = chain.START
        self._events: list[NewEvent] = []
        self._headers: list[bytes] = []

    def problems(self, seq: int, frame: Buffer) -> Iterator[str]:
        """Yield what is wrong with the next event's record."""
        event = decode(frame, self._head.name)
        if event.seq > seq:
            # A row is missing, unless it only says so; what follows would all be in a wrong place.
            self._snapshot.frame(self._head.name, seq)
        found = linked(frame, self._digest)
        if found is None:
            yield ALTERED
        expected = link_of(self._digest, event) if found is None else found.expected
        yield from _event_problems(self._snapshot, event, seq, expected)
        self._events.append(placed_event(event, self._id))
        self._headers.append(header_only(frame))
        self._digest = event.digest

    def _id(self, seq: int) -> str:
        return decode(self._snapshot.frame(self._head.name, seq), self._head.name).id

    def end(self) -> Iterator[tuple[int, str]]:
        """Yield the numbers of events that are in wrong places, and what is wrong."""
        head, seq = self._head, len(self._events)
        if seq != head.version:
            yield seq, f"{head.version - seq} events are missing after it"
            return
        if not seq:
            return
        frames, placer = place_all(self._events, lambda number: written_in(self._headers[number - 1]))
        for number, header in enumerate(self._headers, 1):
            if frames[number] != header:
                yield number, _MISPLACED
        anew = Head(name=head.name, number=head.number, source=head.source)
        if head_of(frames, placer, anew, "") != head:
            yield 0, "the session's head does not match its events"


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


def _event_problems(snapshot: Snapshot, event: Event, seq: int, expected: bytes) -> Iterator[str]:
    if event.seq != seq:
        yield f"is in the place of event {seq}"
    if event.digest != expected:
        yield UNLINKED
    if snapshot.locate(event.session, event.id) != seq:
        yield "the index of ids does not point to it"
    elif not snapshot.sessions_with(event.id, only=event.session):
        yield "the index from ids to sessions lacks it"
    try:
        own_record(event)
    except TooDeepError:
        # It predates the limit, and exports still have it.
        pass
    except CorruptionError as error:
        yield error.problem
    if event.kind == "import":
        yield from _missing_payloads(snapshot, event)


def _missing_payloads(snapshot: Snapshot, event: Event) -> Iterator[str]:
    record = record_of("import", event.body)
    assert isinstance(record, Import)  # noqa: S101  the kind says so
    for digest in segment_digests(record.head, record.lines, record.tail):
        try:
            payload = snapshot.blob(digest)
        except NotFoundError:
            yield f"payload {digest.hex()[:16]} is missing"
            continue
        if chain.payload_digest(payload) != digest and payload != PURGED_PAYLOAD:
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
        # The session of a damaged head has its finding already.
        if version and read[session] != version:
            yield IntegrityFinding(
                session=session, seq=0, problem="the index of positions lacks some of its events"
            )
