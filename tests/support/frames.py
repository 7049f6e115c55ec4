"""Encode whole events as frames."""

from __future__ import annotations

from eventstore.event import Event
from eventstore.frame import encode_place, encode_record


def encode(event: Event) -> bytes:
    """Encode an event as a frame, without the session's name, which is in the key alone."""
    written = encode_record(
        (event.id.encode(), (event.written_parent or "").encode(), event.cause.encode()),
        type=event.kind if event.is_own else "",
        format=event.format,
        numbers=(event.seq, event.position),
        times=(event.time, event.recorded),
        digest=event.digest,
        body=event.body,
    )
    return encode_place(
        written,
        kind=event.kind,
        parent=b"" if event.parent == event.written_parent else (event.parent or "").encode(),
        role=event.role,
        flags=event.flags,
        span=event.message_span,
        estimates=(event.utf16, event.utf8),
        pointers=(
            event.parent_seq,
            event.run_start,
            event.compaction_seq,
            event.model_seq,
            event.thinking_seq,
            event.target_seq,
        ),
    )
