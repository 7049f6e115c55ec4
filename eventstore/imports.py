"""Read what imports left in a session: generations, import records, changed records."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from typing import Final, Literal

from eventstore.errors import NotFoundError
from eventstore.frame import body_of, decode, pointers_of
from eventstore.log import Head, Snapshot
from eventstore.records import Import, Link, ObservedRewrite, embedded, own_record, record_of

Origin = Literal["fork", "subagent"]
"""The relations of a session to the one that it came from."""
CONTEXT_LINK: Final = "started-context"
"""The id of the link from a session to where its context continues in another one."""
_GENERATION: Final = r"(?s)(.+)~([1-9][0-9]{0,8})"
"""The name of a later generation of a session: the session's id, "~" and a number."""


def generation_of(name: str) -> tuple[str, int]:
    """Return the session id in a name, and the number of its generation, from 1."""
    match = re.fullmatch(_GENERATION, name)
    return (match[1], int(match[2])) if match else (name, 1)


def generations(snapshot: Snapshot, session: str) -> list[Head]:
    """Return the heads of a session and its later generations (`ID~2`, `ID~3`, …), oldest first.

    Unrelated sessions may have such names: a later generation is linked to an earlier one, or its import is
    unfinished.
    """
    found: list[Head] = []
    for name in _names(session):
        try:
            head = snapshot.head(name)
        except NotFoundError:
            break
        if name == session or not head.import_seq or earlier_generation(snapshot, name):
            found.append(head)
    return found


def new_generation(snapshot: Snapshot, session: str) -> str:
    """Return the first unused name for a generation of a session."""
    for name in _names(session):
        try:
            snapshot.head(name)
        except NotFoundError:
            return name
    raise AssertionError


def _names(session: str) -> Iterator[str]:
    yield session
    yield from (f"{session}~{number}" for number in count(2))


def earlier_generation(snapshot: Snapshot, session: str) -> str | None:
    """Return the generation before this session, None for the first."""
    _, number = generation_of(session)
    seq = snapshot.locate(session, generation_link(number - 1)) if number > 1 else 0
    event = decode(snapshot.frame(session, seq), session) if seq else None
    link = own_record(event) if event is not None else None
    return link.session if isinstance(link, Link) and link.relation == "generation" else None


def earlier_generations(snapshot: Snapshot) -> set[str]:
    """Return the sessions that have a later generation."""
    before = (earlier_generation(snapshot, head.name) for head in snapshot.heads() if head.version)
    return {name for name in before if name is not None}


def generation_link(generation: int) -> str:
    """Return the id of the event that links a session's next generation to this one."""
    return f"generation-of-{generation}"


def origin_link(relation: Origin, event_id: str = "") -> str:
    """Return the id of the event by which an import links a session to its origin.

    `event_id` is the entry of the other session where it began, "" while unknown.
    """
    return f"{relation}-of-{event_id}" if event_id else f"{relation}-of"


def started_link(session: str) -> str:
    """Return the id of the event by which an import links a call to the session that it started."""
    return f"started-{session}"


def origin_of(snapshot: Snapshot, session: str, relation: Origin) -> Link | None:
    """Return the link to the session's origin (fork or subagent), None for none.

    Of several it is the oldest that names an entry. A session that refold forked begins with it.
    """
    seqs = sorted(snapshot.locate(session, each) for each in snapshot.ids(session, origin_link(relation)))
    found = None
    for seq in seqs or ([1] if snapshot.head(session).version else []):
        event = decode(snapshot.frame(session, seq), session)
        link = own_record(event)
        if isinstance(link, Link) and link.relation == relation:
            if link.event:
                return link
            found = found or link
    return found


def newest_import(snapshot: Snapshot, head: Head) -> Import | None:
    """Return the record of a session's newest import, None if it was never imported."""
    return import_at(snapshot, head.name, head.import_seq) if head.import_seq else None


def import_at(snapshot: Snapshot, session: str, seq: int) -> Import:
    """Return the record of the import event with this number."""
    record = record_of("import", body_of(snapshot.frame(session, seq)))
    assert isinstance(record, Import)  # noqa: S101  the kind says so
    return record


def import_parts(snapshot: Snapshot, session: str, newest: Import) -> list[Import]:
    """Return the imports that together cover a file, newest first."""
    parts = [newest]
    while parts[-1].continues:
        parts.append(import_at(snapshot, session, parts[-1].continues))
    return parts


def observed_rewrites(
    snapshot: Snapshot, session: str, *, as_of: int | None = None
) -> dict[int, list[bytes]]:
    """Return later versions of records that the harness changed, by entry number, oldest first."""
    found: dict[int, list[bytes]] = {}
    for seq in snapshot.head(session).observed:
        if as_of is None or seq <= as_of:
            frame = snapshot.frame(session, seq)
            record = record_of("observed_rewrite", body_of(frame))
            assert isinstance(record, ObservedRewrite)  # noqa: S101  the kind says so
            *_, target = pointers_of(frame)
            found.setdefault(target, []).append(embedded(record.record))
    return found


def original_of(snapshot: Snapshot, session: str) -> str:
    """Return the session that this one is a fork of, or a copy under another name; "" for none."""
    link = origin_of(snapshot, session, "fork")
    if link is not None:
        return link.session
    newest = newest_import(snapshot, snapshot.head(session))
    return newest.copy_of if newest is not None else ""


def copied_through(snapshot: Snapshot, session: str) -> int:
    """Return the number of the last event that a copy shares with its original; 0 for none.

    It is 0 as well if the store does not have that session: then nothing is there twice.
    """
    link = origin_of(snapshot, session, "fork")
    try:
        if link is None:
            return _last_shared(snapshot, session, original_of(snapshot, session))
        is_there_too = bool(link.event) and snapshot.locate(link.session, link.event) > 0
    except NotFoundError:
        return 0
    return snapshot.locate(session, link.event) if is_there_too else 0


def _last_shared(snapshot: Snapshot, session: str, original: str) -> int:
    """Return the number of the last event with an id that the original has, too; 0 for none."""
    if not original:
        return 0
    newest = generations(snapshot, original)[-1:]
    for frame in snapshot.frames(session, backward=True) if newest else ():
        found = decode(frame, session)
        if not found.is_own and snapshot.locate(newest[0].name, found.id):
            return found.seq
    return 0
