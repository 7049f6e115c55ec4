"""Read a frozen store: values that stay, however frames and tables change."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from typing import Any

from eventstore.event import Event, Flag
from eventstore.files.exporting import export_original
from eventstore.frame import decode, header_of
from eventstore.lmdb.store import LmdbLog
from eventstore.log import Head, Snapshot
from projections.context.build import context_json


def read(log: LmdbLog) -> dict[str, Any]:
    """Everything that a store holds, by session, as numbers and digests."""
    with log.snapshot() as snapshot:
        heads = list(snapshot.heads())
        feed = [f"{item.position} {item.session} {item.seq}" for item in snapshot.feed()]
        return {
            "events": len(feed),
            "kinds": dict(sorted(_kinds(snapshot, heads).items())),
            "feed": _digest(*feed),
            "sources": [repr(each) for each in snapshot.sources()],
            "derived": (snapshot.derived(b"tokens/example") or b"").hex(),
            "sessions": {head.name: _session(log, snapshot, head) for head in heads},
        }


def events_of(snapshot: Snapshot, session: str) -> list[Event]:
    return [decode(frame, session) for frame in snapshot.frames(session)]


def _kinds(snapshot: Snapshot, heads: list[Head]) -> Counter[str]:
    return Counter(event.kind for head in heads for event in events_of(snapshot, head.name))


def _session(log: LmdbLog, snapshot: Snapshot, head: Head) -> dict[str, Any]:
    events = events_of(snapshot, head.name)
    entries = [event.id for event in events if event.is_entry]
    imported = {"original": _digest(*export_original(log, head.name))} if head.import_seq else {}
    return {
        "number": head.number,
        "version": head.version,
        "position": head.position,
        "entries": head.entries,
        "leaf": events[head.leaf - 1].id if head.leaf else None,
        "digest": head.digest.hex(),
        "source": head.source,
        "times": [head.first_time, head.last_time],
        "path": " ".join(str(header_of(frame).seq) for frame in snapshot.path(head.name, head.leaf)),
        "events": [_event(event) for event in events],
        "contexts": [_digest(context_json(snapshot, head.name, leaf=entry))[:16] for entry in entries],
        **imported,
    }


def _event(event: Event) -> str:
    """An event in a line."""
    fields = [
        event.id if len(event.id) < 40 else _digest(event.id),
        event.kind,
        event.role,
        event.format,
        event.parent_seq,
        event.target_seq,
        event.compaction_seq,
        event.model_seq,
        event.thinking_seq,
        "|".join(flag.name or "" for flag in Flag if event.flags & flag),
        event.time,
        event.recorded,
        event.cause if len(event.cause) < 40 else _digest(event.cause),
        _digest(event.body)[:16],
    ]
    return " · ".join(map(str, fields))


def _digest(*parts: str | bytes) -> str:
    digest = sha256()
    for part in parts:
        digest.update(part.encode() if isinstance(part, str) else part)
    return digest.hexdigest()
